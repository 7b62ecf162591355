//! The flows of all edges, in whatever domain the conjugate of the penalty has.

use super::balls::Balls;
use super::boxes::Boxes;
use crate::matrix::Matrix;
use crate::penalty::DualDomain;

/// Flows and the multipliers of their bounds.
pub enum Edges {
    Balls(Balls),
    Cubes {
        boxes: Boxes,
        dim: usize,
    },
    /// The penalty is `c |t|^2`: the flow is its gradient.
    Free(Vec<f64>),
}

impl Edges {
    /// Flows that fit differences `t`, with complementarity of about `mu`.
    pub fn new(domain: DualDomain, weights: &[f64], t: &Matrix, mu: f64) -> Self {
        match domain {
            DualDomain::Ball => Edges::Balls(Balls::new(weights, t, mu)),
            DualDomain::Cube => {
                let dim = t.cols();
                let bounds = weights.iter().flat_map(|c| std::iter::repeat_n((-c, *c), dim));
                Edges::Cubes { boxes: Boxes::new(bounds, t.as_slice(), mu), dim }
            }
            DualDomain::Everything => Edges::Free(weights.to_vec()),
        }
    }

    /// Products of slacks and multipliers: how many `mu` they are, and their sum after a step of this length.
    pub fn complementarity(&self, length: f64) -> (usize, f64) {
        match self {
            Edges::Balls(balls) => (2 * balls.len(), balls.complementarity(length)),
            Edges::Cubes { boxes, .. } => (2 * boxes.len(), boxes.complementarity(length)),
            Edges::Free(_) => (0, 0.0),
        }
    }

    /// `out <- u`.
    pub fn flow(&self, e: usize, t: &[f64], out: &mut [f64]) {
        match self {
            Edges::Balls(balls) => out.copy_from_slice(balls.u.row(e)),
            Edges::Cubes { boxes, dim } => out.copy_from_slice(&boxes.g[e * dim..(e + 1) * dim]),
            Edges::Free(weights) => out.iter_mut().zip(t).for_each(|(u, t)| *u = 2.0 * weights[e] * t),
        }
    }

    /// `block <- M`, from zeros.
    pub fn fill(&self, e: usize, block: &mut [f64]) {
        match self {
            Edges::Balls(balls) => balls.fill(e, block),
            Edges::Cubes { boxes, dim } => (0..*dim).for_each(|j| block[j * (dim + 1)] = boxes.c[e * dim + j]),
            Edges::Free(weights) => {
                let dim = block.len().isqrt();
                (0..dim).for_each(|j| block[j * (dim + 1)] = 2.0 * weights[e]);
            }
        }
    }

    /// `out <- M pull`.
    pub fn pulled(&self, e: usize, out: &mut [f64]) {
        match self {
            Edges::Balls(balls) => balls.multiply(e, balls.pull.row(e), out),
            Edges::Cubes { boxes, dim } => {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = boxes.c[e * dim + j] * boxes.pull[e * dim + j];
                }
            }
            Edges::Free(_) => out.fill(0.0),
        }
    }

    /// Aims at complementarity `mu`; after a first direction, with its second order corrected for.
    pub fn aim(&mut self, mu: f64, corrected: bool, t: &Matrix) {
        match self {
            Edges::Balls(balls) => balls.aim(mu, corrected, t),
            Edges::Cubes { boxes, .. } => boxes.aim(mu, corrected, |k| t.as_slice()[k]),
            Edges::Free(_) => {}
        }
    }

    /// The direction, for the change `dt`.
    pub fn direct(&mut self, dt: &Matrix) {
        match self {
            Edges::Balls(balls) => balls.direct(dt),
            Edges::Cubes { boxes, .. } => boxes.direct(|k| dt.as_slice()[k]),
            Edges::Free(_) => {}
        }
    }

    /// `out <- du`.
    pub fn change(&self, e: usize, dt: &[f64], out: &mut [f64]) {
        match self {
            Edges::Balls(balls) => out.copy_from_slice(balls.du.row(e)),
            Edges::Cubes { boxes, dim } => out.copy_from_slice(&boxes.dg[e * dim..(e + 1) * dim]),
            Edges::Free(weights) => out.iter_mut().zip(dt).for_each(|(u, t)| *u = 2.0 * weights[e] * t),
        }
    }

    /// The longest step that keeps everything inside.
    pub fn longest(&self) -> f64 {
        match self {
            Edges::Balls(balls) => balls.longest(),
            Edges::Cubes { boxes, .. } => boxes.longest(),
            Edges::Free(_) => f64::INFINITY,
        }
    }

    /// A step.
    pub fn step(&mut self, length: f64) {
        match self {
            Edges::Balls(balls) => balls.step(length),
            Edges::Cubes { boxes, .. } => boxes.step(length),
            Edges::Free(_) => {}
        }
    }
}
