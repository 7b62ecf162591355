//! Perceptrons whose parameters are coupled over a graph: Algorithm 1 of gtv-minimization with inexact proximal steps.
//!
//! ```text
//! theta_i+ ~ argmin L_i(theta) + |theta - v_i|^2 / (2 tau_i),   v_i = theta_i - tau_i sum_e D_ei u_e
//! u_e+     = prox of (lambda A_e phi)* at  u_e + sigma (2 (theta+_head - theta+_tail) - (theta_head - theta_tail))
//! ```
//!
//! with `tau_i = eta / degree_i` and `sigma = 1 / (2 eta)`. The proximal step is some epochs of the perceptron's own optimiser
//! from where it stands, ended early once `tau_i |gradient| <= epsilon / k^1.1` in round `k`: errors that are summable, as the
//! theory wants them where losses are convex. Those of perceptrons are not; then all that is promised is that every
//! proximal problem is solved better than before. With [`Blocks`] only some layers are coupled.

use rayon::prelude::*;

use super::mlp::{Mlp, MlpOptions, Prox};
use super::relax::Discrepancy;
use super::{FitError, Task, Workspace};
use crate::accounting::Traffic;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::{Matrix, Rows, axpy, norm2};
use crate::penalty::{Block, Blocks, Penalty};

type Fit<T> = std::result::Result<T, FitError>;

/// Options of [`Coupled`].
#[derive(Debug, Clone, PartialEq)]
pub struct CoupledOptions {
    /// Layers and optimiser of every node.
    pub mlp: MlpOptions,
    /// Strength of the coupling.
    pub lambda: f64,
    /// Ratio of primal to dual steps; 1 is the paper's. Default 1.
    pub eta: f64,
    /// Epochs of a proximal step at most. Default 5.
    pub epochs: usize,
    /// `epsilon`, the error allowed in the first round. Default 0: always all epochs.
    pub epsilon: f64,
    /// Start weights, the same at all nodes, and batches follow from it.
    pub seed: u64,
}

impl Default for CoupledOptions {
    fn default() -> Self {
        CoupledOptions { mlp: MlpOptions::default(), lambda: 1.0, eta: 1.0, epochs: 5, epsilon: 0.0, seed: 0 }
    }
}

/// A node: its rows and its network.
struct Member {
    x: Matrix,
    y: Matrix,
    share: Vec<f64>,
    tau: Option<f64>,
    mlp: Mlp,
    /// `tau |gradient|` of the last proximal step.
    residual: f64,
    work: Workspace,
}

/// Coupled perceptrons in training.
pub struct Coupled<'g> {
    graph: &'g Graph,
    penalty: Box<dyn Penalty>,
    options: CoupledOptions,
    task: Task,
    members: Vec<Member>,
    before: Matrix,
    flows: Matrix,
    /// Scratch of every edge: the penalty's.
    scratch: Matrix,
    traffic: Traffic,
    round: usize,
}

impl<'g> Coupled<'g> {
    /// The same random network at every node of `data`. A node needs rows: without any its parameters only follow.
    pub fn new(
        graph: &'g Graph,
        data: &Dataset,
        task: Task,
        penalty: Box<dyn Penalty>,
        options: CoupledOptions,
    ) -> Result<Self> {
        let n = graph.nodes();
        if data.nodes() != n {
            return Err(Error::Size { what: "nodes of the dataset", expected: n, found: data.nodes() });
        }
        for (name, value, least) in [("lambda", options.lambda, 0.0), ("eta", options.eta, f64::MIN_POSITIVE)] {
            if !(value >= least && value.is_finite()) {
                return Err(Error::Parameter { name, value, needs: "a finite number in range" });
            }
        }
        let member = |i: usize| -> Result<Member> {
            let (x, weight) = (Rows::new(data.dim(), data.features(i)), data.weights(i));
            let total: f64 = weight.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            let mlp = Mlp::new(&options.mlp, task, data.dim(), options.seed);
            Ok(Member {
                x: Matrix::from_rows(x.cols(), x.as_slice().to_vec()),
                y: task.targets(data.labels(i)).map_err(|e| locate(i, e))?,
                share: weight.iter().map(|w| w / total).collect(),
                tau: (graph.degree(i) > 0).then(|| options.eta / graph.degree(i) as f64),
                mlp: mlp.map_err(|e| Error::Spec { node: i, source: e })?,
                residual: f64::INFINITY,
                work: Workspace::default(),
            })
        };
        let members = (0..n).map(member).collect::<Result<Vec<_>>>()?;
        let dim = members.first().map_or(0, |m| m.mlp.parameters().len());
        penalty.check(graph.edges(), dim)?;
        Ok(Coupled {
            graph,
            penalty,
            task,
            before: Matrix::zeros(n, dim),
            flows: Matrix::zeros(graph.edges(), dim),
            scratch: Matrix::zeros(rayon::current_num_threads().max(1), 4 * dim),
            traffic: Traffic::new(n),
            members,
            options,
            round: 0,
        })
    }

    /// One round: proximal steps at all nodes, then dual steps on all edges.
    pub fn round(&mut self) -> Result<()> {
        self.round += 1;
        let Coupled { graph, options, members, before, flows, round, .. } = self;
        let dim = before.cols();
        let allowed = options.epsilon / (*round as f64).powf(1.1);
        let rows = before.as_mut_slice().par_chunks_mut(dim.max(1));
        members.par_iter_mut().zip(rows).enumerate().try_for_each(|(i, (member, before))| {
            before.copy_from_slice(member.mlp.parameters());
            let Some(tau) = member.tau else {
                return member.train(None, options.epochs).map_err(|e| locate(i, e));
            };
            let mut toward = before.to_vec();
            for end in graph.ends(i) {
                axpy(-tau * end.sign, flows.row(end.edge as usize), &mut toward);
            }
            member.step(&toward, tau, options.epochs, allowed).map_err(|e| locate(i, e))
        })?;
        self.dual_step();
        for i in 0..self.graph.nodes() {
            self.traffic.send(i, self.graph.degree(i), dim);
        }
        self.traffic.end_round();
        Ok(())
    }

    fn dual_step(&mut self) {
        let Coupled { graph, options, members, before, flows, penalty, scratch, .. } = self;
        let (dim, sigma) = (before.cols(), 0.5 / options.eta);
        // A piece of edges per scratch row: edges do not depend on each other.
        let per = graph.edges().div_ceil(scratch.rows()).max(1);
        let pieces = flows
            .as_mut_slice()
            .par_chunks_mut(per * dim.max(1))
            .zip(scratch.as_mut_slice().par_chunks_mut(4 * dim.max(1)));
        pieces.enumerate().for_each(|(piece, (flows, work))| {
            for (e, u) in (piece * per..).zip(flows.chunks_exact_mut(dim)) {
                let (head, tail) = graph.nodes_of(e);
                let new = members[head].mlp.parameters().iter().zip(members[tail].mlp.parameters());
                let old = before.row(head).iter().zip(before.row(tail));
                for (u, ((a, b), (c, d))) in u.iter_mut().zip(new.zip(old)) {
                    *u += sigma * (2.0 * (a - b) - (c - d));
                }
                penalty.prox_conjugate(e, options.lambda * graph.weight(e), sigma, u, work);
            }
        });
    }

    /// The network of a node.
    pub fn network(&self, node: usize) -> &Mlp {
        &self.members[node].mlp
    }

    /// The parameters, a row per node.
    pub fn parameters(&self) -> Matrix {
        let rows = self.members.iter().flat_map(|m| m.mlp.parameters().iter().copied()).collect();
        Matrix::from_rows(self.before.cols(), rows)
    }

    /// `F`: local objectives (with the decay of the weights) and the penalty.
    pub fn objective(&mut self) -> Result<f64> {
        let local = |(i, m): (usize, &mut Member)| m.value().map_err(|e| locate(i, e));
        let local: Vec<f64> = self.members.par_iter_mut().enumerate().map(local).collect::<Result<_>>()?;
        let w = self.parameters();
        let edge = |e: usize| {
            let (i, j) = self.graph.nodes_of(e);
            let t: Vec<f64> = w.row(i).iter().zip(w.row(j)).map(|(a, b)| a - b).collect();
            self.options.lambda * self.graph.weight(e) * self.penalty.value(e, &t)
        };
        Ok(local.iter().sum::<f64>() + (0..self.graph.edges()).map(edge).sum::<f64>())
    }

    /// The largest `tau |gradient|` that the last round left in a proximal step; only measured where `epsilon` is positive.
    pub fn residual(&self) -> f64 {
        self.members.iter().filter(|m| m.tau.is_some()).map(|m| m.residual).fold(0.0, f64::max)
    }

    /// Mean error of every node on its rows of `data`; `None` where it has none.
    pub fn errors(&self, data: &Dataset, discrepancy: Discrepancy) -> Result<Vec<Option<f64>>> {
        let error = |i: usize| -> Fit<Option<f64>> {
            let x = Rows::new(data.dim(), data.features(i));
            if x.rows() == 0 {
                return Ok(None);
            }
            let y = self.task.targets(data.labels(i))?;
            let mut out = Matrix::zeros(x.rows(), self.task.outputs());
            self.members[i].mlp.predict(x, out.as_mut_slice())?;
            let sum: f64 = (0..x.rows()).map(|r| discrepancy.of(out.row(r), y.row(r))).sum();
            Ok(Some(sum / x.rows() as f64))
        };
        (0..self.members.len()).into_par_iter().map(|i| error(i).map_err(|e| locate(i, e))).collect()
    }

    /// What was sent so far: a node sends its parameters to every neighbour in every round.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}

impl Member {
    /// Epochs towards the proximal point, fewer if it is near enough.
    fn step(&mut self, toward: &[f64], tau: f64, epochs: usize, allowed: f64) -> Fit<()> {
        if self.share.is_empty() {
            self.residual = 0.0;
            return self.mlp.set_parameters(toward);
        }
        let prox = Some(Prox { toward, tau });
        if allowed <= 0.0 {
            return self.train(prox, epochs);
        }
        let mut gradient = vec![0.0; toward.len()];
        for _ in 0..epochs {
            self.train(prox, 1)?;
            self.mlp.gradient(self.x.view(), self.y.view(), &self.share, prox, &mut gradient, &mut self.work)?;
            self.residual = tau * norm2(&gradient);
            if self.residual <= allowed {
                break;
            }
        }
        Ok(())
    }

    fn train(&mut self, prox: Option<Prox>, epochs: usize) -> Fit<()> {
        if self.share.is_empty() {
            return Ok(());
        }
        self.mlp.train(self.x.view(), self.y.view(), &self.share, epochs, prox, &mut self.work).map(|_| ())
    }

    fn value(&mut self) -> Fit<f64> {
        if self.share.is_empty() {
            return Ok(0.0);
        }
        let mut gradient = vec![0.0; self.mlp.parameters().len()];
        self.mlp.gradient(self.x.view(), self.y.view(), &self.share, None, &mut gradient, &mut self.work)
    }
}

/// Couples the first `layers` layers of a perceptron by `penalty` and leaves the others to each node (book, section 6.6).
pub fn early_layers(network: &Mlp, layers: usize, penalty: Box<dyn Penalty>) -> Result<Blocks> {
    let ranges = network.layers();
    if layers == 0 || layers > ranges.len() {
        return Err(Error::Parameter {
            name: "coupled layers",
            value: layers as f64,
            needs: "at least 1, at most all",
        });
    }
    let coordinates = (0..ranges[layers - 1].end).collect();
    Blocks::new(network.parameters().len(), vec![Block { coordinates, penalty, strength: 1.0 }])
}

fn locate(node: usize, source: FitError) -> Error {
    Error::Fit { node, source }
}

#[cfg(test)]
mod tests;
