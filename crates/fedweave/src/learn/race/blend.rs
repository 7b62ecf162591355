//! Shares of several predictors, by what they predicted for rows they had not seen.
//!
//! ```text
//! minimise   mean_r cost(y_r, sum_k share_k p_kr)    over shares that are not negative and add up to 1
//! ```
//!
//! A convex problem in a few numbers. Every step moves share from the predictor whose loss would gain most to the one that
//! gains most by it (pairwise Frank-Wolfe), as far as the cost falls.

use super::cost::Cost;

/// Steps at most.
const STEPS: usize = 2000;
/// A bound on what all further steps together can gain, relative to the cost.
const PROMISE: f64 = 1e-7;
/// Evaluations along one direction.
const TRIES: usize = 12;

/// The rows that shares are found on.
pub struct Judged<'a> {
    /// What a prediction costs.
    pub cost: Cost,
    /// Labels.
    pub y: &'a [f64],
    /// How much each row counts; 0 for rows without predictions.
    pub weight: &'a [f64],
}

impl Judged<'_> {
    fn cost(&self, p: &[f64]) -> f64 {
        self.rows().map(|r| self.weight[r] * self.cost.value(self.y[r], p[r])).sum()
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.y.len()).filter(|&r| self.weight[r] > 0.0)
    }

    /// Derivative of the cost in direction `by`.
    fn slope(&self, p: &[f64], by: impl Fn(usize) -> f64) -> f64 {
        self.rows().map(|r| self.weight[r] * self.cost.slope(self.y[r], p[r]) * by(r)).sum()
    }

    /// The best shares of `predictors`, one list of predictions each. Starts from equal shares.
    pub fn shares(&self, predictors: &[&[f64]]) -> Vec<f64> {
        let k = predictors.len();
        let mut shares = vec![1.0 / k as f64; k];
        let mut p = mixed(predictors, &shares, self.y.len());
        for _ in 0..STEPS {
            let slopes: Vec<f64> = predictors.iter().map(|q| self.slope(&p, |r| q[r])).collect();
            let to = (0..k).min_by(|a, b| slopes[*a].total_cmp(&slopes[*b])).unwrap_or(0);
            let from = (0..k).filter(|j| shares[*j] > 0.0).max_by(|a, b| slopes[*a].total_cmp(&slopes[*b]));
            let from = from.unwrap_or(0);
            let mean: f64 = shares.iter().zip(&slopes).map(|(share, slope)| share * slope).sum();
            if mean - slopes[to] <= PROMISE * self.cost(&p).abs() {
                break;
            }
            let step = self.step(&p, predictors[to], predictors[from], shares[from]);
            shares[to] += step;
            shares[from] -= step;
            if shares[from] < 1e-12 {
                shares[from] = 0.0;
            }
            p = mixed(predictors, &shares, self.y.len());
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    }

    /// How much to move: all that there is if the cost still falls then, else where its slope changes sign (regula falsi, halving
    /// an end that stays; exact at once where the slope is a line).
    fn step(&self, p: &[f64], to: &[f64], from: &[f64], most: f64) -> f64 {
        let slope = |step: f64| {
            let moved = |r: usize| p[r] + step * (to[r] - from[r]);
            let cost = |r| self.weight[r] * self.cost.slope(self.y[r], moved(r)) * (to[r] - from[r]);
            self.rows().map(cost).sum::<f64>()
        };
        let (mut low, mut high) = ((0.0, slope(0.0)), (most, slope(most)));
        if high.1 <= 0.0 || low.1 >= 0.0 {
            return if high.1 <= 0.0 { most } else { 0.0 };
        }
        for _ in 0..TRIES {
            let middle = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
            let found = slope(middle);
            if found <= 0.0 {
                (low, high) = ((middle, found), (high.0, 0.5 * high.1));
            } else {
                (low, high) = ((low.0, 0.5 * low.1), (middle, found));
            }
            if found.abs() <= 1e-12 * (low.1.abs() + high.1.abs()) {
                return middle;
            }
        }
        low.0
    }
}

/// `sum_k share_k p_k`, row by row.
pub fn mixed(predictors: &[&[f64]], shares: &[f64], rows: usize) -> Vec<f64> {
    let mut p = vec![0.0; rows];
    for (q, share) in predictors.iter().zip(shares).filter(|(_, share)| **share > 0.0) {
        p.iter_mut().zip(*q).for_each(|(p, q)| *p += share * q);
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn normal(seed: u64, rows: usize) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Points, 0);
        (0..rows).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    #[test]
    fn shares_of_independent_predictors_are_inverse_to_their_variance() {
        let (y, rows) = (vec![0.0; 20_000], 20_000);
        let (a, b) = (normal(1, rows), normal(2, rows).iter().map(|v| 2.0 * v).collect::<Vec<_>>());
        let weight = vec![1.0 / rows as f64; rows];
        let shares = Judged { cost: Cost::Squared, y: &y, weight: &weight }.shares(&[&a, &b]);
        assert!((shares[0] - 0.8).abs() < 0.01, "{shares:?}");
    }

    #[test]
    fn no_other_shares_cost_less() {
        let rows = 400;
        let y: Vec<f64> = normal(3, rows).iter().map(|v| v.exp().round()).collect();
        let predictors: Vec<Vec<f64>> = (4..8)
            .map(|s| normal(s, rows).iter().zip(&y).map(|(v, y)| (0.4 * v).exp() * (0.3 + 0.7 * y)).collect())
            .collect();
        let predictors: Vec<&[f64]> = predictors.iter().map(Vec::as_slice).collect();
        let weight = vec![1.0 / rows as f64; rows];
        for cost in [Cost::Squared, Cost::Deviance, Cost::Huber(0.3)] {
            let judged = Judged { cost, y: &y, weight: &weight };
            let shares = judged.shares(&predictors);
            let best = judged.cost(&mixed(&predictors, &shares, rows));
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|s| *s >= 0.0));
            for (from, to) in
                (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b && shares[*a] > 1e-3)
            {
                let mut other = shares.clone();
                (other[from], other[to]) = (other[from] - 1e-3, other[to] + 1e-3);
                assert!(judged.cost(&mixed(&predictors, &other, rows)) >= best * (1.0 - 1e-6), "{cost:?} {shares:?}");
            }
        }
    }

    #[test]
    fn rows_without_predictions_do_not_count() {
        let y = [1.0, 2.0, 3.0];
        let (good, bad) = ([1.0, 2.0, f64::NAN], [0.0, 0.0, f64::NAN]);
        let shares = Judged { cost: Cost::Squared, y: &y, weight: &[0.5, 0.5, 0.0] }.shares(&[&bad, &good]);
        assert!(shares[1] > 0.999, "{shares:?}");
    }
}
