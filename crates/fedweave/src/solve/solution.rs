//! The answer of a solver: models and flows, what is known about their quality, and why the loop ended.

use super::Status;
use crate::certificate::Kkt;
use crate::graph::partition::Partition;
use crate::matrix::Matrix;

/// One line of the history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Iterations done.
    pub iteration: usize,
    /// `F(w)`.
    pub objective: f64,
    /// Rigorous bound on `F(w) - min F`, where one was computed.
    pub certified_gap: Option<f64>,
    /// Residuals of the optimality conditions.
    pub kkt: Kkt,
    /// Ratio of primal to dual steps.
    pub step_ratio: f64,
}

/// The answer, with what is known about its quality.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Parameters, a row per node.
    pub w: Matrix,
    /// Flows, a row per edge.
    pub u: Matrix,
    /// Why the loop ended.
    pub status: Status,
    /// `F(w)`.
    pub objective: f64,
    /// Rigorous bound on `F(w) - min F`, or none.
    pub certified_gap: Option<f64>,
    /// Residuals of the optimality conditions.
    pub kkt: Kkt,
    /// Iterations done.
    pub iterations: usize,
    /// The method that found it, and why it was chosen.
    pub choice: Choice,
    /// Ratio of primal to dual steps at the end, a good start for a similar problem.
    pub step_ratio: f64,
    /// What was seen at every check.
    pub history: Vec<Record>,
}

/// A point to start from.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Parameters, a row per node.
    pub w: Matrix,
    /// Flows, a row per edge.
    pub u: Matrix,
    /// Ratio of primal to dual steps.
    pub step_ratio: f64,
    /// Clusters that are likely to be the right ones: they are tried before anything is iterated.
    pub clusters: Option<Partition>,
}

impl Start {
    /// True if it brings flows: those of a similar problem.
    pub(super) fn is_warm(&self) -> bool {
        self.u.as_slice().iter().any(|u| *u != 0.0)
    }
}

impl From<&Solution> for Start {
    fn from(s: &Solution) -> Self {
        Start { w: s.w.clone(), u: s.u.clone(), step_ratio: s.step_ratio, clusters: None }
    }
}

/// A method and the reason for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// In a word or two.
    pub method: String,
    /// In a sentence.
    pub reason: String,
}

impl Choice {
    pub(super) fn new(method: &str, reason: String) -> Self {
        Choice { method: method.into(), reason }
    }

    /// Another method took over.
    pub(super) fn then(mut self, method: &str, reason: &str) -> Self {
        self.method = format!("{}, then {method}", self.method);
        self.reason = format!("{}; {reason}", self.reason);
        self
    }
}
