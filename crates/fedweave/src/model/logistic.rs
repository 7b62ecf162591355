//! Logistic regression: minimises `C sum_r c_r loss(y_r, p(x_r)) + |W|^2 / 2`, with the cross-entropy of the targets and
//! probabilities that are softmax of linear scores; for two classes there is one score, that of the second. Intercepts
//! are free, up to a trace of a ridge that keeps them finite where a class has no rows.
//!
//! Newton's method; steps by conjugate gradients on products with the Hessian, which is never formed.

mod problem;

use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::options::{ModelOptions, positive, switch};
use super::sample::Sample;
use super::{FitError, Task};
use crate::matrix::{Rows, dot};
use problem::LogisticProblem;

/// Options of `logistic`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogisticOptions {
    /// Weight of the losses against the ridge.
    pub c: f64,
    /// Fits intercepts.
    pub intercept: bool,
    /// The gradient at the end is smaller than this share of the one at zero.
    pub tolerance: f64,
}

impl Default for LogisticOptions {
    fn default() -> Self {
        LogisticOptions { c: 1.0, intercept: true, tolerance: 1e-8 }
    }
}

impl ModelOptions for LogisticOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let (c, intercept) = (self.c.to_string(), self.intercept.to_string());
        vec![("c", c), ("intercept", intercept), ("tolerance", self.tolerance.to_string())]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "c" => self.c = positive(value)?,
            "intercept" => self.intercept = switch(value)?,
            _ => self.tolerance = positive(value)?,
        }
        Ok(())
    }
}

/// Fitted scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticFit {
    /// Number of classes.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// Coefficients and then the intercept, a row per score.
    pub scores: Vec<f64>,
}

/// Newton steps; quadratic convergence needs about ten.
const STEPS_MAX: usize = 100;

pub(super) fn fit(options: &LogisticOptions, sample: &Sample) -> Result<LogisticFit, FitError> {
    let problem = LogisticProblem::new(options, sample);
    let mut w = vec![0.0; problem.scores * problem.width];
    let mut state = problem.state();
    let mut value = problem.value(&w, &mut state);
    let start = problem.gradient(&w, &mut state);
    for _ in 0..STEPS_MAX {
        let size = problem.gradient(&w, &mut state);
        if size <= options.tolerance * start {
            break;
        }
        problem.newton_step(size / start, &mut state);
        match problem.descend(&mut w, value, &mut state) {
            Some(smaller) => value = smaller,
            None => break,
        }
    }
    if w.iter().any(|v| !v.is_finite()) {
        return Err(FitError::Diverged { model: "logistic", hint: "rescale the features" });
    }
    Ok(LogisticFit { task: sample.task, features: sample.features(), scores: w })
}

/// Two classes need one score.
fn scores_of(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// Scores become probabilities of the scored classes.
pub(super) fn to_probabilities(scores: &mut [f64]) {
    match scores {
        [score] => *score = 1.0 / (1.0 + (-*score).exp()),
        _ => softmax(scores),
    }
}

/// Scores become `exp(s_k) / sum_j exp(s_j)`.
pub(super) fn softmax(scores: &mut [f64]) {
    let top = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    scores.iter_mut().for_each(|s| *s = (*s - top).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= sum);
}

/// Writes the probabilities of all classes from scores, which are overwritten.
pub(super) fn write_probabilities(scores: &mut [f64], out: &mut [f64]) {
    to_probabilities(scores);
    match scores {
        [second] => (out[0], out[1]) = (1.0 - *second, *second),
        _ => out.copy_from_slice(scores),
    }
}

impl State for LogisticFit {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let d = self.features;
        let mut scores = vec![0.0; self.scores.len() / (d + 1)];
        for (r, out) in out.chunks_exact_mut(self.task.outputs()).enumerate() {
            for (score, w) in scores.iter_mut().zip(self.scores.chunks_exact(d + 1)) {
                *score = dot(&w[..d], x.row(r)) + w[d];
            }
            write_probabilities(&mut scores, out);
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let Task::Classification { classes } = self.task else { return Err("it is not a classifier") };
        let wanted = self.features.checked_add(1).and_then(|width| width.checked_mul(scores_of(classes)));
        if self.features == 0 || wanted != Some(self.scores.len()) {
            return Err("its numbers of classes and coefficients do not agree");
        }
        if self.scores.iter().all(|v| v.is_finite()) { Ok(()) } else { Err("a number is not finite") }
    }
}
