//! What the trunk minimises, row by row, and what a leaf makes of the sums over its rows.

use serde::{Deserialize, Serialize};

use super::histogram::Sums;
use crate::error::{Error, Result};
use crate::loss::{Family, Logistic, Pointwise, Poisson, Squared};

/// The losses that a trunk can be grown for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrunkLoss {
    /// `(y - s)^2`.
    Squared,
    /// `log(1 + exp(-y s))`, labels -1 and +1.
    Logistic,
    /// `exp(s) - y s`, counts.
    Poisson,
}

/// A step of a leaf is at most this long where curvatures can vanish or explode. Measured nowhere to matter but in rounds
/// that would diverge without it.
const STEP_MAX: f64 = 4.0;

impl TrunkLoss {
    /// The loss of the same name, if trunks know it.
    pub fn of(family: Family) -> Option<Self> {
        match family {
            Family::Squared => Some(TrunkLoss::Squared),
            Family::Logistic => Some(TrunkLoss::Logistic),
            Family::Poisson => Some(TrunkLoss::Poisson),
            _ => None,
        }
    }

    /// `l(s, y)`.
    pub fn value(self, score: f64, label: f64) -> f64 {
        match self {
            TrunkLoss::Squared => Squared.value(score, label),
            TrunkLoss::Logistic => Logistic.value(score, label),
            TrunkLoss::Poisson => Poisson.value(score, label),
        }
    }

    /// Slope and curvature in the score. Those of the squared error are halved: a row of weight 1 has curvature 1, and
    /// strengths of smoothing count in rows.
    pub fn slope_and_curvature(self, score: f64, label: f64) -> (f64, f64) {
        match self {
            TrunkLoss::Squared => (score - label, 1.0),
            TrunkLoss::Logistic => (Logistic.slope(score, label), Logistic.curvature(score, label)),
            TrunkLoss::Poisson => (Poisson.slope(score, label), Poisson.curvature(score, label)),
        }
    }

    /// Refuses labels that the loss does not take.
    pub(super) fn check(self, labels: &[f64]) -> Result<()> {
        match self {
            TrunkLoss::Squared => check_labels(Squared, labels),
            TrunkLoss::Logistic => check_labels(Logistic, labels),
            // Rates, too: counts over what was expected.
            TrunkLoss::Poisson => match labels.iter().position(|y| *y < 0.0) {
                Some(row) => {
                    let (label, loss) = (labels[row], Poisson::NAME);
                    Err(Error::Label { row, label, loss, needs: "counts or rates, zero or positive" })
                }
                None => Ok(()),
            },
        }
    }

    /// The constant score that fits labels of this mean best, kept finite: the mean is at least half a row away from where
    /// the score would be infinite.
    pub(super) fn start(self, mean: f64, weight: f64) -> f64 {
        let margin = 0.5 / (weight + 1.0);
        match self {
            TrunkLoss::Squared => mean,
            TrunkLoss::Logistic => {
                let share = ((mean + 1.0) / 2.0).clamp(margin, 1.0 - margin);
                (share / (1.0 - share)).ln()
            }
            TrunkLoss::Poisson => mean.max(margin).ln(),
        }
    }

    /// The step that a leaf with these sums takes, before the learning rate.
    ///
    /// Newton's, `-G / (H + l2)`. Counts have `H = sum of means` and `H - G = sum of counts`, so that the best step is known
    /// exactly: `log((H - G + l2) / (H + l2))`, the posterior mode under a gamma prior worth `l2` expected counts.
    pub fn step(self, sums: Sums, l2: f64) -> f64 {
        let Sums { gradient, hessian, .. } = sums;
        match self {
            TrunkLoss::Squared => -gradient / (hessian + l2),
            TrunkLoss::Logistic => (-gradient / (hessian + l2)).clamp(-STEP_MAX, STEP_MAX),
            TrunkLoss::Poisson => ((hessian - gradient + l2) / (hessian + l2)).ln().clamp(-STEP_MAX, STEP_MAX),
        }
    }
}

fn check_labels<P: Pointwise>(loss: P, labels: &[f64]) -> Result<()> {
    match labels.iter().position(|y| !loss.accepts(*y)) {
        Some(row) => Err(Error::Label { row, label: labels[row], loss: P::NAME, needs: P::LABELS }),
        None => Ok(()),
    }
}
