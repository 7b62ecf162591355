//! Kernel ridge regression with Gaussian kernel `k(x, z) = exp(-gamma |x - z|^2)`: minimises
//! `sum_r c_r |y_r - f(x_r)|^2 + alpha |f|^2` over the functions of the kernel, `f(x) = sum_r a_r k(x_r, x)`, where
//! `(C^(1/2) K C^(1/2) + alpha) C^(-1/2) a = C^(1/2) y`. There is no intercept. For classes the targets are probabilities
//! less the classes' shares, so that far from all rows the shares are predicted; the nearest point of the simplex is taken.

use faer::prelude::Solve;
use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::linear::{mean, project_onto_simplex};
use super::options::{ModelOptions, positive};
use super::sample::Sample;
use super::{FitError, Task};
use crate::matrix::{Rows, axpy};

/// Options of `kernel-ridge`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KernelRidgeOptions {
    /// Weight of `|f|^2` against the weighted sum of squared errors.
    pub alpha: f64,
    /// Width of the kernel; one over the number of features if not given.
    pub gamma: Option<f64>,
}

impl Default for KernelRidgeOptions {
    fn default() -> Self {
        KernelRidgeOptions { alpha: 1.0, gamma: None }
    }
}

impl ModelOptions for KernelRidgeOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let gamma = self.gamma.map_or_else(|| "auto".into(), |g| g.to_string());
        vec![("alpha", self.alpha.to_string()), ("gamma", gamma)]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match (name, value) {
            ("alpha", _) => self.alpha = positive(value)?,
            (_, "auto") => self.gamma = None,
            _ => self.gamma = Some(positive(value).map_err(|_| "a positive number, or auto")?),
        }
        Ok(())
    }
}

/// A fitted sum of kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRidgeFit {
    /// What is predicted.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// Width of the kernel.
    pub gamma: f64,
    /// Centres, row after row.
    pub x: Vec<f64>,
    /// Coefficients, a row per centre.
    pub coefficients: Vec<f64>,
    /// What is predicted far from all centres.
    pub base: Vec<f64>,
}

pub(super) fn fit(options: &KernelRidgeOptions, sample: &Sample) -> Result<KernelRidgeFit, FitError> {
    let (m, k) = (sample.rows(), sample.outputs());
    let gamma = options.gamma.unwrap_or(1.0 / sample.features() as f64);
    let root: Vec<f64> = sample.weight.iter().map(|w| w.sqrt()).collect();
    faer::set_global_parallelism(faer::Par::Seq);
    // Only the lower triangle is read.
    let system = faer::Mat::from_fn(m, m, |r, s| match r.cmp(&s) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => root[r] * root[r] + options.alpha,
        std::cmp::Ordering::Greater => root[r] * root[s] * kernel(gamma, sample.x.row(r), sample.x.row(s)),
    });
    let diverged = FitError::Diverged { model: "kernel-ridge", hint: "increase alpha" };
    let factor = system.llt(faer::Side::Lower).map_err(|_| diverged.clone())?;
    let base = if sample.task == Task::Regression { vec![0.0; k] } else { mean(sample.y, sample.weight) };
    let solution = factor.solve(faer::Mat::from_fn(m, k, |r, c| root[r] * (sample.y.row(r)[c] - base[c])));
    let coefficients: Vec<f64> = (0..m * k).map(|at| root[at / k] * solution[(at / k, at % k)]).collect();
    if coefficients.iter().any(|a| !a.is_finite()) {
        return Err(diverged);
    }
    let x = sample.x.as_slice().to_vec();
    Ok(KernelRidgeFit { task: sample.task, features: sample.features(), gamma, x, coefficients, base })
}

fn kernel(gamma: f64, a: &[f64], b: &[f64]) -> f64 {
    (-gamma * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
}

impl State for KernelRidgeFit {
    fn name(&self) -> &'static str {
        "kernel-ridge"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let outputs = self.task.outputs();
        for (r, out) in out.chunks_exact_mut(outputs).enumerate() {
            out.copy_from_slice(&self.base);
            for (centre, a) in self.x.chunks_exact(self.features).zip(self.coefficients.chunks_exact(outputs)) {
                axpy(kernel(self.gamma, centre, x.row(r)), a, out);
            }
            if self.task != Task::Regression {
                project_onto_simplex(out);
            }
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let (outputs, features) = (self.task.outputs(), self.features);
        let rows = self.coefficients.len().checked_div(outputs).unwrap_or(0);
        let wanted = [rows.checked_mul(features), rows.checked_mul(outputs), Some(outputs)];
        let sizes = [self.x.len(), self.coefficients.len(), self.base.len()].map(Some);
        if rows == 0 || features == 0 || sizes != wanted {
            return Err("its numbers of centres and coefficients do not agree");
        }
        let finite = self.x.iter().chain(&self.coefficients).chain(&self.base).all(|v| v.is_finite());
        if finite && self.gamma > 0.0 && self.gamma.is_finite() { Ok(()) } else { Err("a number is not finite") }
    }
}
