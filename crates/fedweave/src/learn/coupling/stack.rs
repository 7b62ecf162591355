//! Weights of an average of predictions, from rows that none of the predictors had seen.
//!
//! The weights minimise the loss of the average, are not negative and sum to one. Few rows do not tell such weights from
//! chance; equal weights then are hard to beat. So weights found on some folds are tried on the others: with a gain `g` over
//! equal weights and its standard error `e`, the weights go the share `1 - (e / g)^2` of the way from equal to best, and stay
//! equal where there is no gain. Gains count as they are, or relative to the loss of their node or time, whichever is clearer:
//! a few outliers hide the first, a few easy nodes the second.

use super::rows::row_derivatives;
use crate::loss::Family;
use crate::matrix::dot;
use crate::tune::mean_and_error;

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

/// Newton steps at most; one is enough for squared losses.
const STEPS_MAX: usize = 30;
/// Exchanges of weight between two candidates at most, in one Newton step.
const EXCHANGES_MAX: usize = 20_000;

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
        let one: Vec<f64> = (0..self.scores.len()).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
        self.loss(&one, |_| true) / total
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
        share_of_gain(seen.iter().map(|(a, b)| a - b)).max(share_of_gain(seen.iter().map(relative)))
    }

    fn score(&self, k: usize, weights: &[f64]) -> f64 {
        self.scores.iter().zip(weights).map(|(s, a)| a * s[k]).sum()
    }

    fn row_loss(&self, k: usize, weights: &[f64]) -> f64 {
        row_derivatives(self.family, self.rows[k].y, self.score(k, weights))[0]
    }

    fn loss(&self, weights: &[f64], keep: impl Fn(&Row) -> bool) -> f64 {
        let rows = self.rows.iter().enumerate().filter(|(_, row)| keep(row));
        rows.map(|(k, row)| row.weight * self.row_loss(k, weights)).sum()
    }

    /// The best weights for some rows.
    fn best(&self, keep: impl Fn(&Row) -> bool) -> Vec<f64> {
        let mut a = vec![1.0 / self.scores.len() as f64; self.scores.len()];
        let mut value = self.loss(&a, &keep);
        for _ in 0..STEPS_MAX {
            let (q, slope) = self.expansion(&a, &keep);
            let target = minimise_on_simplex(&q, &slope, &a);
            let along =
                |length: f64| -> Vec<f64> { a.iter().zip(&target).map(|(a, t)| a + length * (t - a)).collect() };
            let lower = (0..20).map(|k| along(0.5f64.powi(k))).map(|b| (self.loss(&b, &keep), b));
            let Some((found, b)) = lower.into_iter().find(|(found, _)| *found < value) else { break };
            let gained = value - found;
            (a, value) = (b, found);
            if self.family == Family::Squared || gained < 1e-10 * value.abs() {
                break;
            }
        }
        a
    }

    /// Second derivatives and slope of the loss. Scores count from their mean over the candidates: only differences matter.
    fn expansion(&self, a: &[f64], keep: impl Fn(&Row) -> bool) -> (Vec<f64>, Vec<f64>) {
        let count = a.len();
        let (mut q, mut slope, mut apart) = (vec![0.0; count * count], vec![0.0; count], vec![0.0; count]);
        for (k, row) in self.rows.iter().enumerate().filter(|(_, row)| keep(row)) {
            let mean = self.scores.iter().map(|s| s[k]).sum::<f64>() / count as f64;
            apart.iter_mut().zip(&self.scores).for_each(|(d, s)| *d = s[k] - mean);
            let [_, first, second, _] =
                row_derivatives(self.family, row.y, mean + dot(&apart, a)).map(|v| v * row.weight);
            for i in 0..count {
                slope[i] += first * apart[i];
                (0..count).for_each(|j| q[i * count + j] += second * apart[i] * apart[j]);
            }
        }
        (q, slope)
    }
}

/// How much of a mean gain is more than chance.
fn share_of_gain(gains: impl Iterator<Item = f64> + Clone) -> f64 {
    match mean_and_error(gains) {
        Some((gain, error)) if gain > 0.0 => (1.0 - (error / gain).powi(2)).max(0.0),
        _ => 0.0,
    }
}

/// The smallest loss that any score has.
fn least_loss(family: Family, y: f64) -> f64 {
    if family == Family::Poisson && y > 0.0 { y - y * y.ln() } else { 0.0 }
}

/// Minimises `(b - a)' Q (b - a) / 2 + slope' (b - a)` over weights `b`: the two candidates that promise most exchange weight.
fn minimise_on_simplex(q: &[f64], slope: &[f64], a: &[f64]) -> Vec<f64> {
    let count = a.len();
    let (mut b, mut slope) = (a.to_vec(), slope.to_vec());
    let size = slope.iter().fold(f64::MIN_POSITIVE, |m, s| m.max(s.abs()));
    for _ in 0..EXCHANGES_MAX {
        let lowest = (0..count).fold(0, |k, j| if slope[j] < slope[k] { j } else { k });
        let giving = (0..count).filter(|j| b[*j] > 0.0).fold(None, |k, j| match k {
            Some(k) if slope[k] >= slope[j] => Some(k),
            _ => Some(j),
        });
        let Some(highest) = giving else { break };
        let steep = slope[highest] - slope[lowest];
        if steep <= 1e-12 * size {
            break;
        }
        let curve = q[lowest * count + lowest] + q[highest * count + highest] - 2.0 * q[lowest * count + highest];
        let moved = if curve > 0.0 { (steep / curve).min(b[highest]) } else { b[highest] };
        b[lowest] += moved;
        b[highest] = if moved < b[highest] { b[highest] - moved } else { 0.0 };
        (0..count).for_each(|j| slope[j] += moved * (q[j * count + lowest] - q[j * count + highest]));
    }
    b
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

    /// No exchange of a little weight between two candidates is better.
    #[test]
    fn best_weights_are_optimal() {
        for family in [Family::Squared, Family::Logistic, Family::Poisson] {
            let stack = some(family, 0.7, 0.5, 300);
            let a = stack.best(|_| true);
            assert!((a.iter().sum::<f64>() - 1.0).abs() < 1e-12 && a.iter().all(|a| *a >= 0.0));
            let value = stack.loss(&a, |_| true);
            for (i, j) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
                let mut b = a.clone();
                let moved = b[i].min(1e-3);
                (b[i], b[j]) = (b[i] - moved, b[j] + moved);
                assert!(stack.loss(&b, |_| true) >= value - 1e-9 * value.abs(), "{family} {i} {j}");
            }
        }
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
