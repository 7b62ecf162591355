//! The iterative federated clustering algorithm: the server keeps `k` models; every client picks the one with the smallest
//! loss on its own data, works on it, and the server averages over those who picked the same.
//!
//! ```text
//! c_i = argmin_c L_i(theta_c)
//! gradients:  theta_c+ = theta_c - (eta / n) sum_{c_i = c} grad L_i(theta_c)
//! models:     theta_c+ = mean over c_i = c of theta_c after some gradient steps on L_i
//! ```
//!
//! The result depends on where it starts: several starts run side by side, and the one with the smallest training loss counts.

use rayon::prelude::*;

use super::server::{average, clients, descend, descent_work, exchange, gradient_step, movement};
use crate::accounting::{Traffic, work};
use crate::error::Result;
use crate::loss::Loss;
use crate::matrix::Matrix;
use crate::parallel::{BLOCK, for_blocks};
use crate::scratch::Scratch;
use crate::solve::Method;
pub use options::{Averaging, IfcaOptions, IfcaStart};

mod options;

/// Clustering by loss.
pub struct Ifca<'l> {
    loss: &'l dyn Loss,
    averaging: Averaging,
    step: f64,
    clients: Vec<u32>,
    runs: Vec<Run>,
    counts: Vec<usize>,
    /// What clients made of their models; scratch, like the models of the round before.
    worked: Matrix,
    before: Matrix,
    models: Matrix,
    best: usize,
    /// How far the last round moved the models of each start.
    moved: Vec<f64>,
    traffic: Traffic,
    scratch: Scratch,
}

/// One start: its models, and who uses which.
struct Run {
    centres: Matrix,
    choice: Vec<u32>,
    /// Loss of every node with its choice.
    value: Vec<f64>,
}

impl<'l> Ifca<'l> {
    /// Draws the starts and lets the clients choose.
    pub fn new(loss: &'l dyn Loss, options: IfcaOptions) -> Result<Self> {
        let clients = clients(loss);
        options.check(clients.len())?;
        let step = gradient_step(loss, options.step, "ifca")?;
        let (n, d) = (loss.nodes(), loss.dim());
        let start = |r: usize| Run {
            centres: options.centres(loss, &clients, step, r),
            choice: vec![0; n],
            value: vec![0.0; n],
        };
        let mut method = Ifca {
            loss,
            averaging: options.averaging,
            step,
            runs: (0..options.restarts).map(start).collect(),
            counts: vec![0; options.k],
            worked: Matrix::zeros(n, d),
            before: Matrix::zeros(options.k, d),
            models: Matrix::zeros(n, d),
            best: 0,
            moved: vec![f64::INFINITY; options.restarts],
            traffic: Traffic::new(n),
            scratch: Scratch::new(d),
            clients,
        };
        method.choose();
        Ok(method)
    }

    /// The model that each node uses, of the best start; a node without rows goes with the majority.
    pub fn clusters(&self) -> &[u32] {
        &self.runs[self.best].choice
    }

    /// The training loss of the best start.
    pub fn training_loss(&self) -> f64 {
        self.runs[self.best].total()
    }

    /// Every client picks the model with the smallest loss.
    fn choose(&mut self) {
        let Ifca { loss, runs, clients, counts, models, best, .. } = self;
        runs.iter_mut().for_each(|run| run.choose(*loss, clients, counts));
        // The first of equals; a loss that is not a number is never the best.
        let total = |r: usize| Some(runs[r].total()).filter(|t| !t.is_nan()).unwrap_or(f64::INFINITY);
        *best = (0..runs.len()).fold(0, |best, r| if total(r) < total(best) { r } else { best });
        runs[*best].copy_choices(models);
    }
}

impl Run {
    fn choose(&mut self, loss: &dyn Loss, clients: &[u32], counts: &mut [usize]) {
        let centres = &self.centres;
        let pick = |i: usize| {
            let value = |c: usize| Some(loss.value(i, centres.row(c))).filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY);
            (1..centres.rows()).fold((0, value(0)), |best, c| if value(c) < best.1 { (c, value(c)) } else { best })
        };
        let places = self.choice.par_iter_mut().zip(self.value.par_iter_mut()).enumerate().with_min_len(BLOCK);
        places.for_each(|(i, (choice, value))| {
            let (c, v) = pick(i);
            (*choice, *value) = (c as u32, v);
        });
        counts.fill(0);
        clients.iter().for_each(|&i| counts[self.choice[i as usize] as usize] += 1);
        let majority = (0..counts.len()).fold(0, |best, c| if counts[c] > counts[best] { c } else { best });
        let without = (0..loss.nodes()).filter(|&i| !loss.has_rows(i));
        without.for_each(|i| self.choice[i] = majority as u32);
    }

    fn total(&self) -> f64 {
        self.value.iter().sum()
    }

    fn copy_choices(&self, models: &mut Matrix) {
        let d = models.cols();
        for (row, &c) in models.as_mut_slice().chunks_exact_mut(d).zip(&self.choice) {
            row.copy_from_slice(self.centres.row(c as usize));
        }
    }
}

impl Method for Ifca<'_> {
    fn name(&self) -> &'static str {
        "ifca"
    }

    fn round(&mut self) {
        let Ifca { loss, averaging, step, clients, runs, counts, worked, before, moved, traffic, scratch, .. } = self;
        let (d, steps) = (loss.dim(), if let Averaging::Models { steps } = *averaging { steps } else { 1 });
        for (Run { centres, choice, .. }, moved) in runs.iter_mut().zip(moved) {
            for_blocks(worked.as_mut_slice(), d, |start, rows| {
                let mut work = scratch.lock();
                for (node, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                    row.copy_from_slice(centres.row(choice[node] as usize));
                    descend(*loss, node, steps, *step, row, &mut work);
                }
            });
            before.copy_from(centres);
            average(worked, clients, |i| choice[i] as usize, centres, counts);
            if *averaging == Averaging::Gradients {
                // The step is shared by all clients: a small cluster moves less.
                for (c, &count) in counts.iter().enumerate() {
                    let share = count as f64 / clients.len() as f64;
                    let both = centres.row_mut(c).iter_mut().zip(before.row(c));
                    both.for_each(|(new, old)| *new = old + share * (*new - old));
                }
            }
            *moved = movement(before, centres, *step * steps as f64);
            // Clients get all models and answer with one, and its number.
            exchange(traffic, clients, centres.rows() * d, d + 1);
            let judging: f64 = clients.iter().map(|&i| work::value(*loss, i as usize)).sum();
            traffic.compute(centres.rows() as f64 * judging + descent_work(*loss, clients, steps));
        }
        self.choose();
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.models
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The models of the best start have a fixed point of their own.
    fn fixed_point_residual(&self) -> Option<f64> {
        Some(self.moved[self.best])
    }
}
