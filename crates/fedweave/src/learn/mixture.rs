//! Shares of several predictors, from rows that none of them has seen.
//!
//! ```text
//! minimise   sum_r weight_r cost_r( sum_k share_k p_kr )    over shares that are not negative and add up to 1
//! ```
//!
//! A convex problem in a few numbers: Newton steps, each a quadratic problem over the simplex whose pairs of predictors exchange
//! share. Costs with a kink have the curvature of the parabola that lies above them and touches them where they are.

use crate::matrix::dot;
use crate::tune::mean_and_error;

/// The cost of a prediction, and its first and second derivative by it.
pub type Curve = [f64; 3];

/// Newton steps at most; one is enough where the cost is quadratic.
const STEPS_MAX: usize = 100;
/// Exchanges of share between two predictors at most, in one Newton step.
const EXCHANGES_MAX: usize = 20_000;
/// Steps that gain less than this share of the cost end the search.
const GAIN_MIN: f64 = 1e-10;

/// Rows and what they cost.
pub struct Mixture<'a, C: Fn(usize, f64) -> Curve> {
    /// Predictions of all rows, one list for each predictor.
    pub predictors: &'a [&'a [f64]],
    /// How much each row counts; 0 for rows without predictions.
    pub weight: &'a [f64],
    /// What the prediction of a row costs.
    pub cost: C,
}

impl<C: Fn(usize, f64) -> Curve> Mixture<'_, C> {
    /// The best shares for the rows of positive weight that are kept. The search starts from equal shares.
    pub fn shares(&self, keep: impl Fn(usize) -> bool) -> Vec<f64> {
        let count = self.predictors.len();
        let rows: Vec<usize> = (0..self.weight.len()).filter(|r| self.weight[*r] > 0.0 && keep(*r)).collect();
        let mut shares = vec![1.0 / count as f64; count];
        let mut cost = self.cost(&rows, &shares);
        for _ in 0..STEPS_MAX {
            let (q, slope) = self.expansion(&rows, &shares);
            let target = minimise_on_simplex(&q, &slope, &shares);
            let along = |length: f64| -> Vec<f64> {
                shares.iter().zip(&target).map(|(share, t)| share + length * (t - share)).collect()
            };
            let tried = (0..20).map(|k| along(0.5f64.powi(k))).map(|b| (self.cost(&rows, &b), b));
            let Some((found, next)) = tried.into_iter().find(|(found, _)| *found < cost) else { break };
            let gained = cost - found;
            (shares, cost) = (next, found);
            if gained < GAIN_MIN * cost.abs() {
                break;
            }
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    }

    fn cost(&self, rows: &[usize], shares: &[f64]) -> f64 {
        rows.iter().map(|&r| self.weight[r] * (self.cost)(r, self.prediction(r, shares))[0]).sum()
    }

    fn prediction(&self, row: usize, shares: &[f64]) -> f64 {
        self.predictors.iter().zip(shares).map(|(p, share)| share * p[row]).sum()
    }

    /// Second derivatives and slope of the cost. Predictions count from their mean over the predictors: only differences matter.
    fn expansion(&self, rows: &[usize], shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let count = shares.len();
        let (mut q, mut slope, mut apart) = (vec![0.0; count * count], vec![0.0; count], vec![0.0; count]);
        for &r in rows {
            let mean = self.predictors.iter().map(|p| p[r]).sum::<f64>() / count as f64;
            apart.iter_mut().zip(self.predictors).for_each(|(d, p)| *d = p[r] - mean);
            let [_, first, second] = (self.cost)(r, mean + dot(&apart, shares)).map(|v| v * self.weight[r]);
            for i in 0..count {
                slope[i] += first * apart[i];
                (0..count).for_each(|j| q[i * count + j] += second * apart[i] * apart[j]);
            }
        }
        (q, slope)
    }
}

/// How much of a mean gain is more than chance: of a gain of `z` standard errors `1 - 1 / z^2` (the positive part of James and
/// Stein's rule).
pub fn believed(gains: impl Iterator<Item = f64> + Clone) -> f64 {
    match mean_and_error(gains) {
        Some((gain, error)) if gain > 0.0 => (1.0 - (error / gain).powi(2)).max(0.0),
        _ => 0.0,
    }
}

/// Minimises `(b - a)' Q (b - a) / 2 + slope' (b - a)` over shares `b`: the two predictors that promise most exchange share.
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

/// `sum_k share_k p_k`, row by row; predictors without a share may be without predictions.
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
    use crate::learn::race::Cost;
    use crate::random::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn normal(seed: u64, rows: usize) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Points, 0);
        (0..rows).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    fn shares(cost: Cost, y: &[f64], weight: &[f64], predictors: &[&[f64]]) -> Vec<f64> {
        Mixture { predictors, weight, cost: |r, p| cost.curve(y[r], p) }.shares(|_| true)
    }

    fn total(cost: Cost, y: &[f64], p: &[f64]) -> f64 {
        y.iter().zip(p).map(|(y, p)| cost.value(*y, *p)).sum::<f64>() / y.len() as f64
    }

    #[test]
    fn shares_of_independent_predictors_are_inverse_to_their_variance() {
        let (y, rows) = (vec![0.0; 20_000], 20_000);
        let (a, b) = (normal(1, rows), normal(2, rows).iter().map(|v| 2.0 * v).collect::<Vec<_>>());
        let shares = shares(Cost::Squared, &y, &vec![1.0 / rows as f64; rows], &[&a, &b]);
        assert!((shares[0] - 0.8).abs() < 0.01, "{shares:?}");
    }

    /// No exchange of a little share between two predictors costs less.
    #[test]
    fn no_other_shares_cost_less() {
        let rows = 400;
        let counts: Vec<f64> = normal(3, rows).iter().map(|v| v.exp().round()).collect();
        let classes: Vec<f64> = counts.iter().map(|y| if *y > 1.0 { 1.0 } else { 0.0 }).collect();
        let guess = |s: u64| -> Vec<f64> {
            normal(s, rows).iter().zip(&counts).map(|(v, y)| (0.4 * v).exp() * (0.3 + 0.7 * y)).collect()
        };
        let guesses: Vec<Vec<f64>> = (4..8).map(guess).collect();
        let odds: Vec<Vec<f64>> = guesses.iter().map(|g| g.iter().map(|g| g / (1.0 + g)).collect()).collect();
        let weight = vec![1.0 / rows as f64; rows];
        let numbers = [Cost::Squared, Cost::Deviance, Cost::Huber(0.3), Cost::Absolute, Cost::Pinball(0.7)];
        let cases = numbers.map(|cost| (cost, &counts, &guesses)).into_iter().chain([(Cost::LogLoss, &classes, &odds)]);
        for (cost, y, predictors) in cases {
            let predictors: Vec<&[f64]> = predictors.iter().map(Vec::as_slice).collect();
            let shares = shares(cost, y, &weight, &predictors);
            let best = total(cost, y, &mixed(&predictors, &shares, rows));
            // Parabolas come closer to a kink step by step, and do not reach it.
            let off = if matches!(cost, Cost::Absolute | Cost::Pinball(_)) { 1e-4 } else { 1e-6 };
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|s| *s >= 0.0));
            for (from, to) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let (mut other, moved) = (shares.clone(), shares[from].min(1e-3));
                (other[from], other[to]) = (other[from] - moved, other[to] + moved);
                let value = total(cost, y, &mixed(&predictors, &other, rows));
                assert!(value >= best * (1.0 - off), "{cost:?} {shares:?}: {value} below {best}");
            }
        }
    }

    #[test]
    fn rows_without_weight_do_not_count() {
        let y = [1.0, 2.0, 3.0];
        let (good, bad) = ([1.0, 2.0, f64::NAN], [0.0, 0.0, f64::NAN]);
        let shares = shares(Cost::Squared, &y, &[0.5, 0.5, 0.0], &[&bad, &good]);
        assert!(shares[1] > 0.999, "{shares:?}");
    }

    #[test]
    fn gains_are_believed_as_far_as_they_are_more_than_chance() {
        // A gain of 2 whose squared standard error is 4 / 3.
        assert!((believed([0.0, 4.0, 0.0, 4.0].into_iter()) - (1.0 - 1.0 / 3.0)).abs() < 1e-12);
        assert_eq!(believed([-1.0, -2.0].into_iter()), 0.0);
        assert_eq!(believed([].into_iter()), 0.0);
    }
}
