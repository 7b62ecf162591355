//! Federated gradient descent (Algorithm 5.1 of the book), for any differentiable loss and smooth penalty:
//!
//! ```text
//! w_i+ = w_i - eta * ( grad L_i(w_i) + sum_j grad (lambda A_ij phi)(w_i - w_j) )
//! ```
//!
//! The default step is `1 / (max_i beta_i + 4 lambda d_max)`. Where a loss has no smoothness constant (Poisson) the step
//! is found by backtracking on the objective: it halves until the decrease is at least half of what the gradient promises,
//! and grows a little after every round.

use super::descent::{add_pull, check_smooth, check_step, exchange_models, safe_step};
use super::rounds::Method;
use crate::accounting::{Traffic, work};
use crate::error::Result;
use crate::matrix::{Matrix, dot};
use crate::parallel::{for_blocks, ordered_sum};
use crate::problem::Problem;
use crate::scratch::Scratch;

/// First step of a backtracking search, and its growth after a round.
const FIRST: f64 = 1.0;
const GROWTH: f64 = 1.25;
/// Halvings of one round.
const HALVINGS_MAX: usize = 200;

/// Synchronous gradient descent over the edges of the graph.
pub struct FedGd<'p> {
    problem: &'p Problem,
    w: Matrix,
    next: Matrix,
    gradient: Matrix,
    step: f64,
    backtracks: bool,
    traffic: Traffic,
    scratch: Scratch,
}

impl<'p> FedGd<'p> {
    /// Starts at zero, with the given step or one that never diverges.
    pub fn new(problem: &'p Problem, step: Option<f64>) -> Result<Self> {
        check_smooth(problem, "fedgd")?;
        let safe = match step {
            Some(step) => Some(check_step(step)?),
            None => safe_step(problem),
        };
        let (n, d) = (problem.nodes(), problem.dim());
        Ok(FedGd {
            problem,
            w: Matrix::zeros(n, d),
            next: Matrix::zeros(n, d),
            gradient: Matrix::zeros(n, d),
            step: safe.unwrap_or(FIRST),
            backtracks: safe.is_none(),
            traffic: Traffic::new(n),
            scratch: Scratch::new(5 * d),
        })
    }

    /// The same from other models.
    pub fn starting_at(mut self, w: &Matrix) -> Self {
        self.w.clone_from(w);
        self
    }

    /// The step of the next round; the first to be tried, where it is searched for.
    pub fn step(&self) -> f64 {
        self.step
    }

    fn compute_gradient(&mut self) {
        let (problem, w, scratch) = (self.problem, &self.w, &self.scratch);
        let d = problem.dim();
        for_blocks(self.gradient.as_mut_slice(), d, |start, rows| {
            let mut work = scratch.lock();
            for (k, out) in rows.chunks_exact_mut(d).enumerate() {
                let node = start + k;
                problem.loss().gradient(node, w.row(node), out);
                add_pull(problem, node, w.row(node), |end| w.row(end.neighbour as usize), out, &mut work);
            }
        });
        let flops = work::of_all(problem.loss(), work::gradient) + work::coupling(problem);
        self.traffic.compute(flops);
    }

    /// `next <- w - step * gradient`.
    fn move_by(&mut self, step: f64) {
        let (w, gradient, d) = (&self.w, &self.gradient, self.problem.dim());
        for_blocks(self.next.as_mut_slice(), d, |start, rows| {
            let from = start * d..start * d + rows.len();
            let old = w.as_slice()[from.clone()].iter().zip(&gradient.as_slice()[from]);
            rows.iter_mut().zip(old).for_each(|(next, (w, g))| *next = w - step * g);
        });
        self.traffic.compute(2.0 * self.w.as_slice().len() as f64);
    }

    /// Halves the step until the objective falls by half of what the gradient promises. Every trial sends the models to the
    /// neighbours, who need them to know the penalty, and each node's share of the objective to all by way of one of them.
    fn search(&mut self) {
        let (problem, n, d) = (self.problem, self.problem.nodes(), self.problem.dim());
        let before = problem.objective(&self.w);
        let slope = ordered_sum(n, d, |i| dot(self.gradient.row(i), self.gradient.row(i)));
        let rounding = 4.0 * f64::EPSILON * (1.0 + before.abs());
        for _ in 0..HALVINGS_MAX {
            self.move_by(self.step);
            let after = problem.objective(&self.next);
            self.traffic.compute(work::of_all(problem.loss(), work::value) + work::coupling(problem));
            (0..n).for_each(|i| self.traffic.send(i, 1, 1));
            if after <= before - 0.5 * self.step * slope + rounding {
                self.step *= GROWTH;
                return;
            }
            self.step *= 0.5;
            exchange_models(problem, &mut self.traffic);
        }
        self.next.clone_from(&self.w);
    }
}

impl Method for FedGd<'_> {
    fn name(&self) -> &'static str {
        "fedgd"
    }

    fn round(&mut self) {
        exchange_models(self.problem, &mut self.traffic);
        self.compute_gradient();
        match self.backtracks {
            true => self.search(),
            false => self.move_by(self.step),
        }
        std::mem::swap(&mut self.w, &mut self.next);
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
