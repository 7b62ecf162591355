//! Gradient descent over the edges of the graph by gradients that were released with noise
//! ([`ClippedGradients`]). What the penalty and the ridge add knows no rows.
//!
//! The answer is the mean of the models over the second half of the rounds: noise averages out in it, and means of releases cost nothing.

use std::borrow::Borrow;

use rand::Rng;

use super::descent::{GradientRound, check_smooth};
use super::round::{Round, all, or_infinite};
use crate::error::Result;
use crate::matrix::{Matrix, axpy, norm2};
use crate::problem::Problem;
use crate::trust::privacy::rounds::ClippedGradients;

/// A round of descent by released gradients. The problem is borrowed or owned, as in [`GradientRound`]. The noise at a node comes from
/// `draw(node, w)`: it must be fresh for every point, and the same for the same one.
pub struct NoisyRound<P, D> {
    descent: GradientRound<P>,
    own: Vec<u32>,
    /// Where a node of the problem is among those of `gradients`.
    place: Vec<u32>,
    gradients: ClippedGradients,
    draw: D,
    /// Models before this round do not count.
    first: u64,
    done: u64,
    averaged: u64,
    /// Of the own nodes, over the rounds that count.
    sum: Matrix,
}

impl<R: Rng, P: Borrow<Problem> + Sync, D: Fn(usize, &[f64]) -> R + Sync> NoisyRound<P, D> {
    /// The nodes `own` of a problem, in increasing order, from the models `w` of all; `gradients` are those of the own nodes. The answer
    /// is the mean over the second half of `rounds`.
    pub fn part(
        problem: P,
        own: Vec<u32>,
        w: Matrix,
        step: f64,
        gradients: ClippedGradients,
        rounds: u64,
        draw: D,
    ) -> Self {
        let mut place = vec![0; w.rows()];
        own.iter().enumerate().for_each(|(k, i)| place[*i as usize] = k as u32);
        let sum = Matrix::zeros(own.len(), w.cols());
        let descent = GradientRound::part(problem, own.clone(), w, step);
        NoisyRound { descent, own, place, gradients, draw, first: rounds / 2, done: 0, averaged: 0, sum }
    }

    /// One round, on what came from neighbours.
    pub fn round(&mut self) {
        let NoisyRound { descent, place, gradients, draw, .. } = self;
        descent.compute_gradient(|_, node, w, out| {
            let node = place[node] as usize;
            gradients.release(node, w, &mut draw(node, w), out);
        });
        descent.move_by(descent.step, |_| ());
        descent.accept();
        self.done += 1;
        if self.done > self.first {
            self.averaged += 1;
            for (k, i) in self.own.iter().enumerate() {
                axpy(1.0, self.descent.w.row(*i as usize), self.sum.row_mut(k));
            }
        }
    }

    /// The mean of the models of the own nodes over the rounds that count; the last models if there were none.
    pub fn answer(&self) -> Matrix {
        let mut mean = Matrix::zeros(self.own.len(), self.sum.cols());
        for (k, i) in self.own.iter().enumerate() {
            match self.averaged {
                0 => mean.row_mut(k).copy_from_slice(self.descent.w.row(*i as usize)),
                count => axpy(1.0 / count as f64, self.sum.row(k), mean.row_mut(k)),
            }
        }
        mean
    }

    /// Length of [`memory`](NoisyRound::memory) for so many nodes of so many parameters.
    pub fn memory_len(nodes: usize, dim: usize) -> usize {
        2 + nodes * dim
    }

    /// What the answer depends on besides the models.
    pub fn memory(&self) -> Vec<f64> {
        [self.done as f64, self.averaged as f64].into_iter().chain(self.sum.as_slice().iter().copied()).collect()
    }

    /// Goes on from there; another length changes nothing.
    pub fn recall(&mut self, memory: &[f64]) {
        if memory.len() == 2 + self.sum.as_slice().len() {
            (self.done, self.averaged) = (memory[0] as u64, memory[1] as u64);
            self.sum.as_mut_slice().copy_from_slice(&memory[2..]);
        }
    }
}

impl<R: Rng, P: Borrow<Problem> + Send + Sync, D: Fn(usize, &[f64]) -> R + Send + Sync> Round for NoisyRound<P, D> {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.descent.outgoing(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.descent.incoming(node)
    }

    fn complete(&mut self) {
        self.round();
    }

    /// The longest gradient of the last round, as it was released: nothing else about the rows may be told.
    fn residual(&self) -> f64 {
        let gradient = &self.descent.gradient;
        match self.done {
            0 => f64::INFINITY,
            _ => or_infinite((0..gradient.rows()).map(|k| norm2(gradient.row(k))).fold(0.0, f64::max)),
        }
    }

    fn models(&self) -> &Matrix {
        self.descent.models()
    }

    fn flows(&self) -> Matrix {
        self.descent.flows()
    }
}

/// Descends from zero for so many rounds; `None` if `see`, which looks at the models after every round, says that it is enough.
pub fn noisy_descent<R: Rng>(
    problem: &Problem,
    gradients: ClippedGradients,
    rounds: usize,
    draw: impl Fn(usize, &[f64]) -> R + Sync,
    see: &mut dyn FnMut(usize, &Matrix) -> bool,
) -> Result<Option<Matrix>> {
    check_smooth(problem, "descent with noise")?;
    let (n, d, step) = (problem.nodes(), problem.dim(), gradients.step(problem));
    let mut at = NoisyRound::part(problem, all(n), Matrix::zeros(n, d), step, gradients, rounds as u64, draw);
    for round in 0..rounds {
        at.round();
        if !see(round + 1, &at.descent.w) {
            return Ok(None);
        }
    }
    Ok(Some(at.answer()))
}
