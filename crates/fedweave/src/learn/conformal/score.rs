//! How far a label is from its prediction, and which labels are no farther than a threshold.

use serde::{Deserialize, Serialize};

use super::{Tails, Threshold};
use crate::loss::{Family, Prediction};

/// Probabilities below this count as this.
const SMALLEST: f64 = 1e-12;
/// Of `sqrt(y + 3/8)`, whose deviation is close to 1/2 for a count of any mean.
const ANSCOMBE: f64 = 0.375;

/// What a score is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// `(y - prediction) / scale`.
    Difference,
    /// The same for predictions that are quantiles: ends on both sides are found apart.
    Quantile,
    /// `2 (sqrt(y + 3/8) - sqrt(prediction + 3/8)) / scale`, for counts: as variable where few are expected as where many are.
    Count,
    /// `- log(probability of the class)`; of a margin, as if it were the logarithm of odds.
    Class,
}

impl Score {
    /// The score that suits a loss; `None` for the one that predicts no rows.
    pub fn of_loss(family: Family) -> Option<Score> {
        match family {
            Family::Squared | Family::Absolute | Family::Huber { .. } => Some(Score::Difference),
            Family::Quantile { .. } => Some(Score::Quantile),
            Family::Poisson => Some(Score::Count),
            Family::Logistic | Family::Multinomial { .. } | Family::SquaredHinge => Some(Score::Class),
            Family::Point => None,
        }
    }

    /// How the ends of an interval are found.
    pub fn tails(self) -> Tails {
        if self == Score::Quantile { Tails::Apart } else { Tails::Together }
    }

    /// The score of a label (of classes their number, from 0); `scale` is the deviation that the model expects, 1 if it has no
    /// opinion.
    pub fn of(self, prediction: &Prediction, label: f64, scale: f64) -> f64 {
        match (self, prediction) {
            (Score::Count, Prediction::Number(mean)) => 2.0 * (root(label) - root(*mean)) / scale,
            (_, Prediction::Number(value)) => (label - value) / scale,
            (_, classes) => class_score(classes, label as usize),
        }
    }

    /// The labels that are not farther than the threshold: an interval.
    pub fn interval(self, prediction: f64, scale: f64, threshold: Threshold) -> (f64, f64) {
        let (below, above) = (threshold.below * scale, threshold.above * scale);
        match self {
            Score::Count => (squared(root(prediction) - 0.5 * below), squared(root(prediction) + 0.5 * above)),
            _ => (prediction - below, prediction + above),
        }
    }

    /// The same for classes; the predicted one is always among them.
    pub fn set(self, prediction: &Prediction, classes: usize, threshold: Threshold) -> Vec<usize> {
        let inside =
            |class: &usize| prediction.class() == Some(*class) || class_score(prediction, *class) <= threshold.above;
        (0..classes).filter(inside).collect()
    }
}

fn class_score(prediction: &Prediction, class: usize) -> f64 {
    match prediction {
        Prediction::Class { probabilities, .. } => -probabilities.get(class).copied().unwrap_or(0.0).max(SMALLEST).ln(),
        Prediction::Margin { score, .. } => {
            let signed = if class == 1 { -score } else { *score };
            (signed.max(0.0) + (-signed.abs()).exp().ln_1p()).min(-SMALLEST.ln())
        }
        Prediction::Number(value) => (value - class as f64).abs(),
    }
}

fn root(count: f64) -> f64 {
    (count.max(0.0) + ANSCOMBE).sqrt()
}

fn squared(root: f64) -> f64 {
    (root.max(0.0) * root.max(0.0) - ANSCOMBE).max(0.0)
}
