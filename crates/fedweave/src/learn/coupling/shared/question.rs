//! What parts are asked, and how long the answers are.

use std::sync::Arc;

use super::super::network::Precision;
use super::super::system::Root;
use crate::matrix::axpy;
use crate::scaling::Scaling;

/// A question to all parts. Its answer is a list of numbers that are added up over the parts; the first says how many parts
/// have one.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(super) dim: usize,
    pub(super) ask: Ask,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ask {
    /// Nodes, nodes with rows, rows that count, all rows, edges, the sum of degrees; sums of the features.
    Counts,
    /// Squares of the features about these means.
    Spread { mean: Vec<f64> },
    /// `sum X'X`, `sum X'y`, `sum y'y` in scaled features.
    Sums { scaling: Scaling },
    /// Squares of what this model leaves over.
    LeftOver { scaling: Scaling, pooled: Vec<f64> },
    /// `log |I + kappa L|` and the trace of the inverse.
    Level { common: Arc<Common>, kappa: f64 },
    /// `log |K|`, `c' Lambda K^-1 Lambda' c`, `S mu`, `S`.
    Profile { common: Arc<Common>, point: Point },
    /// Derivatives by `Lambda` and `log kappa`, and the step of expectation-maximisation.
    Slopes { common: Arc<Common>, point: Point, best: Best },
}

/// What all parts know once rows are counted and scaled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Common {
    pub scaling: Scaling,
    pub nodes: f64,
    pub nodes_with_rows: f64,
    pub rows: f64,
    pub rank: f64,
    /// Mean degree.
    pub degree: f64,
    /// True if some part has edges inside.
    pub coupled: bool,
    /// The model of all rows, in scaled features.
    pub pooled: Vec<f64>,
    /// Unit of the target.
    pub unit: f64,
    /// Squares of the target in these units, less the pooled model.
    pub squares: f64,
}

/// A covariance and a strength of the graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub root: Root,
    pub precision: Precision,
}

/// The best common mean and noise at a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Best {
    pub mu: Vec<f64>,
    pub s2: f64,
    /// `S^-1`.
    pub mean_covariance: Vec<f64>,
    /// The common mean is integrated out.
    pub restricted: bool,
}

impl Question {
    /// Numbers of an answer.
    pub fn numbers(&self) -> usize {
        let d = self.dim;
        1 + match &self.ask {
            Ask::Counts => 6 + d,
            Ask::Spread { .. } => d,
            Ask::Sums { .. } => d * d + d + 1,
            Ask::LeftOver { .. } => 1,
            Ask::Level { .. } => 2,
            Ask::Profile { .. } => 2 + d + d * d,
            Ask::Slopes { point, .. } => d * point.root.p + 1 + point.root.p * point.root.p,
        }
    }

    /// The most numbers that an answer about models of so many parameters has.
    pub fn numbers_max(dim: usize) -> usize {
        (2 * dim * dim + 2).max(7 + dim).max(dim * dim + dim + 3)
    }
}

/// The sum of the answers, in their order.
pub fn total<'a>(answers: impl Iterator<Item = &'a [f64]>, question: &Question) -> Vec<f64> {
    let mut total = vec![0.0; question.numbers()];
    answers.for_each(|answer| axpy(1.0, answer, &mut total));
    total
}
