//! Least squares with a ridge: minimise `sum_r c_r |y_r - W x_r - b|^2 + alpha |W|^2`, the intercept `b` free.
//!
//! Without a ridge the solution of least norm is taken. For classes the targets are probabilities, and what is predicted is
//! the nearest point of the simplex.

use serde::{Deserialize, Serialize};

use super::FitError;
use super::Task;
use super::fitted::State;
use super::options::{ModelOptions, not_negative, switch};
use super::sample::Sample;
use crate::features::Block;
use crate::linalg::normal::{Normal, factor_len};
use crate::matrix::{Rows, axpy, dot};

/// Options of `linear` and `ridge`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinearOptions {
    /// Weight of `|W|^2` against the weighted sum of squared errors.
    pub alpha: f64,
    /// Fits an intercept, which `alpha` spares.
    pub intercept: bool,
}

impl Default for LinearOptions {
    fn default() -> Self {
        LinearOptions { alpha: 1.0, intercept: true }
    }
}

impl ModelOptions for LinearOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        vec![("alpha", self.alpha.to_string()), ("intercept", self.intercept.to_string())]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "alpha" => self.alpha = not_negative(value)?,
            _ => self.intercept = switch(value)?,
        }
        Ok(())
    }
}

/// A fitted linear map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearFit {
    /// What is predicted.
    pub task: Task,
    /// One intercept per output.
    pub intercept: Vec<f64>,
    /// A row of coefficients per output, row after row.
    pub coefficients: Vec<f64>,
}

pub(super) fn fit(options: &LinearOptions, sample: &Sample) -> Result<LinearFit, FitError> {
    let (d, k) = (sample.features(), sample.outputs());
    let (x_mean, y_mean) = match options.intercept {
        true => (mean(sample.x, sample.weight), mean(sample.y, sample.weight)),
        false => (vec![0.0; d], vec![0.0; k]),
    };
    let centred = Centred::new(sample, &x_mean, &y_mean);
    let coefficients = if options.alpha > 0.0 { centred.ridge(options.alpha) } else { centred.least_norm() };
    let intercept: Vec<f64> =
        y_mean.iter().zip(coefficients.chunks_exact(d)).map(|(y, w)| y - dot(w, &x_mean)).collect();
    if coefficients.iter().chain(&intercept).any(|v| !v.is_finite()) {
        let hint = "rescale the features and targets";
        return Err(FitError::Diverged { model: if options.alpha > 0.0 { "ridge" } else { "linear" }, hint });
    }
    Ok(LinearFit { task: sample.task, intercept, coefficients })
}

/// Weighted mean of rows.
pub(super) fn mean(rows: Rows, weight: &[f64]) -> Vec<f64> {
    let total: f64 = weight.iter().sum();
    let mut mean = vec![0.0; rows.cols()];
    for (r, w) in weight.iter().enumerate() {
        axpy(w / total, rows.row(r), &mut mean);
    }
    mean
}

/// Features and targets less their means.
struct Centred<'a> {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: &'a [f64],
    features: usize,
    outputs: usize,
}

impl<'a> Centred<'a> {
    fn new(sample: &Sample<'a>, x_mean: &[f64], y_mean: &[f64]) -> Self {
        let less = |rows: Rows, mean: &[f64]| -> Vec<f64> {
            rows.as_slice().chunks_exact(rows.cols()).flat_map(|r| r.iter().zip(mean).map(|(v, m)| v - m)).collect()
        };
        Centred {
            x: less(sample.x, x_mean),
            y: less(sample.y, y_mean),
            weight: sample.weight,
            features: sample.features(),
            outputs: sample.outputs(),
        }
    }

    fn x(&self, r: usize) -> &[f64] {
        &self.x[r * self.features..(r + 1) * self.features]
    }

    /// `(X' C X + alpha)^-1 X' C y`, through the smaller of the two Gram matrices.
    fn ridge(&self, alpha: f64) -> Vec<f64> {
        let (m, d) = (self.weight.len(), self.features);
        let normal = Normal { x: Block::Dense { cols: d, x: &self.x }, ridge: &vec![0.0; d], shift: alpha };
        let (mut factor, mut work) = (vec![0.0; factor_len(m, d)], vec![0.0; m]);
        normal.factor_rows(self.weight, &mut factor);
        let mut coefficients = vec![0.0; d * self.outputs];
        for (k, w) in coefficients.chunks_exact_mut(d).enumerate() {
            for r in 0..m {
                axpy(self.weight[r] * self.y[r * self.outputs + k], self.x(r), w);
            }
            normal.solve(&factor, w, &mut work);
        }
        coefficients
    }

    /// The solution of least norm, by singular values; those below rounding count as zero.
    fn least_norm(&self) -> Vec<f64> {
        let (m, d) = (self.weight.len(), self.features);
        faer::set_global_parallelism(faer::Par::Seq);
        let scaled = faer::Mat::from_fn(m, d, |r, j| self.weight[r].sqrt() * self.x[r * d + j]);
        let mut coefficients = vec![f64::NAN; d * self.outputs];
        let Ok(svd) = scaled.thin_svd() else { return coefficients };
        coefficients.fill(0.0);
        let (u, s, v) = (svd.U(), svd.S().column_vector(), svd.V());
        let cutoff = s.iter().fold(0.0, |a: f64, b| a.max(*b)) * f64::EPSILON * m.max(d) as f64;
        for i in (0..m.min(d)).filter(|&i| s[i] > cutoff) {
            for (k, w) in coefficients.chunks_exact_mut(d).enumerate() {
                let y = |r: usize| self.weight[r].sqrt() * self.y[r * self.outputs + k];
                let along = (0..m).map(|r| u[(r, i)] * y(r)).sum::<f64>() / s[i];
                (0..d).for_each(|j| w[j] += along * v[(j, i)]);
            }
        }
        coefficients
    }
}

impl State for LinearFit {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn features(&self) -> usize {
        self.coefficients.len() / self.intercept.len().max(1)
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let d = x.cols();
        for (r, out) in out.chunks_exact_mut(self.intercept.len()).enumerate() {
            for (k, w) in self.coefficients.chunks_exact(d).enumerate() {
                out[k] = self.intercept[k] + dot(w, x.row(r));
            }
            if matches!(self.task, Task::Classification { .. }) {
                project_onto_simplex(out);
            }
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let outputs = self.task.outputs();
        if outputs == 0 || self.intercept.len() != outputs || !self.coefficients.len().is_multiple_of(outputs) {
            return Err("its numbers of coefficients do not agree");
        }
        match self.intercept.iter().chain(&self.coefficients).all(|v| v.is_finite()) && !self.coefficients.is_empty() {
            true => Ok(()),
            false => Err("coefficients are missing"),
        }
    }
}

/// The nearest probabilities: `max(0, p_k - t)` with `t` such that they sum to one. No allocation: `t` is found by Newton's
/// method on a convex piecewise linear function, at most one step per entry.
pub(super) fn project_onto_simplex(p: &mut [f64]) {
    let mut t = (p.iter().sum::<f64>() - 1.0) / p.len() as f64;
    for _ in 0..p.len() {
        let (count, sum) = p.iter().filter(|v| **v > t).fold((0.0, 0.0), |(n, s), v| (n + 1.0, s + v));
        let next = (sum - 1.0) / count;
        if next <= t {
            break;
        }
        t = next;
    }
    p.iter_mut().for_each(|v| *v = (*v - t).max(0.0));
}
