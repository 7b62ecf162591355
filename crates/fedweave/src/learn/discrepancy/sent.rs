//! What a node gives away so that others can compare themselves with it.

use super::{Measure, points};

/// What leaves a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Bytes a node sends on average, 8 for a number.
    pub bytes: usize,
    /// To whom, in which order.
    pub how: &'static str,
    /// What a reader learns.
    pub reveals: &'static str,
}

impl Measure {
    /// What a node with `rows` rows of `dim` parameters sends.
    pub fn sent(self, dim: usize, rows: usize) -> Sent {
        let pooled =
            "first the pooled model is found, by FedAvg or summed normal equations; then one message to the others";
        let once = "one message to the others";
        let (numbers, how, reveals) = match self {
            Measure::Gradient => (dim, pooled, "the mean residual and how it goes with each feature"),
            Measure::Parameters => (dim, once, "its own model"),
            Measure::Moments => (2 * (dim + 1), once, "mean and spread of every column, also of the target"),
            Measure::Histogram => {
                (points::BINS, "common bins, then one message to the others", "how its labels are distributed")
            }
            Measure::Wasserstein => (
                points::DIRECTIONS * points::LEVELS,
                "a common seed, then one message to the others",
                "nearly the distribution of its rows; of few rows the rows themselves",
            ),
            Measure::Components => ((dim + 1) * (dim + 4) / 2, once, "means and covariances of all columns"),
            Measure::Wald | Measure::PooledFit => {
                (dim + dim * (dim + 1) / 2, pooled, "its normal equations: its own model and how sure it is")
            }
            Measure::Kl => (rows * dim, "rows travel to whoever compares", "its rows: only where they are no secret"),
        };
        Sent { bytes: 8 * numbers, how, reveals }
    }
}
