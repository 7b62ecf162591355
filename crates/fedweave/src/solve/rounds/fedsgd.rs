//! Federated stochastic gradient descent (Algorithm 5.2 of the book): [`FedGd`](super::FedGd) with the gradient of every
//! `L_i` estimated from a fresh random batch of its rows,
//!
//! ```text
//! w_i+ = w_i - eta_k * ( m_i / |B| * grad of the rows in B  +  sum_j grad (lambda A_ij phi)(w_i - w_j) )
//! ```
//!
//! The loss of a batch is at most `m_i / |B|` times as curved as `L_i`, so with the default step
//! `1 / (max_i beta_i m_i / |B_i| + 4 lambda d_max)` every step is a contraction, whatever the draw.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::descent::{GradientRound, check_smooth, check_step, exchange_models, largest, pull_rate};
use super::method::Method;
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::random::{Purpose, stream};

/// How the step changes from round to round, `k = 1, 2, ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// `eta`: fast, but stays at a distance from the optimum that grows with `eta`.
    #[default]
    Constant,
    /// `eta / k`.
    Inverse,
    /// `eta / sqrt(k)`.
    InverseRoot,
}

impl Schedule {
    /// The factor of round `k`, counted from 1.
    pub fn factor(self, k: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Inverse => 1.0 / k as f64,
            Schedule::InverseRoot => 1.0 / (k as f64).sqrt(),
        }
    }
}

/// Options of [`FedSgd`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdOptions {
    /// Rows of a batch, at nodes that have more.
    pub batch: usize,
    /// First step; `None` for one that never diverges.
    pub step: Option<f64>,
    /// How the step changes.
    pub schedule: Schedule,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for SgdOptions {
    fn default() -> Self {
        SgdOptions { batch: 10, step: None, schedule: Schedule::InverseRoot, seed: 0 }
    }
}

/// Synchronous stochastic gradient descent over the edges of the graph.
pub struct FedSgd<'p> {
    at: GradientRound<&'p Problem>,
    options: SgdOptions,
    traffic: Traffic,
    /// One stream per node: what a node draws does not depend on the others.
    random: Vec<ChaCha8Rng>,
    /// The rows of all nodes, each node's in an order of which the first are its batch.
    order: Vec<u32>,
    offsets: Vec<usize>,
}

impl<'p> FedSgd<'p> {
    /// Starts at zero.
    pub fn new(problem: &'p Problem, options: SgdOptions) -> Result<Self> {
        check_smooth(problem, "fedsgd")?;
        if options.batch == 0 {
            return Err(Error::Parameter { name: "batch", value: 0.0, needs: "at least 1" });
        }
        let step = match options.step {
            Some(step) => check_step(step)?,
            None => safe_step(problem, options.batch)?,
        };
        let (n, loss) = (problem.nodes(), problem.loss());
        let mut offsets = vec![0];
        (0..n).for_each(|i| offsets.push(offsets[i] + loss.row_count(i)));
        Ok(FedSgd {
            at: GradientRound::new(problem, step),
            options,
            traffic: Traffic::new(n),
            random: (0..n).map(|i| stream(options.seed, Purpose::Batches, i)).collect(),
            order: (0..n).flat_map(|i| 0..loss.row_count(i) as u32).collect(),
            offsets,
        })
    }

    /// The step of the first round.
    pub fn step(&self) -> f64 {
        self.at.step
    }

    /// A random batch of every node moves to the front of its rows.
    fn draw(&mut self) {
        for (i, random) in self.random.iter_mut().enumerate() {
            let rows = &mut self.order[self.offsets[i]..self.offsets[i + 1]];
            if self.options.batch < rows.len() {
                for k in 0..self.options.batch {
                    rows.swap(k, random.random_range(k..rows.len()));
                }
            }
        }
    }
}

/// See the module's text.
fn safe_step(problem: &Problem, batch: usize) -> Result<f64> {
    let scale = |i: usize| (problem.loss().row_count(i) as f64 / batch as f64).max(1.0);
    let beta = largest(problem, |i| scale(i) * problem.loss().curvature(i).beta);
    let rate = beta + 2.0 * largest(problem, |i| pull_rate(problem, i));
    match rate.is_finite() {
        true => Ok(if rate > 0.0 { 1.0 / rate } else { 1.0 }),
        false => Err(Error::Method { method: "fedsgd", needs: "a step, for a loss whose curvature has no bound" }),
    }
}

impl Method for FedSgd<'_> {
    fn name(&self) -> &'static str {
        "fedsgd"
    }

    fn round(&mut self) {
        exchange_models(self.at.problem, &mut self.traffic);
        self.draw();
        let (loss, batch, order, offsets) = (self.at.problem.loss(), self.options.batch, &self.order, &self.offsets);
        self.at.compute_gradient(|loss, i, w, out| {
            let rows = &order[offsets[i]..offsets[i + 1]];
            match batch < rows.len() {
                true => loss.batch_gradient(i, &rows[..batch], w, out),
                false => loss.gradient(i, w, out),
            }
        });
        let rows: usize = offsets.windows(2).map(|o| (o[1] - o[0]).min(batch)).sum();
        let moves = 2.0 * self.at.w.as_slice().len() as f64;
        self.traffic.compute(work::coupling(self.at.problem) + 4.0 * (rows * loss.dim()) as f64 + moves);
        let factor = self.options.schedule.factor(self.traffic.rounds() + 1);
        self.at.move_by(factor * self.at.step, |_| ());
        self.at.accept();
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.at.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
