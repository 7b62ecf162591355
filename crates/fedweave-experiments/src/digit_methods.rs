//! Perceptrons at nodes, trained by the methods that the GTV paper compares: with the same network, optimiser and number of epochs
//! in an iteration.

use fedweave::matrix::{Rows, axpy, norm2};
use fedweave::model::coupled::{Coupled, CoupledOptions};
use fedweave::model::relax::Discrepancy;
use fedweave::model::{FitError, Mlp, MlpOptions, ModelSpec, Prox, Task, Workspace};
use fedweave::penalty::Norm2;
use fedweave::{Dataset, Graph, Matrix};
use rayon::prelude::*;

use crate::Error;
use crate::digits::DigitNetwork;

/// What all methods share.
pub struct Contest<'d> {
    /// The images.
    pub network: &'d DigitNetwork,
    /// Iterations.
    pub rounds: usize,
    /// Epochs of every node in an iteration.
    pub epochs: usize,
    /// Everything random follows from it.
    pub seed: u64,
}

/// One node of a method with a server.
struct Client {
    x: Matrix,
    y: Matrix,
    weight: Vec<f64>,
    mlp: Mlp,
    work: Workspace,
}

/// A linear term is a proximal one from far away.
const FAR: f64 = 1e4;

impl Contest<'_> {
    /// The network (42) of the paper, with biases.
    pub fn options() -> MlpOptions {
        match "mlp hidden=32 alpha=0 batch=50 learning-rate=0.001".parse() {
            Ok(ModelSpec::Mlp(options)) => options,
            _ => unreachable!("a known model"),
        }
    }

    fn task(&self) -> Task {
        Task::Classification { classes: self.network.classes }
    }

    /// Algorithm 1; accuracy at the start and after every iteration.
    pub fn algorithm_1(&self, graph: &Graph, lambda: f64, eta: f64) -> Result<Vec<f64>, Error> {
        let options = CoupledOptions {
            mlp: Self::options(),
            lambda,
            eta,
            epochs: self.epochs,
            seed: self.seed,
            ..CoupledOptions::default()
        };
        let mut coupled = Coupled::new(graph, &self.network.train, self.task(), Box::new(Norm2), options)?;
        let mut trace = Vec::with_capacity(self.rounds + 1);
        for round in 0..=self.rounds {
            if round > 0 {
                coupled.round()?;
            }
            let wrong = coupled.errors(&self.network.validation, Discrepancy::Misclassified)?;
            trace.push(1.0 - wrong.iter().flatten().sum::<f64>() / wrong.len() as f64);
        }
        Ok(trace)
    }

    /// Every node alone.
    pub fn local(&self) -> Result<Vec<f64>, Error> {
        let mut clients = self.clients(|_| self.seed)?;
        self.run(&mut clients, |clients, epochs| all(clients, |_, client| client.train(epochs, None)))
    }

    /// Subgradient training of (16) as one problem, by the optimiser of the networks.
    pub fn joint(&self, graph: &Graph, lambda: f64) -> Result<Vec<f64>, Error> {
        let mut clients = self.clients(|_| self.seed)?;
        self.run(&mut clients, |clients, epochs| {
            let before: Vec<Vec<f64>> = clients.iter().map(|c| c.mlp.parameters().to_vec()).collect();
            all(clients, |i, client| {
                let mut toward = before[i].clone();
                for end in graph.ends(i) {
                    let t: Vec<f64> =
                        before[i].iter().zip(&before[end.neighbour as usize]).map(|(a, b)| a - b).collect();
                    let size = norm2(&t);
                    if size > 0.0 {
                        axpy(-FAR * lambda * graph.weight(end.edge as usize) / size, &t, &mut toward);
                    }
                }
                client.train(epochs, Some(Prox { toward: &toward, tau: FAR }))
            })
        })
    }

    /// IFCA with `k` networks: nodes train the one with the smallest loss on their images; the server takes means. `spread`
    /// starts every network from the network of a different node, trained alone for one iteration, instead of at random.
    pub fn ifca(&self, k: usize, spread: bool) -> Result<Vec<f64>, Error> {
        let mut clients = self.clients(|_| self.seed)?;
        let mut centres = self.starts(k, spread)?;
        self.run(&mut clients, move |clients, epochs| {
            let losses = clients.par_iter_mut().map(|c| c.losses(&centres)).collect::<Result<Vec<_>, FitError>>()?;
            let choice: Vec<usize> =
                losses.iter().map(|l| (1..l.len()).fold(0, |b, c| if l[c] < l[b] { c } else { b })).collect();
            all(clients, |i, client| {
                client.mlp.set_parameters(&centres[choice[i]])?;
                client.mlp.reset_optimiser();
                client.train(epochs, None)
            })?;
            for (c, centre) in centres.iter_mut().enumerate() {
                let members: Vec<&Client> =
                    (0..clients.len()).filter(|&i| choice[i] == c).map(|i| &clients[i]).collect();
                if !members.is_empty() {
                    centre.fill(0.0);
                    members.iter().for_each(|m| axpy(1.0 / members.len() as f64, m.mlp.parameters(), centre));
                }
            }
            // The network that each node would use.
            all(clients, |i, client| client.mlp.set_parameters(&centres[choice[i]]))
        })
    }

    fn starts(&self, k: usize, spread: bool) -> Result<Vec<Vec<f64>>, Error> {
        if !spread {
            return Ok(self
                .clients(|i| self.seed + 1 + i as u64)?
                .iter()
                .take(k)
                .map(|c| c.mlp.parameters().to_vec())
                .collect());
        }
        let mut clients = self.clients(|_| self.seed)?;
        let n = clients.len();
        all(&mut clients, |_, client| client.train(self.epochs, None)).map_err(fit)?;
        // The first node, then again and again the one whose own network is worst served by those there are.
        let mut chosen = vec![0];
        while chosen.len() < k.min(n) {
            let centres: Vec<Vec<f64>> = chosen.iter().map(|&i: &usize| clients[i].mlp.parameters().to_vec()).collect();
            let losses = clients.par_iter_mut().map(|c| c.losses(&centres)).collect::<Result<Vec<_>, FitError>>();
            let best: Vec<f64> =
                losses.map_err(fit)?.iter().map(|l| l.iter().copied().fold(f64::INFINITY, f64::min)).collect();
            chosen.push((0..n).fold(0, |worst, i| if best[i] > best[worst] { i } else { worst }));
        }
        Ok(chosen.iter().map(|&i| clients[i].mlp.parameters().to_vec()).collect())
    }

    /// pFedMe: personal networks near a copy of the common one, `|theta - w|^2 gamma / 2`; copies follow them by `step gamma`, the
    /// server takes their mean. `epochs` local rounds of an epoch each.
    pub fn pfedme(&self, gamma: f64, step: f64) -> Result<Vec<f64>, Error> {
        let mut clients = self.clients(|_| self.seed)?;
        let mut common = clients[0].mlp.parameters().to_vec();
        self.run(&mut clients, move |clients, epochs| {
            let copies: Vec<Vec<f64>> = clients
                .par_iter_mut()
                .map(|client| {
                    let mut copy = common.clone();
                    for _ in 0..epochs {
                        client.train(1, Some(Prox { toward: &copy, tau: 1.0 / gamma }))?;
                        let personal = client.mlp.parameters();
                        copy.iter_mut().zip(personal).for_each(|(w, t)| *w -= step * gamma * (*w - t));
                    }
                    Ok(copy)
                })
                .collect::<Result<Vec<_>, FitError>>()?;
            common.fill(0.0);
            copies.iter().for_each(|copy| axpy(1.0 / copies.len() as f64, copy, &mut common));
            Ok(())
        })
    }

    fn clients(&self, seed: impl Fn(usize) -> u64) -> Result<Vec<Client>, Error> {
        let (train, task) = (&self.network.train, self.task());
        let client = |i: usize| -> Result<Client, Error> {
            let rows = train.rows(i).len();
            let mlp = Mlp::new(&Self::options(), task, train.dim(), seed(i));
            Ok(Client {
                x: Matrix::from_rows(train.dim(), train.features(i).to_vec()),
                y: task.targets(train.labels(i)).map_err(fit)?,
                weight: vec![1.0 / rows.max(1) as f64; rows],
                mlp: mlp.map_err(|e| fedweave::Error::Spec { node: i, source: e })?,
                work: Workspace::default(),
            })
        };
        (0..train.nodes()).map(client).collect()
    }

    /// Calls `iteration(clients, epochs)` again and again.
    fn run(
        &self,
        clients: &mut [Client],
        mut iteration: impl FnMut(&mut [Client], usize) -> Result<(), FitError>,
    ) -> Result<Vec<f64>, Error> {
        let mut trace = vec![accuracy(clients, &self.network.validation).map_err(fit)?];
        for _ in 0..self.rounds {
            iteration(clients, self.epochs).map_err(fit)?;
            trace.push(accuracy(clients, &self.network.validation).map_err(fit)?);
        }
        Ok(trace)
    }
}

fn fit(source: FitError) -> Error {
    fedweave::Error::Fit { node: 0, source }.into()
}

fn all(clients: &mut [Client], f: impl Fn(usize, &mut Client) -> Result<(), FitError> + Sync) -> Result<(), FitError> {
    clients.par_iter_mut().enumerate().try_for_each(|(i, client)| f(i, client))
}

/// Mean over nodes of the share of validation images that are classified correctly.
fn accuracy(clients: &[Client], validation: &Dataset) -> Result<f64, FitError> {
    let right = |(i, client): (usize, &Client)| -> Result<f64, FitError> {
        let (x, labels) = (Rows::new(validation.dim(), validation.features(i)), validation.labels(i));
        let mut out = vec![0.0; x.rows() * client.mlp.task().outputs()];
        client.mlp.predict(x, &mut out)?;
        let hits = client.mlp.task().labels(&out).iter().zip(labels).filter(|(a, b)| a == b).count();
        Ok(hits as f64 / labels.len().max(1) as f64)
    };
    let shares = clients.par_iter().enumerate().map(right).collect::<Result<Vec<f64>, FitError>>()?;
    Ok(shares.iter().sum::<f64>() / shares.len() as f64)
}

impl Client {
    fn train(&mut self, epochs: usize, prox: Option<Prox>) -> Result<(), FitError> {
        self.mlp.train(self.x.view(), self.y.view(), &self.weight, epochs, prox, &mut self.work).map(|_| ())
    }

    /// Losses of several networks on the own images.
    fn losses(&mut self, centres: &[Vec<f64>]) -> Result<Vec<f64>, FitError> {
        let own = self.mlp.parameters().to_vec();
        let mut out = vec![0.0; self.y.as_slice().len()];
        let mut losses = Vec::with_capacity(centres.len());
        for centre in centres {
            self.mlp.set_parameters(centre)?;
            self.mlp.predict(self.x.view(), &mut out)?;
            let k = self.y.cols();
            let rows = out.chunks_exact(k).zip(self.y.as_slice().chunks_exact(k));
            losses
                .push(rows.map(|(p, y)| Discrepancy::CrossEntropy.of(p, y)).sum::<f64>() / self.y.rows().max(1) as f64);
        }
        self.mlp.set_parameters(&own)?;
        Ok(losses)
    }
}
