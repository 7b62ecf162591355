//! Nodes that are noisier than others.
//!
//! The variance of the noise at node `i` is `s2 v_i`, with `v_i` from an inverse gamma distribution around 1 that has `nu`
//! degrees of freedom: few rows say little about `v_i`, which then stays near 1. With `e_i` the expected sum of squares of
//! the errors of a node with `m_i` rows, in units of `s2`, `e_i / m_i` has an F distribution, by which `nu` is found, and
//! `v_i = (nu + e_i) / (nu + m_i)`.

use super::fit::{Fit, Task};
use crate::matrix::dot;

/// How noise is distributed over the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Noise {
    /// The same everywhere.
    #[default]
    Common,
    /// Its own at every node, where the likelihood of that is larger by more than `log(n) / 2` (squared losses only). What no
    /// linear model explains counts as noise too, so that the likelihood is no proof that predictions gain: judged on folds,
    /// both are tried.
    ByNode,
}

/// `v_i` of all nodes; `None` if the noise is the same everywhere as far as can be told. `known` are the `v_i` by which the
/// rows of the task were divided.
pub fn node_noise(task: &Task, fit: &Fit, known: Option<&[f64]>) -> Option<Vec<f64>> {
    let errors = expected_errors(task, fit, known)?;
    let rows = &task.moments.rows;
    let gain = |nu: f64| -> f64 { errors.iter().zip(rows).map(|(e, m)| log_ratio(*e, *m, nu)).sum() };
    let grid = (2..=20).map(|k| 2f64.powf(0.5 * f64::from(k)));
    let (best, nu) = grid.map(|nu| (gain(nu), nu)).fold((f64::NEG_INFINITY, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    let nodes = rows.iter().filter(|m| **m > 0.0).count() as f64;
    let earned = nodes > 1.0 && best > 0.5 * nodes.ln();
    earned.then(|| errors.iter().zip(rows).map(|(e, m)| (nu + e) / (nu + m)).collect())
}

/// `e_i`: squares of what the models leave over, and of what is not known about the models, in units of `s2`.
fn expected_errors(task: &Task, fit: &Fit, known: Option<&[f64]>) -> Option<Vec<f64>> {
    let (moments, d) = (task.moments, task.moments.d);
    let plan = task.network.plan(fit.root.p);
    let mut at = task.at(&plan, &fit.root, fit.kappa)?;
    at.system.invert();
    let node = |i: usize| {
        if moments.rows[i] == 0.0 {
            return 0.0;
        }
        let (w, form) = (at.model(i), moments.form(i));
        let fitted: f64 = (0..d).map(|j| w[j] * dot(&form[j * d..(j + 1) * d], &w)).sum();
        let left = moments.yy[i] - 2.0 * dot(&w, moments.right(i)) + fitted;
        let unknown = dot(form, &at.covariance(i, i));
        (left.max(0.0) + unknown) / at.s2 * known.map_or(1.0, |v| v[i])
    };
    let errors: Vec<f64> = (0..moments.nodes()).map(node).collect();
    errors.iter().all(|e| e.is_finite()).then_some(errors)
}

/// Logarithm of the density of `e` with `nu` degrees of freedom of the noise less that with the same noise everywhere.
fn log_ratio(e: f64, m: f64, nu: f64) -> f64 {
    let common = ln_gamma(0.5 * (m + nu)) - ln_gamma(0.5 * nu) - 0.5 * m * (0.5 * nu).ln();
    common - 0.5 * (m + nu) * (e / nu).ln_1p() + 0.5 * e
}

/// `log Gamma(x)` for `x > 0`: Stirling's series after a few steps of the recursion.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-12);
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-12);
        // Many degrees of freedom: the same noise everywhere.
        assert!(log_ratio(12.0, 10.0, 1e6).abs() < 1e-4);
        assert!(log_ratio(50.0, 10.0, 4.0) > 0.0 && log_ratio(10.0, 10.0, 4.0) < 0.0);
    }
}
