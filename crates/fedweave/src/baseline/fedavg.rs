//! Federated averaging: the server sends its model, every client works on it, the server takes the mean.
//!
//! ```text
//! gradient:  v_i = w - eta grad L_i(w), several times          w+ = mean_i v_i
//! prox:      v_i = argmin L_i(v) + (1/eta) |v - w|^2             (Algorithm 5.3 of the book)
//! ```
//!
//! One gradient step per round ends at the minimiser of the sum of the losses; several steps, or proximal ones, end beside it
//! where the losses differ. With clusters, each has its own server model.

use super::server::{average, clients, descend, descent_work, exchange, gradient_step, movement, positive, smoothness};
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::graph::partition::Partition;
use crate::loss::{Loss, Prepared};
use crate::matrix::Matrix;
use crate::parallel::for_blocks;
use crate::scratch::Scratch;
use crate::solve::Method;

/// What a client does in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalUpdate {
    /// Gradient steps.
    Gradient {
        /// How many, at least 1.
        steps: usize,
    },
    /// One proximal step, `rho = 2 / eta`.
    Prox,
}

/// Options of [`FedAvg`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FedAvgOptions {
    /// What a client does in a round.
    pub local: LocalUpdate,
    /// `eta`; `None` for one that never diverges.
    pub step: Option<f64>,
}

impl Default for FedAvgOptions {
    fn default() -> Self {
        FedAvgOptions { local: LocalUpdate::Gradient { steps: 5 }, step: None }
    }
}

/// Federated averaging, of all clients or by given clusters.
pub struct FedAvg<'l> {
    loss: &'l dyn Loss,
    local: LocalUpdate,
    step: f64,
    clients: Vec<u32>,
    cluster: Vec<usize>,
    clustered: bool,
    centres: Matrix,
    before: Matrix,
    /// How far the last round moved the centres.
    moved: f64,
    counts: Vec<usize>,
    models: Matrix,
    /// Of the proximal form.
    nodes: Vec<u32>,
    tau: Vec<f64>,
    prepared: Prepared,
    traffic: Traffic,
    scratch: Scratch,
}

impl<'l> FedAvg<'l> {
    /// One model for all, from zero.
    pub fn new(loss: &'l dyn Loss, options: FedAvgOptions) -> Result<Self> {
        Self::with(loss, vec![0; loss.nodes()], 1, false, options)
    }

    /// One model per cluster: `clusters[i]` is the cluster of node `i`, any number.
    pub fn clustered(loss: &'l dyn Loss, clusters: &[usize], options: FedAvgOptions) -> Result<Self> {
        if clusters.len() != loss.nodes() {
            return Err(Error::Size { what: "clusters of nodes", expected: loss.nodes(), found: clusters.len() });
        }
        let parts = Partition::of_labels(clusters);
        let cluster = (0..loss.nodes()).map(|i| parts.part(i)).collect();
        Self::with(loss, cluster, parts.len(), true, options)
    }

    fn with(
        loss: &'l dyn Loss,
        cluster: Vec<usize>,
        count: usize,
        clustered: bool,
        options: FedAvgOptions,
    ) -> Result<Self> {
        let (n, d) = (loss.nodes(), loss.dim());
        let (step, tau) = match options.local {
            LocalUpdate::Gradient { steps: 0 } => {
                return Err(Error::Parameter { name: "local steps", value: 0.0, needs: "at least 1" });
            }
            LocalUpdate::Gradient { .. } => (gradient_step(loss, options.step, "fedavg")?, Vec::new()),
            LocalUpdate::Prox => {
                let step = positive("step", options.step.unwrap_or_else(|| prox_step(loss)))?;
                (step, vec![0.5 * step; n])
            }
        };
        let nodes: Vec<u32> = (0..n as u32).collect();
        Ok(FedAvg {
            prepared: if tau.is_empty() { Prepared::default() } else { loss.prepare(&nodes, &tau) },
            loss,
            local: options.local,
            step,
            clients: clients(loss),
            cluster,
            clustered,
            centres: Matrix::zeros(count, d),
            before: Matrix::zeros(count, d),
            moved: f64::INFINITY,
            counts: vec![0; count],
            models: Matrix::zeros(n, d),
            nodes,
            tau,
            traffic: Traffic::new(n),
            scratch: Scratch::new(loss.work_len() + d),
        })
    }

    /// `eta`.
    pub fn step(&self) -> f64 {
        self.step
    }

    fn work_locally(&mut self) {
        let FedAvg { loss, local, step, models, nodes, tau, prepared, scratch, .. } = self;
        let d = loss.dim();
        for_blocks(models.as_mut_slice(), d, |start, rows| {
            let mut work = scratch.lock();
            match *local {
                LocalUpdate::Gradient { steps } => {
                    for (node, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                        descend(*loss, node, steps, *step, row, &mut work[..d]);
                    }
                }
                LocalUpdate::Prox => {
                    let nodes = &nodes[start..start + rows.len() / d];
                    loss.prox_rows(start, nodes, tau, prepared, rows, &mut work);
                }
            }
        });
    }
}

/// `1 / max_i beta_i`, or 1: every proximal step is safe.
fn prox_step(loss: &dyn Loss) -> f64 {
    let beta = smoothness(loss);
    if beta > 0.0 && beta.is_finite() { 1.0 / beta } else { 1.0 }
}

impl Method for FedAvg<'_> {
    fn name(&self) -> &'static str {
        if self.clustered { "clustered-fedavg" } else { "fedavg" }
    }

    fn round(&mut self) {
        self.work_locally();
        let FedAvg { loss, clients, cluster, centres, before, counts, models, traffic, .. } = self;
        before.copy_from(centres);
        average(models, clients, |i| cluster[i], centres, counts);
        for (row, &c) in models.as_mut_slice().chunks_exact_mut(loss.dim()).zip(cluster.iter()) {
            row.copy_from_slice(centres.row(c));
        }
        exchange(traffic, clients, loss.dim(), loss.dim());
        traffic.compute(match self.local {
            LocalUpdate::Gradient { steps } => descent_work(*loss, clients, steps),
            LocalUpdate::Prox => clients.iter().map(|&i| work::prox(*loss, i as usize)).sum(),
        });
        traffic.compute((clients.len() * loss.dim()) as f64);
        traffic.end_round();
        let steps = if let LocalUpdate::Gradient { steps } = self.local { steps as f64 } else { 1.0 };
        self.moved = movement(before, centres, steps * self.step);
    }

    fn models(&self) -> &Matrix {
        &self.models
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Federated averaging has a fixed point of its own.
    fn fixed_point_residual(&self) -> Option<f64> {
        Some(self.moved)
    }
}
