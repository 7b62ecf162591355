//! Weights of an average of predictions, from rows that none of the predictors had seen.
//!
//! The weights minimise the loss of the average, are not negative and sum to one. Few rows do not tell such weights from
//! chance; equal weights then are hard to beat. So weights found on some folds are tried on the others: with a gain `g` over
//! equal weights and its standard error `e`, the weights go the share `1 - (e / g)^2` of the way from equal to best, and stay
//! equal where there is no gain. Gains count as they are, or relative to the loss of their node or time, whichever is clearer:
//! a few outliers hide the first, a few easy nodes the second.

use super::rows::row_derivatives;
use crate::learn::mixture::{Curve, Mixture, believed};
use crate::loss::Family;

/// Predictions of rows by several candidates.
pub struct Stack {
    /// The loss.
    pub family: Family,
    /// Rows, in any order.
    pub rows: Vec<Row>,
    /// Scores `x'w`, one vector over the rows for each candidate.
    pub scores: Vec<Vec<f64>>,
}

/// A row that was held out.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Label.
    pub y: f64,
    /// Weight in the error that counts.
    pub weight: f64,
    /// The fold that held it out.
    pub fold: usize,
    /// Rows of one unit (a node, a time) have errors in common.
    pub unit: usize,
}

impl Stack {
    /// The weights, and how far they are on the way from equal (0) to best (1).
    pub fn weights(&self) -> (Vec<f64>, f64) {
        let equal = vec![1.0 / self.scores.len() as f64; self.scores.len()];
        if self.scores.len() < 2 {
            return (equal, 0.0);
        }
        let trust = self.trust(&equal);
        if trust == 0.0 {
            return (equal, 0.0);
        }
        let best = self.best(|_| true);
        (equal.iter().zip(&best).map(|(e, b)| (1.0 - trust) * e + trust * b).collect(), trust)
    }

    /// Mean loss of the candidate `k`.
    pub fn error(&self, k: usize) -> f64 {
        let total: f64 = self.rows.iter().map(|r| r.weight).sum();
        let losses = self.rows.iter().zip(&self.scores[k]).enumerate();
        losses.map(|(r, (row, score))| row.weight * self.curve(r, *score)[0]).sum::<f64>() / total
    }

    fn trust(&self, equal: &[f64]) -> f64 {
        let folds = self.rows.iter().map(|r| r.fold).max().map_or(0, |f| f + 1);
        let units = self.rows.iter().map(|r| r.unit).max().map_or(0, |u| u + 1);
        if folds < 2 {
            return 0.0;
        }
        // Losses of a unit with equal weights, and with those found on the other folds.
        let mut losses = vec![None; units];
        for fold in 0..folds {
            let found = self.best(|r| r.fold != fold);
            for (k, row) in self.rows.iter().enumerate().filter(|(_, row)| row.fold == fold) {
                let (before, after) = losses[row.unit].get_or_insert((0.0, 0.0));
                let least = least_loss(self.family, row.y);
                *before += row.weight * (self.row_loss(k, equal) - least);
                *after += row.weight * (self.row_loss(k, &found) - least);
            }
        }
        let seen: Vec<(f64, f64)> = losses.into_iter().flatten().collect();
        let relative = |(a, b): &(f64, f64)| if a + b > 0.0 { (a - b) / (a + b) } else { 0.0 };
        believed(seen.iter().map(|(a, b)| a - b)).max(believed(seen.iter().map(relative)))
    }

    fn score(&self, k: usize, weights: &[f64]) -> f64 {
        self.scores.iter().zip(weights).map(|(s, a)| a * s[k]).sum()
    }

    fn row_loss(&self, k: usize, weights: &[f64]) -> f64 {
        self.curve(k, self.score(k, weights))[0]
    }

    fn curve(&self, k: usize, score: f64) -> Curve {
        let [value, first, second, _] = row_derivatives(self.family, self.rows[k].y, score);
        [value, first, second]
    }

    /// The best weights for some rows.
    fn best(&self, keep: impl Fn(&Row) -> bool) -> Vec<f64> {
        let predictors: Vec<&[f64]> = self.scores.iter().map(Vec::as_slice).collect();
        let weight: Vec<f64> = self.rows.iter().map(|row| row.weight).collect();
        let mixture = Mixture { predictors: &predictors, weight: &weight, cost: |k, score| self.curve(k, score) };
        mixture.shares(|k| keep(&self.rows[k]))
    }
}

/// The smallest loss that any score has.
fn least_loss(family: Family, y: f64) -> f64 {
    if family == Family::Poisson && y > 0.0 { y - y * y.ln() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;
    use rand_distr::StandardNormal;

    /// Labels are `share` of the first score and the rest of the second, with noise; the third score is of no use.
    fn some(family: Family, share: f64, noise: f64, rows: usize) -> Stack {
        let mut rng = stream(3, Purpose::LocalData, 0);
        let mut normal = || -> f64 { rng.sample(StandardNormal) };
        let scores: Vec<Vec<f64>> = (0..3).map(|_| (0..rows).map(|_| normal()).collect()).collect();
        let label = |k: usize, normal: &mut dyn FnMut() -> f64| {
            let score: f64 = share * scores[0][k] + (1.0 - share) * scores[1][k] + noise * normal();
            match family {
                Family::Squared => score,
                Family::Logistic => f64::from(u8::from(score > 0.0)),
                _ => score.exp().round(),
            }
        };
        let row = |k: usize| Row { y: label(k, &mut normal), weight: 1.0, fold: k % 5, unit: k / 4 };
        let rows = (0..rows).map(row).collect();
        Stack { family, rows, scores }
    }

    #[test]
    fn many_rows_are_trusted_and_noise_is_not() {
        let (weights, trust) = some(Family::Squared, 0.8, 0.1, 2000).weights();
        assert!(trust > 0.99 && (weights[0] - 0.8).abs() < 0.02 && weights[2] < 0.02, "{weights:?}");
        // All candidates are as good as each other: equal weights stay, up to chance.
        let (weights, trust) = some(Family::Squared, 0.5, 20.0, 40).weights();
        assert!(trust < 0.9 && weights.iter().all(|w| (w - 1.0 / 3.0).abs() < 0.5), "{weights:?} {trust}");
    }
}
