//! Objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012) for networks: `F(w) + sum_i b_i'w_i` is minimised
//! with normal `b_i` of deviation `sigma_i` at every node with rows.
//!
//! Let `F` be `2 ridge`-strongly convex in all parameters, a row count `a` in it, and have gradients `l'(x'w) x` of norm at most `G`, `|x| <= R`,
//! `l'' <= c`. At the minimiser `w` the noise was `b = -grad F(w)`, so that `w` has the density `phi(grad F(w)) |det F''(w)|`. Replacing a row of node
//! `i` changes
//!
//! * the determinant, by adding one matrix of rank one and removing another, by a factor of at most `1 + a c R^2 / (2 ridge) =: e^J`;
//! * the gradient in block `i` by `D = a (g' x' - g x)` with `|D| <= 2 a G`, so that the logarithm of `phi` changes by
//!   `(|D|^2 - 2 b'D) / (2 sigma^2)`. `D` depends on `w`, hence on `b`; but `|b'D| <= a G (|z| + |z'|)` for the components `z`, `z'` of `b` along the two rows,
//!   which are normal.
//!
//! So with `mu = 2 a G / sigma` the privacy loss is at most `J + mu^2 / 2 + (mu / 2) (|N| + |N'|)` for two standard normal numbers that may depend on each other,
//! and `E e^{s (mu / 2) (|N| + |N'|)} <= E e^{s mu |N|} = 2 e^{s^2 mu^2 / 2} Phi(s mu)`. With `(1 - e^{-t})_+ <= e^{s t} s^s / (1 + s)^{1 + s}`,
//!
//! ```text
//! delta  <=  min_s  2 Phi(s mu) e^{s (J + mu^2 / 2 - epsilon) + s^2 mu^2 / 2} s^s / (1 + s)^{1 + s}.
//! ```
//!
//! It holds for penalties with kinks as well: they are limits of smooth ones, minimisers depend on them continuously, and the promise survives limits in
//! distribution. A computed point is within `sqrt(gap / ridge)` of the minimiser, and noise on a grid is normal noise up to a few steps; both are covered
//! by a little noise on the models ([`Perturbation`]), which has a share of the budget.

use super::accountant::{check_privacy, noise, normal};
use super::mechanisms::Grid;
use crate::error::{Error, Result};
use crate::loss::{Family, Huber, Logistic, Pointwise};

/// Share of `epsilon` and `delta` for the noise on the models.
const MODELS_SHARE: f64 = 0.02;
/// Its size, relative to how far the noise in the objective moves a model at most.
const MODELS_NOISE: f64 = 0.01;
/// Steps of the grid by which discrete noise differs from normal noise, with a probability below `e^{-200}` of more.
const GRID_STEPS: f64 = 41.0;

/// A bound on `l''`; `None` for losses whose gradients do not change smoothly.
pub fn curvature_bound(family: Family) -> Option<f64> {
    match family {
        Family::Logistic => Some(Logistic.curvature_bounds().1),
        Family::Huber { delta } => Some(Huber { delta }.curvature_bounds().1),
        _ => None,
    }
}

/// The logarithm of the bound on delta at the top; `determinant` is `J`.
pub fn log_delta(mu: f64, determinant: f64, epsilon: f64) -> f64 {
    let at = |s: f64| {
        let order = s * s.ln() - (1.0 + s) * (1.0 + s).ln();
        2f64.ln()
            + normal::log_cdf(s * mu)
            + s * (determinant + 0.5 * mu * mu - epsilon)
            + 0.5 * s * s * mu * mu
            + order
    };
    // Any order gives a bound: orders on a fine geometric grid come close to the best.
    (0..600).map(|k| at(1e-2 * 1.025f64.powi(k))).fold(0.0, f64::min)
}

/// The largest `mu` at which the noise in the objective is (`epsilon`, `delta`)-private; none if the determinant alone spends it.
fn mu(determinant: f64, epsilon: f64, delta: f64) -> Option<f64> {
    let private = |mu: f64| log_delta(mu, determinant, epsilon) <= delta.ln();
    let (mut low, mut high) = (0.0, 1e-6);
    while private(high) && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if private(middle) { low = middle } else { high = middle }
    }
    (low > 0.0).then_some(low)
}

/// What one row can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowBounds {
    /// `G`.
    pub gradient: f64,
    /// `R`.
    pub row_norm: f64,
    /// `c`.
    pub curvature: f64,
    /// `ridge`, on every parameter of every node.
    pub ridge: f64,
}

/// Noise of all nodes, the gap that must be certified, and the noise on the models.
#[derive(Debug, Clone, PartialEq)]
pub struct Perturbation {
    /// For every node, the noise on each number of its vector; none at nodes without rows.
    pub objective: Vec<Option<Grid>>,
    /// A point with a larger gap is not released. It depends on nothing but settings and numbers of rows.
    pub gap: f64,
    /// The noise on all models.
    pub models: Grid,
    /// How far the minimiser moves at most, if noise of one deviation is added at the node where it is largest.
    pub deviation: f64,
}

impl Perturbation {
    /// For nodes whose rows count `shares` (0: no rows) and have `dim` parameters.
    pub fn new(bounds: RowBounds, shares: &[f64], dim: usize, (epsilon, delta): (f64, f64)) -> Result<Perturbation> {
        check_privacy(epsilon, delta)?;
        let RowBounds { gradient, row_norm, curvature, ridge } = bounds;
        if !(ridge > 0.0 && ridge.is_finite()) {
            let needs = "positive: without it one row could move the models without limit";
            return Err(Error::Parameter { name: "ridge", value: ridge, needs });
        }
        let left = 1.0 - MODELS_SHARE;
        let too_fine = Error::Parameter { name: "noise", value: gradient, needs: "a positive normal number" };
        let grid = |share: &f64| {
            if *share == 0.0 {
                return Ok(None);
            }
            let determinant = (share * curvature * row_norm * row_norm / (2.0 * ridge)).ln_1p();
            let needs =
                "larger: the ratio of determinants alone would spend epsilon; --dp-method output has no such limit";
            let mu = mu(determinant, left * epsilon, left * delta);
            let mu = mu.ok_or(Error::Parameter { name: "ridge", value: ridge, needs })?;
            Grid::new(1.0 / mu, 2.0 * share * gradient, dim).map(Some).ok_or(too_fine.clone())
        };
        let objective = shares.iter().map(grid).collect::<Result<Vec<_>>>()?;
        let deviation = objective.iter().flatten().map(Grid::deviation).fold(0.0, f64::max);
        let least = objective.iter().flatten().map(Grid::deviation).fold(f64::INFINITY, f64::min);
        let steps: f64 = objective.iter().flatten().map(|grid| dim as f64 * (GRID_STEPS * grid.step()).powi(2)).sum();
        // Both runs may be off.
        let multiplier = noise((MODELS_SHARE * epsilon, MODELS_SHARE * delta), 1.0, 1)?;
        let off = MODELS_NOISE * least / (2.0 * ridge) / (2.0 * multiplier);
        let rounding = steps.sqrt() / (2.0 * ridge);
        let models = Grid::new(multiplier, 2.0 * (off + rounding), shares.len() * dim).ok_or(too_fine)?;
        Ok(Perturbation { objective, gap: ridge * off * off, models, deviation: deviation / (2.0 * ridge) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::privacy::accountant::gaussian;

    #[test]
    fn the_bound_is_never_below_what_one_known_direction_costs() {
        // Without a determinant and with a direction that is fixed it would be the Gaussian mechanism, which is cheaper, but not by much.
        for epsilon in [0.1, 1.0, 4.0, 10.0] {
            let delta = 1e-5;
            let mu = mu(0.0, epsilon, delta).unwrap();
            let known = gaussian::mu(epsilon, delta);
            assert!(mu <= known && mu > 0.7 * known, "{epsilon}: {mu} {known}");
        }
        // The determinant takes its share.
        assert!(mu(0.5, 1.0, 1e-5).unwrap() < 0.6 * mu(0.0, 1.0, 1e-5).unwrap());
        assert_eq!(mu(1.1, 1.0, 1e-5), None);
    }

    /// The loss of the Gaussian mechanism with the worst direction for every draw, by a sum over a fine grid.
    #[test]
    fn the_bound_covers_the_worst_dependent_direction() {
        for (mu, determinant) in [(0.2, 0.0), (0.5, 0.1), (1.5, 0.3)] {
            for epsilon in [0.5, 1.0, 2.0, 5.0] {
                // Both normal numbers the same: the loss is J + mu^2 / 2 + mu |N|.
                let loss = |n: f64| determinant + 0.5 * mu * mu + mu * n.abs();
                let h = 1e-4;
                let sum: f64 = (-120_000..120_000)
                    .map(|k| (f64::from(k) + 0.5) * h)
                    .map(|n| normal::log_density(n).exp() * h * (1.0 - (epsilon - loss(n)).exp()).max(0.0))
                    .sum();
                let bound = log_delta(mu, determinant, epsilon).exp();
                assert!(bound >= sum * (1.0 - 1e-6), "{mu} {epsilon}: {bound} {sum}");
            }
        }
    }

    /// One parameter, where densities can be computed: the minimisers of neighbouring objectives are as hard to tell apart as promised.
    #[test]
    fn densities_of_minimisers_keep_the_promise() {
        let (share, ridge, epsilon, delta) = (0.25f64, 0.4f64, 1.0f64, 1e-3);
        let determinant = (share * 0.25 / (2.0 * ridge)).ln_1p();
        let mu = mu(determinant, epsilon, delta).unwrap();
        let sigma = 2.0 * share / mu;
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        // Rows (x, y) of norm 1: gradient of F without noise, and its derivative.
        let others = [(0.7, 1.0), (-0.9, 1.0), (0.2, -1.0)];
        let slope = |w: f64, row: (f64, f64)| {
            let rows = others.iter().copied().chain([row]);
            rows.fold((2.0 * ridge * w, 2.0 * ridge), |(g, h), (x, y)| {
                let p = sigmoid(-y * x * w);
                (g - share * y * x * p, h + share * x * x * p * (1.0 - p))
            })
        };
        let density = |w: f64, row: (f64, f64)| {
            let (g, h) = slope(w, row);
            (normal::log_density(g / sigma) - sigma.ln()).exp() * h
        };
        for (a, b) in [((1.0, 1.0), (1.0, -1.0)), ((1.0, -1.0), (0.5, 1.0)), ((1.0, 1.0), (-1.0, -1.0))] {
            let (mut beyond, mut mass) = (0.0, 0.0);
            let h = 1e-3;
            for k in -200_000..200_000 {
                let w = f64::from(k) * h;
                let (p, q) = (density(w, a), density(w, b));
                mass += h * p;
                beyond += h * (p - epsilon.exp() * q).max(0.0);
            }
            assert!((mass - 1.0).abs() < 1e-6, "{mass}");
            assert!(beyond <= delta, "{a:?} {b:?}: {beyond}");
        }
    }

    #[test]
    fn noise_follows_the_share_of_a_row_at_each_node() {
        let bounds = RowBounds { gradient: 1.0, row_norm: 1.0, curvature: 0.25, ridge: 0.05 };
        let found = Perturbation::new(bounds, &[0.01, 0.0, 0.1], 3, (2.0, 1e-5)).unwrap();
        assert!(found.objective[1].is_none());
        let deviation = |k: usize| found.objective[k].unwrap().deviation();
        assert!(deviation(2) > 9.0 * deviation(0), "{} {}", deviation(2), deviation(0));
        assert!(found.gap > 0.0 && found.models.deviation() < 0.2 * deviation(0) / 0.1);
        // A row that can change the determinant by e^2 leaves nothing of epsilon 2.
        assert!(Perturbation::new(RowBounds { ridge: 0.001, ..bounds }, &[0.1], 3, (2.0, 1e-5)).is_err());
    }
}
