//! Asynchronous federated gradient descent (Algorithm 8.1 of the book). In every round some nodes are active; they step with
//! the models of their neighbours as they last heard of them,
//!
//! ```text
//! w_i+ = w_i - eta * ( grad L_i(w_i) + 2 lambda sum_j A_ij (w_i - w_j as of round k_ij) ),    k - delay_max <= k_ij <= k
//! ```
//!
//! and send the result to all neighbours. What arrives late is never replaced by something older.
//!
//! With the squared penalty and `eta (beta_i + 2 lambda d_i) <= 1`, `d_i` the weighted degree, a step brings `w_i` no farther
//! from its optimum than the farthest of the models it is computed from: its own keeps a share `1 - eta (mu_i + 2 lambda d_i)`
//! of its distance, the neighbours contribute `2 eta lambda d_i`. So the largest distance never grows, and shrinks where
//! losses are strongly convex, whatever the delays; the default step of [`FedGd`](super::FedGd) is short enough.

use rand::RngExt;

use super::descent::{add_pull, check_smooth, check_step, safe_step};
use super::method::Method;
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::graph::End;
use crate::matrix::Matrix;
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::random::{Purpose, stream};
use crate::scratch::Scratch;

/// Who is active and how late messages are.
#[derive(Debug, Clone, PartialEq)]
pub struct AsyncOptions {
    /// Probability that a node is active in a round: one for all, or one per node (stragglers have small ones).
    pub active: Vec<f64>,
    /// Delays are drawn evenly from `0..=delay_max` rounds, for every message anew.
    pub delay_max: usize,
    /// Step; `None` for one that never diverges.
    pub step: Option<f64>,
    /// Seed of activity and delays.
    pub seed: u64,
}

impl Default for AsyncOptions {
    fn default() -> Self {
        AsyncOptions { active: vec![0.5], delay_max: 5, step: None, seed: 0 }
    }
}

/// Gradient descent without a common clock.
pub struct AsyncFedGd<'p> {
    problem: &'p Problem,
    options: AsyncOptions,
    step: f64,
    /// The models of the last `delay_max + 1` rounds; those of round `k` at `k mod (delay_max + 1)`.
    past: Vec<Matrix>,
    next: Matrix,
    round: usize,
    active: Vec<bool>,
    /// The round as of which a node knows each neighbour, in the order of its ends.
    known: Vec<usize>,
    offsets: Vec<usize>,
    traffic: Traffic,
    scratch: Scratch,
}

impl<'p> AsyncFedGd<'p> {
    /// Starts at zero.
    pub fn new(problem: &'p Problem, options: AsyncOptions) -> Result<Self> {
        let (n, d, method) = (problem.nodes(), problem.dim(), "async-fedgd");
        check_smooth(problem, method)?;
        if problem.penalty().name() != "squared" {
            return Err(Error::Method { method, needs: "the squared penalty" });
        }
        if ![1, n].contains(&options.active.len()) {
            let (expected, found) = (n, options.active.len());
            return Err(Error::Size { what: "probabilities of being active", expected, found });
        }
        if let Some(&value) = options.active.iter().find(|p| !(0.0 < **p && **p <= 1.0)) {
            return Err(Error::Parameter { name: "active", value, needs: "above 0 and at most 1" });
        }
        let step = match options.step {
            Some(step) => check_step(step)?,
            None => safe_step(problem)
                .ok_or(Error::Method { method, needs: "a step, for a loss whose curvature has no bound" })?,
        };
        let mut offsets = vec![0];
        (0..n).for_each(|i| offsets.push(offsets[i] + problem.graph().degree(i)));
        Ok(AsyncFedGd {
            problem,
            step,
            past: vec![Matrix::zeros(n, d); options.delay_max + 1],
            next: Matrix::zeros(n, d),
            round: 0,
            active: vec![true; n],
            known: vec![0; offsets[n]],
            offsets,
            traffic: Traffic::new(n),
            scratch: Scratch::new(6 * d),
            options,
        })
    }

    /// Who is active, and what they know by now.
    fn draw(&mut self) {
        let mut random = stream(self.options.seed, Purpose::Delays, self.round);
        let p = &self.options.active;
        for (i, active) in self.active.iter_mut().enumerate() {
            *active = random.random_bool(p[if p.len() == 1 { 0 } else { i }]);
        }
        for known in &mut self.known {
            let delay = random.random_range(0..=self.options.delay_max);
            *known = (*known).max(self.round.saturating_sub(delay));
        }
    }
}

impl Method for AsyncFedGd<'_> {
    fn name(&self) -> &'static str {
        "async-fedgd"
    }

    fn round(&mut self) {
        self.draw();
        let (problem, past, slots) = (self.problem, &self.past, self.past.len());
        let (active, known, offsets, scratch, step) =
            (&self.active, &self.known, &self.offsets, &self.scratch, self.step);
        let (d, now) = (problem.dim(), &past[self.round % slots]);
        for_blocks(self.next.as_mut_slice(), d, |start, rows| {
            let mut work = scratch.lock();
            let (gradient, work) = work.split_at_mut(d);
            for (k, next) in rows.chunks_exact_mut(d).enumerate() {
                let (node, own) = (start + k, now.row(start + k));
                next.copy_from_slice(own);
                if !active[node] {
                    continue;
                }
                problem.loss().gradient(node, own, gradient);
                let stale =
                    |place: usize, end: &End| past[known[offsets[node] + place] % slots].row(end.neighbour as usize);
                add_pull(problem, node, own, stale, gradient, work);
                next.iter_mut().zip(own.iter().zip(gradient.iter())).for_each(|(n, (w, g))| *n = w - step * g);
            }
        });
        self.round += 1;
        std::mem::swap(&mut self.next, &mut self.past[self.round % slots]);
        for node in (0..problem.nodes()).filter(|&i| self.active[i]) {
            let degree = if problem.is_coupled(node) { problem.graph().degree(node) } else { 0 };
            self.traffic.send(node, degree, d);
            self.traffic.compute(work::gradient(problem.loss(), node) + ((3 * degree + 2) * d) as f64);
        }
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.past[self.round % self.past.len()]
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
