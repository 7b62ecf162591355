//! How much the graph explains beyond the common mean: a test, and an interval.

use super::choose::{KAPPA_START, ROUGH, UNSOLVED};
use super::fit::{Fit, KAPPA, Strength, Task};
use super::minimise::Memory;
use super::regions::sample_of_large;
use super::{Coupling, CouplingOptions, Prepared, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// The likelihood-ratio test of "the graph matters" against `rho = 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphTest {
    /// Twice the difference of the logarithms of the likelihoods, zero or positive.
    pub statistic: f64,
    /// Probability of a statistic as large or larger if `rho` is 0. At the edge of its range the statistic is zero half of
    /// the time, else chi-squared with one degree of freedom.
    pub p_value: f64,
}

impl GraphTest {
    /// The test for the structure of a fit, by the likelihood without priors; `free` is the deviance without the graph.
    pub(super) fn of(task: &Task, free: f64, fit: &Fit) -> Self {
        let bare = Task { prior: false, ..*task };
        let strength = Strength::From(if fit.kappa > 0.0 { fit.kappa } else { KAPPA_START });
        match bare.fit_again(fit, strength, ROUGH) {
            Some(coupled) if task.network.is_coupled() => Self::new(free, coupled.deviance),
            _ => Self::new(0.0, 0.0),
        }
    }

    pub(super) fn new(deviance_without: f64, deviance_with: f64) -> Self {
        let statistic = (deviance_without - deviance_with).max(0.0);
        let p_value = if statistic > 0.0 { 0.5 * chi_squared_tail(statistic) } else { 1.0 };
        GraphTest { statistic, p_value }
    }
}

/// An interval of `rho`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its level.
    pub level: f64,
}

/// All `rho` that the profile likelihood does not reject at this level, for the structure of `coupling`; of a large graph, that
/// of a sample of its regions. Of a graph without edges nothing is known.
pub fn rho_interval(graph: &Graph, data: &Dataset, coupling: &Coupling, level: f64) -> Result<Interval> {
    check(graph, data, &CouplingOptions::default())?;
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::Parameter { name: "level of the interval", value: level, needs: "between 0 and 1" });
    }
    Ok(rho_profile(graph, data, coupling, level)?.interval)
}

/// An interval, and where in it the likelihood is largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RhoProfile {
    pub interval: Interval,
    pub best: f64,
}

/// The profile of a coupling whose level has been checked.
pub(super) fn rho_profile(graph: &Graph, data: &Dataset, coupling: &Coupling, level: f64) -> Result<RhoProfile> {
    if let Some((nodes, graph, rows)) = sample_of_large(graph, data)? {
        let noise = coupling.node_noise.as_ref().map(|noise| nodes.iter().map(|i| noise[*i]).collect());
        let part = Coupling { node_noise: noise, ..coupling.clone() };
        return profile_of_all(&graph, &rows, &part, level);
    }
    profile_of_all(graph, data, coupling, level)
}

fn profile_of_all(graph: &Graph, data: &Dataset, coupling: &Coupling, level: f64) -> Result<RhoProfile> {
    let prepared = Prepared::new(graph, data, coupling.family, coupling.intercept)?;
    let prepared = prepared.weighted(coupling.node_noise.as_deref())?;
    let task = prepared.task(coupling.likelihood, false);
    let (moments, network) = (task.moments, task.network);
    if !network.is_coupled() {
        return Ok(RhoProfile { interval: Interval { low: 0.0, high: 1.0, level }, best: coupling.rho });
    }
    let (root, kappa) = coupling.relative_root(moments, network).ok_or(UNSOLVED)?;
    let start = if kappa > 0.0 { kappa } else { KAPPA_START };
    let known = Fit { structure: coupling.structure, root, kappa, deviance: f64::NAN, memory: Memory::new() };
    let best = task.fit_again(&known, Strength::From(start), ROUGH).ok_or(UNSOLVED)?;
    let rise = chi_squared_quantile(level);
    let low = end_of_interval(&task, &best, rise, KAPPA.0).map_or(0.0, |kappa| network.rho(kappa));
    let high = end_of_interval(&task, &best, rise, KAPPA.1).map_or(1.0, |kappa| network.rho(kappa));
    Ok(RhoProfile { interval: Interval { low, high, level }, best: network.rho(best.kappa) })
}

/// The `kappa` between the best and `limit` where the profile deviance has risen by `rise`; `None` if it never does.
fn end_of_interval(task: &Task, best: &Fit, rise: f64, limit: f64) -> Option<f64> {
    let outwards = if limit > 1.0 { 1.0 } else { -1.0 };
    let mut inside = (best.kappa.clamp(KAPPA.0, KAPPA.1).ln(), 0.0, best.clone());
    let profile = |log_kappa: f64, from: &Fit| {
        let fit = task.fit_again(from, Strength::Fixed(log_kappa.exp()), ROUGH)?;
        Some((log_kappa, fit.deviance - best.deviance - rise, fit))
    };
    inside.1 = -rise;
    // Often the profile stays low to the very end: one look there spares all on the way.
    let end = profile(limit.ln(), best);
    if end.as_ref().is_some_and(|end| end.1 <= 0.0) {
        return None;
    }
    let mut step = outwards;
    let mut outside = loop {
        let next = inside.0 + step;
        if outwards * (next - limit.ln()) >= 0.0 {
            break end?;
        }
        let found = profile(next, &inside.2)?;
        if found.1 > 0.0 {
            break found;
        }
        inside = found;
        step *= 2.0;
    };
    // Regula falsi with bisection: the profile is nearly a parabola.
    for round in 0..8 {
        if (outside.0 - inside.0).abs() < 0.01 || outside.1.min(-inside.1) < 0.02 {
            break;
        }
        let share = inside.1 / (inside.1 - outside.1);
        let share = if round % 3 == 2 { 0.5 } else { share.clamp(0.1, 0.9) };
        let found = profile(inside.0 + share * (outside.0 - inside.0), &inside.2)?;
        if found.1 > 0.0 { outside = found } else { inside = found }
    }
    let share = inside.1 / (inside.1 - outside.1);
    Some((inside.0 + share * (outside.0 - inside.0)).exp())
}

/// `P(chi^2_1 > x)`, which is `erfc(sqrt(x / 2))`.
fn chi_squared_tail(x: f64) -> f64 {
    erfc((0.5 * x).sqrt())
}

/// The `x` with `P(chi^2_1 <= x) = level`.
/// The number that a squared standard normal variable stays below with this probability: `|z| <= sqrt(quantile)`.
pub fn chi_squared_quantile(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if 1.0 - chi_squared_tail(middle) < level { low = middle } else { high = middle }
    }
    high
}

/// `erfc(x)` for `x >= 0`: a series near zero, a continued fraction beyond.
pub(crate) fn erfc(x: f64) -> f64 {
    let normal = 2.0 / std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for k in 1..60 {
            term *= -x * x / k as f64;
            sum += term / (2 * k + 1) as f64;
        }
        return 1.0 - normal * sum;
    }
    let fraction = (1..=60).rev().fold(x, |tail, k| x + 0.5 * k as f64 / tail);
    0.5 * normal * (-x * x).exp() / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_quantiles_are_those_of_the_tables() {
        assert!((chi_squared_tail(3.841_458_820_694_124) - 0.05).abs() < 1e-12);
        assert!((chi_squared_tail(10.827_566_170_662_733) - 0.001).abs() < 1e-13);
        assert!((chi_squared_tail(30.0) / 4.320_463_057_827_488e-8 - 1.0).abs() < 1e-9);
        assert!((chi_squared_quantile(0.9) - 2.705_543_454_095_404).abs() < 1e-9);
        assert_eq!(GraphTest::new(5.0, 6.0).p_value, 1.0);
        assert!((GraphTest::new(2.705_543_454_095_404, 0.0).p_value - 0.05).abs() < 1e-12);
    }
}
