//! PDMM (Algorithm 1 of convex-clustering-pdmm): a server and users, random subsets of variables, damped dual steps.
//!
//! Every edge `{i, j}` gives two ordered pairs with `z_ij = x_i - x_j`, multipliers `mu_ij` at the server and `mu^_ij` at the
//! user. In a round, for the variables that were drawn (all from the values of the round before, with `h = lambda / 2`):
//!
//! ```text
//! x_i+   = argmin L_i(x) + sum_j (mu^_ij - mu^_ji)'x + rho/2 sum_j ( |x - x_j - z_ij|^2 + |x_j - x - z_ji|^2 ) + eta/2 |x - x_i|^2
//! z_ij+  = argmin h A_ij phi(z) - mu^_ij'z + rho/2 |x_i - x_j - z|^2 + eta/2 |z - z_ij|^2
//! mu_ij+ = mu_ij + tau rho (x_i+ - x_j+ - z_ij+)          mu^_ij+ = mu_ij+ - nu rho (x_i+ - x_j+ - z_ij+)
//! ```
//!
//! As printed, (16) lacks the terms in which `x_i` stands second, and `h = lambda`. The two agree when all variables are
//! updated in every round; with random subsets the printed update stalls beside the optimum.

use std::borrow::Borrow;

use super::method::Method;
use super::server::ProximalMethod;
use crate::accounting::{Traffic, work};
use crate::error::Result;
use crate::loss::Prepared;
use crate::matrix::{Matrix, axpy, norm2};
use crate::parallel::{ASLEEP, for_blocks, for_blocks2};
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::solve::minimise_local;
use draw::Drawn;
pub use draw::Subset;
pub use options::PdmmOptions;
use options::Steps;
use pairs::Pairs;

mod draw;
mod options;
mod pairs;

/// The parallel direction method of multipliers. The problem is borrowed or owned: `P` is `&Problem` or `Box<Problem>`.
pub struct Pdmm<P> {
    problem: P,
    options: PdmmOptions,
    steps: Steps,
    pairs: Pairs,
    drawn: Drawn,
    x: Matrix,
    next: Matrix,
    z: Matrix,
    mu: Matrix,
    mu_hat: Matrix,
    /// Rounds in a row in which a drawn `z_ij` was zero.
    idle: Vec<u32>,
    nodes: Vec<u32>,
    step: Vec<f64>,
    prepared: Prepared,
    traffic: Traffic,
    scratch: Scratch,
}

impl<P: Borrow<Problem> + Sync> Pdmm<P> {
    /// Starts at zero; for any penalty and loss.
    pub fn new(problem: P, options: PdmmOptions) -> Result<Self> {
        options.check()?;
        let at: &Problem = problem.borrow();
        let steps = Steps::new(at, &options);
        let (n, d, loss) = (at.nodes(), at.dim(), at.loss());
        let pairs = Pairs::new(at.graph());
        let count = pairs.len();
        let sides = if options.as_printed { 1.0 } else { 2.0 };
        let step = |i: usize| match at.is_coupled(i) {
            true => 1.0 / (sides * steps.rho * at.graph().degree(i) as f64 + steps.eta),
            false => 0.0,
        };
        let (nodes, step): (Vec<u32>, Vec<f64>) = ((0..n as u32).collect(), (0..n).map(step).collect());
        let mut x = Matrix::zeros(n, d);
        minimise_local(at, &mut x, |i| !at.is_coupled(i));
        Ok(Pdmm {
            drawn: Drawn::new(n, count),
            next: x.clone(),
            x,
            z: Matrix::zeros(count, d),
            mu: Matrix::zeros(count, d),
            mu_hat: Matrix::zeros(count, d),
            idle: vec![0; count],
            prepared: loss.prepare(&nodes, &step),
            nodes,
            step,
            traffic: Traffic::new(n),
            scratch: Scratch::new(loss.work_len().max(5 * d)),
            problem,
            pairs,
            options,
            steps,
        })
    }

    /// What the multipliers of both directions agree on.
    fn flow_matrix(&self) -> Matrix {
        let (edges, d) = (self.at().graph().edges(), self.at().dim());
        let mut u = Matrix::zeros(edges, d);
        let share = if self.options.as_printed { 0.5 } else { 1.0 };
        for (p, pair) in self.pairs.iter().enumerate() {
            let sign = if pair.from < pair.to { share } else { -share };
            u.row_mut(pair.edge as usize).iter_mut().zip(self.mu.row(p)).for_each(|(u, m)| *u += sign * m);
        }
        u
    }

    /// Ordered pairs that are no longer sent.
    pub fn ceased(&self) -> usize {
        (0..self.pairs.len()).filter(|&p| self.is_ceased(p)).count()
    }

    fn is_ceased(&self, pair: usize) -> bool {
        self.pairs.is_ceased(pair, &self.idle, &self.options)
    }

    fn at(&self) -> &Problem {
        self.problem.borrow()
    }

    /// `row <-` the point from which a coupled user takes its proximal step, of length `step[node]`.
    fn argument(&self, node: usize, row: &mut [f64]) {
        let Pdmm { options, steps, pairs, x, z, mu_hat, idle, .. } = self;
        row.copy_from_slice(x.row(node));
        row.iter_mut().for_each(|r| *r *= steps.eta);
        for p in pairs.of(node) {
            // A ceased pair pulls a user to where it is.
            let ceased = pairs.is_ceased(p, idle, options);
            let other = if ceased { node } else { pairs.get(p).to as usize };
            pull(row, steps.rho, 1.0, x.row(other), z.row(p), mu_hat.row(p));
            if !options.as_printed {
                let back = pairs.get(p).reverse as usize;
                pull(row, steps.rho, -1.0, x.row(other), z.row(back), mu_hat.row(back));
            }
        }
        row.iter_mut().for_each(|r| *r *= self.step[node]);
    }

    /// `next_i <- x_i+` for the users drawn.
    fn update_models(&mut self) {
        let mut next = std::mem::replace(&mut self.next, Matrix::zeros(0, self.x.cols()));
        let (d, loss) = (self.x.cols(), self.at().loss());
        for_blocks(next.as_mut_slice(), d, |start, rows| {
            for (node, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                if self.drawn.models[node] && self.step[node] > 0.0 {
                    self.argument(node, row);
                    let (here, mut work) = (&self.nodes[node..=node], self.scratch.lock());
                    loss.prox_rows(node, here, &self.step, &self.prepared, row, &mut work);
                } else {
                    row.copy_from_slice(self.x.row(node));
                }
            }
        });
        self.next = next;
    }

    /// `z_ij <- z_ij+` for the pairs drawn.
    fn update_differences(&mut self) {
        let Pdmm { problem, options, steps, pairs, drawn, x, z, mu_hat, idle, scratch, .. } = self;
        let problem: &Problem = (*problem).borrow();
        let (d, total) = (problem.dim(), steps.rho + steps.eta);
        let half = if options.as_printed { 1.0 } else { 0.5 };
        for_blocks(z.as_mut_slice(), d, |start, rows| {
            for (p, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                if drawn.differences[p] && !pairs.is_ceased(p, idle, options) {
                    let pair = pairs.get(p);
                    let (from, to) = (x.row(pair.from as usize), x.row(pair.to as usize));
                    for (k, z) in row.iter_mut().enumerate() {
                        *z = (mu_hat.row(p)[k] + steps.rho * (from[k] - to[k]) + steps.eta * *z) / total;
                    }
                    let weight = half * problem.edge_weights()[pair.edge as usize] / total;
                    problem.penalty().prox(pair.edge as usize, weight, row, &mut scratch.lock());
                }
            }
        });
        for p in (0..pairs.len()).filter(|&p| drawn.differences[p]) {
            idle[p] = if norm2(z.row(p)) == 0.0 { idle[p].saturating_add(1) } else { 0 };
        }
    }

    /// `mu_ij <- mu_ij+` and `mu^_ij <- mu^_ij+` for the pairs drawn.
    fn update_multipliers(&mut self) {
        let Pdmm { options, steps, pairs, drawn, x, z, mu, mu_hat, idle, .. } = self;
        let d = x.cols();
        for_blocks2(ASLEEP, mu.as_mut_slice(), mu_hat.as_mut_slice(), d, d, |start, mu, mu_hat| {
            for (p, (mu, mu_hat)) in (start..).zip(mu.chunks_exact_mut(d).zip(mu_hat.chunks_exact_mut(d))) {
                if drawn.multipliers[p] && !pairs.is_ceased(p, idle, options) {
                    let pair = pairs.get(p);
                    let (from, to) = (x.row(pair.from as usize), x.row(pair.to as usize));
                    for k in 0..d {
                        let off = steps.rho * (from[k] - to[k] - z.row(p)[k]);
                        mu[k] += steps.tau * off;
                        mu_hat[k] = mu[k] - steps.nu * off;
                    }
                }
            }
        });
    }

    /// Users send what they updated; the server passes it on to whoever needs it. With the terms that the paper forgot, both
    /// users of a pair need its `z` and its `mu`.
    fn account(&mut self) {
        let problem: &Problem = self.problem.borrow();
        let (d, loss) = (problem.dim(), problem.loss());
        let ceased = |p: usize| self.pairs.is_ceased(p, &self.idle, &self.options);
        let readers = if self.options.as_printed { 1 } else { 2 };
        for node in (0..problem.nodes()).filter(|&i| self.drawn.models[i] && self.step[i] > 0.0) {
            self.traffic.send(node, 1, d);
            let listening = self.pairs.of(node).filter(|&p| !ceased(self.pairs.get(p).reverse as usize)).count();
            self.traffic.send_from_server(listening, d);
            self.traffic.compute(work::prox(loss, node) + (6 * readers * problem.graph().degree(node) * d) as f64);
        }
        for p in (0..self.pairs.len()).filter(|&p| self.step[self.pairs.get(p).from as usize] > 0.0) {
            if ceased(p) {
                continue;
            }
            if self.drawn.differences[p] {
                self.traffic.send(self.pairs.get(p).from as usize, 1, d);
                self.traffic.send_from_server(readers - 1, d);
                self.traffic.compute((9 * d) as f64);
            }
            if self.drawn.multipliers[p] {
                self.traffic.send_from_server(readers, d);
                self.traffic.compute((8 * d) as f64);
            }
        }
    }
}

/// `row <- row + rho (x_j + sign z) - sign mu^`.
fn pull(row: &mut [f64], rho: f64, sign: f64, x: &[f64], z: &[f64], mu_hat: &[f64]) {
    for (k, row) in row.iter_mut().enumerate() {
        *row += rho * (x[k] + sign * z[k]) - sign * mu_hat[k];
    }
}

impl<P: Borrow<Problem> + Sync> Method for Pdmm<P> {
    fn name(&self) -> &'static str {
        "pdmm"
    }

    fn round(&mut self) {
        self.drawn.draw(self.options.subset, &self.pairs, self.options.seed, self.traffic.rounds());
        if self.at().lambda() > 0.0 {
            self.update_models();
            self.update_differences();
            self.account();
            std::mem::swap(&mut self.x, &mut self.next);
            self.update_multipliers();
        }
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.x
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn flows(&self) -> Option<Matrix> {
        Some(self.flow_matrix())
    }
}

/// At a server, for whom the users are drawn by who answers.
impl<P: Borrow<Problem> + Send + Sync> ProximalMethod for Pdmm<P> {
    fn steps(&self) -> &[f64] {
        &self.step
    }

    fn arguments(&self, out: &mut Matrix) {
        for node in 0..out.rows() {
            match self.step[node] > 0.0 {
                true => self.argument(node, out.row_mut(node)),
                false => out.row_mut(node).copy_from_slice(self.x.row(node)),
            }
        }
    }

    fn take(&mut self, answers: &Matrix, heard: &[bool]) {
        self.drawn.set(&self.pairs, heard);
        if self.at().lambda() > 0.0 {
            self.update_differences();
        }
        self.x.copy_from(answers);
        if self.at().lambda() > 0.0 {
            self.update_multipliers();
        }
    }

    fn current(&self) -> &Matrix {
        &self.x
    }

    fn current_mut(&mut self) -> &mut Matrix {
        &mut self.x
    }

    /// `prox*(mu_ij - mu_ji + rho (w_i - w_j))`.
    fn flows_at(&self, w: &Matrix) -> Matrix {
        let (problem, mut flows): (&Problem, _) = (self.at(), self.flow_matrix());
        if problem.lambda() == 0.0 {
            return Matrix::zeros(flows.rows(), flows.cols());
        }
        let mut work = vec![0.0; 8 * problem.dim()];
        for (e, &weight) in problem.edge_weights().iter().enumerate() {
            problem.with_difference(w, e, |t| axpy(self.steps.rho, t, flows.row_mut(e)));
            problem.penalty().prox_conjugate(e, weight, self.steps.rho, flows.row_mut(e), &mut work);
        }
        flows
    }
}
