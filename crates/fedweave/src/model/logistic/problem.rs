//! The objective of logistic regression: value, gradient, products with the Hessian, Newton steps.

use super::super::sample::Sample;
use super::{LogisticOptions, scores_of, to_probabilities};
use crate::matrix::{axpy, dot, norm2};

/// Ridge of the intercepts, per unit of weight.
const TRACE: f64 = 1e-9;

/// The objective of one fit.
pub struct LogisticProblem<'a> {
    sample: &'a Sample<'a>,
    c: f64,
    intercept: bool,
    pub scores: usize,
    pub width: usize,
    trace: f64,
}

/// Vectors of the iteration.
pub struct Iterate {
    /// Probabilities of the scored classes at the current point, a row per row.
    p: Vec<f64>,
    gradient: Vec<f64>,
    step: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    product: Vec<f64>,
    trial: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> LogisticProblem<'a> {
    pub fn new(options: &LogisticOptions, sample: &'a Sample<'a>) -> Self {
        let total = sample.total_weight();
        LogisticProblem {
            sample,
            c: options.c,
            intercept: options.intercept,
            scores: scores_of(sample.outputs()),
            width: sample.features() + 1,
            trace: TRACE * options.c * total,
        }
    }

    pub fn state(&self) -> Iterate {
        let vector = || vec![0.0; self.scores * self.width];
        Iterate {
            p: vec![0.0; self.sample.rows() * self.scores],
            gradient: vector(),
            step: vector(),
            residual: vector(),
            direction: vector(),
            product: vector(),
            trial: vector(),
            row: vec![0.0; self.scores],
        }
    }

    /// Targets of the scored classes.
    fn targets(&self, r: usize) -> &[f64] {
        let y = self.sample.y.row(r);
        if self.scores == 1 { &y[1..2] } else { y }
    }

    /// `out_k <- w_k' (x, 1)`.
    fn scores(&self, w: &[f64], r: usize, out: &mut [f64]) {
        let x = self.sample.x.row(r);
        for (out, w) in out.iter_mut().zip(w.chunks_exact(self.width)) {
            *out = dot(&w[..x.len()], x) + w[x.len()];
        }
    }

    /// `out += sum_k factor_k (x, 1)`.
    fn add_row(&self, r: usize, factor: &[f64], out: &mut [f64]) {
        let x = self.sample.x.row(r);
        for (f, out) in factor.iter().zip(out.chunks_exact_mut(self.width)) {
            axpy(*f, x, &mut out[..x.len()]);
            out[x.len()] += if self.intercept { *f } else { 0.0 };
        }
    }

    fn ridge(&self, at: usize) -> f64 {
        if (at + 1).is_multiple_of(self.width) { self.trace } else { 1.0 }
    }

    /// The objective at `w`.
    pub fn value(&self, w: &[f64], state: &mut Iterate) -> f64 {
        let mut value: f64 = w.iter().enumerate().map(|(at, w)| 0.5 * self.ridge(at) * w * w).sum();
        for r in 0..self.sample.rows() {
            self.scores(w, r, &mut state.row);
            let s = &state.row;
            // log sum exp, with the score 0 of the first class where it has none.
            let zero = if self.scores == 1 { 0.0 } else { f64::NEG_INFINITY };
            let top = s.iter().fold(zero, |a, b| a.max(*b));
            let sum: f64 = s.iter().map(|s| (s - top).exp()).sum::<f64>() + (zero - top).exp();
            value += self.c * self.sample.weight[r] * (top + sum.ln() - dot(self.targets(r), s));
        }
        value
    }

    /// Probabilities and gradient at `w`; returns the size of the gradient.
    pub fn gradient(&self, w: &[f64], state: &mut Iterate) -> f64 {
        for (at, g) in state.gradient.iter_mut().enumerate() {
            *g = self.ridge(at) * w[at];
        }
        for r in 0..self.sample.rows() {
            let p = &mut state.p[r * self.scores..(r + 1) * self.scores];
            self.scores(w, r, p);
            to_probabilities(p);
            let weight = self.c * self.sample.weight[r];
            for (k, row) in state.row.iter_mut().enumerate() {
                *row = weight * (p[k] - self.targets(r)[k]);
            }
            self.add_row(r, &state.row, &mut state.gradient);
        }
        norm2(&state.gradient)
    }

    /// `product <- Hessian direction`.
    fn curve(&self, state: &mut Iterate) {
        let Iterate { direction, product, row, p, .. } = state;
        for (at, out) in product.iter_mut().enumerate() {
            *out = self.ridge(at) * direction[at];
        }
        for r in 0..self.sample.rows() {
            self.scores(direction, r, row);
            if !self.intercept {
                debug_assert!(direction.chunks_exact(self.width).all(|d| d[self.width - 1] == 0.0));
            }
            let p = &p[r * self.scores..(r + 1) * self.scores];
            let (weight, mean) = (self.c * self.sample.weight[r], dot(p, row));
            for (row, p) in row.iter_mut().zip(p) {
                *row = weight * p * (*row - mean);
            }
            self.add_row(r, row, product);
        }
    }

    /// `step <- -Hessian^-1 gradient`, by conjugate gradients, the more exact the closer the end.
    pub fn newton_step(&self, relative: f64, state: &mut Iterate) {
        let target = norm2(&state.gradient) * relative.sqrt().min(0.1);
        state.step.fill(0.0);
        state.residual.iter_mut().zip(&state.gradient).for_each(|(r, g)| *r = -g);
        state.direction.copy_from_slice(&state.residual);
        let mut size = dot(&state.residual, &state.residual);
        for _ in 0..2 * state.step.len() + 10 {
            if size.sqrt() <= target {
                break;
            }
            self.curve(state);
            let along = size / dot(&state.direction, &state.product);
            axpy(along, &state.direction, &mut state.step);
            axpy(-along, &state.product, &mut state.residual);
            let next = dot(&state.residual, &state.residual);
            let keep = next / size;
            state.direction.iter_mut().zip(&state.residual).for_each(|(d, r)| *d = r + keep * *d);
            size = next;
        }
    }

    /// Moves `w` along the step, halved until the objective falls; none if it does not, which is rounding.
    pub fn descend(&self, w: &mut Vec<f64>, value: f64, state: &mut Iterate) -> Option<f64> {
        let slope = dot(&state.gradient, &state.step);
        let mut length = 1.0;
        for _ in 0..40 {
            let mut trial = std::mem::take(&mut state.trial);
            trial.copy_from_slice(w);
            axpy(length, &state.step, &mut trial);
            let found = self.value(&trial, state);
            state.trial = trial;
            if found <= value + 1e-4 * length * slope {
                std::mem::swap(w, &mut state.trial);
                return Some(found);
            }
            length *= 0.5;
        }
        None
    }
}
