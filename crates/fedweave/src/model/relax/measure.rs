//! How far predictions are from labels, or from other predictions.

use super::Predictions;

/// Probabilities below this count as this: a logarithm of zero helps nobody.
const SMALLEST: f64 = 1e-12;

/// `delta(h(x), y)`. It measures; what a fit minimises is up to the model class: squared errors for least squares, trees,
/// forests, neighbours and kernels, cross-entropy for logistic regression, boosting and perceptrons of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discrepancy {
    /// `|h(x) - y|^2`, over all outputs.
    Squared,
    /// `- sum_k y_k log h_k(x)`, for probabilities.
    CrossEntropy,
    /// 1 where the most probable class is another one; for probabilities.
    Misclassified,
}

impl Discrepancy {
    /// Of one row.
    pub fn of(self, predicted: &[f64], says: &[f64]) -> f64 {
        let pairs = predicted.iter().zip(says);
        match self {
            Discrepancy::Squared => pairs.map(|(p, y)| (p - y) * (p - y)).sum(),
            Discrepancy::CrossEntropy => pairs.map(|(p, y)| -y * p.max(SMALLEST).ln()).sum(),
            Discrepancy::Misclassified => f64::from(u8::from(most(predicted) != most(says))),
        }
    }

    /// Mean over public rows.
    pub fn mean(self, mine: &Predictions, theirs: &Predictions) -> f64 {
        let (mine, theirs) = (mine.y(), theirs.y());
        let sum: f64 = (0..mine.rows()).map(|r| self.of(mine.row(r), theirs.row(r))).sum();
        sum / mine.rows().max(1) as f64
    }
}

/// The first of the largest entries.
fn most(p: &[f64]) -> usize {
    (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best })
}
