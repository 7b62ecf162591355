//! The share of the graph in an average of couplings, and how well it is known.

use rayon::prelude::*;

use super::evidence::{RhoProfile, chi_squared_quantile, erfc, rho_profile};
use super::{Blend, CouplingOptions, Interval, Member, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;

impl Blend {
    /// The mean share of the graph.
    pub fn rho(&self) -> f64 {
        self.members.iter().map(|m| m.weight * m.coupling.rho).sum()
    }

    /// True if most of the average lets the coefficient `j` vary between nodes.
    pub fn varies(&self, j: usize) -> bool {
        self.members.iter().filter(|m| m.coupling.varies[j]).map(|m| m.weight).sum::<f64>() > 0.5
    }

    /// Mean variance of the noise of a row.
    pub fn noise(&self) -> f64 {
        self.members.iter().map(|m| m.weight * m.coupling.s2).sum()
    }

    /// An interval for the share of the graph that averages over the members: beyond each of its ends the tails of the members
    /// have a weighted mean of half of what the level leaves (model-averaged tail areas, Turek and Fletcher 2012). The
    /// interval of a single member is that of its profile likelihood; of an average, the root of the profile is taken as linear
    /// in the log-odds of the share on both sides of its best value. `None` if no member uses the graph.
    pub fn rho_interval(&self, graph: &Graph, data: &Dataset, level: f64) -> Result<Option<Interval>> {
        check(graph, data, &CouplingOptions::default())?;
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::Parameter { name: "level of the interval", value: level, needs: "between 0 and 1" });
        }
        let profile = |m: &Member| match m.coupling.rho > 0.0 {
            true => Ok((m.weight, Some(rho_profile(graph, data, &m.coupling, level)?))),
            false => Ok((m.weight, None)),
        };
        let profiles = self.members.par_iter().map(profile).collect::<Result<Vec<_>>>()?;
        if profiles.iter().all(|(_, profile)| profile.is_none()) {
            return Ok(None);
        }
        Ok(Some(averaged(&profiles, level)))
    }
}

/// Log-odds between which an end is looked for.
const LOG_ODDS: f64 = 40.0;

fn averaged(profiles: &[(f64, Option<RhoProfile>)], level: f64) -> Interval {
    if let [(_, Some(one))] = profiles {
        return one.interval;
    }
    let z = chi_squared_quantile(level).sqrt();
    let below = |log_odds: f64| -> f64 {
        profiles.iter().map(|(weight, p)| weight * p.as_ref().map_or(1.0, |p| share_below(p, z, log_odds))).sum()
    };
    let end = |tail: f64| {
        if below(-LOG_ODDS) >= tail {
            return 0.0;
        }
        if below(LOG_ODDS) < tail {
            return 1.0;
        }
        let (mut low, mut high) = (-LOG_ODDS, LOG_ODDS);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle) < tail { low = middle } else { high = middle }
        }
        1.0 / (1.0 + (-high).exp())
    };
    Interval { low: end(0.5 * (1.0 - level)), high: end(0.5 * (1.0 + level)), level }
}

/// The probability that a member gives to smaller shares than the one with these log-odds. Where its likelihood never falls far
/// enough to end the interval, half of it lies at the end of the range.
fn share_below(p: &RhoProfile, z: f64, log_odds: f64) -> f64 {
    let of = |rho: f64| (rho / (1.0 - rho)).ln();
    let (low, best, high) = (of(p.interval.low), of(p.best), of(p.interval.high));
    let end = if log_odds < best { low } else { high };
    let root = if end.is_finite() && end != best { z * (log_odds - best) / (end - best).abs() } else { 0.0 };
    let tail = 0.5 * erfc(root.abs() / std::f64::consts::SQRT_2);
    if root < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(low: f64, best: f64, high: f64) -> Option<RhoProfile> {
        Some(RhoProfile { interval: Interval { low, high, level: 0.9 }, best })
    }

    #[test]
    fn members_that_agree_have_their_own_interval() {
        let found = averaged(&[(0.4, profile(0.2, 0.5, 0.9)), (0.6, profile(0.2, 0.5, 0.9))], 0.9);
        assert!((found.low - 0.2).abs() < 1e-6 && (found.high - 0.9).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn members_that_disagree_widen_it() {
        let found = averaged(&[(0.5, profile(0.2, 0.3, 0.4)), (0.5, profile(0.7, 0.8, 0.9))], 0.9);
        assert!(found.low > 0.2 && found.low < 0.25 && found.high > 0.87 && found.high < 0.9, "{found:?}");
    }

    #[test]
    fn a_member_without_the_graph_reaches_down_to_zero_and_one_without_an_end_up_to_one() {
        let found = averaged(&[(0.9, profile(0.6, 0.8, 1.0)), (0.1, None)], 0.9);
        assert_eq!((found.low, found.high), (0.0, 1.0));
        // With less weight than the tail it only moves the end.
        let found = averaged(&[(0.98, profile(0.6, 0.8, 0.9)), (0.02, None)], 0.9);
        assert!(found.low > 0.5 && found.low < 0.6 && found.high < 0.9, "{found:?}");
    }
}
