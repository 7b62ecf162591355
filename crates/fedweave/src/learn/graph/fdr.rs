//! Pairs that share a model, with a bound on the share of wrong ones.
//!
//! An edge says that two nodes are the SAME, so that a test whose null hypothesis is sameness, and whose p-values large samples
//! and dull nodes pass alike, controls the wrong error. Here every pair is one of two kinds: a share `pi` of all pairs have one
//! model, the others two independent ones, and the rows give the odds `B_ij` of one kind against the other. `pi` maximises
//! `sum log(pi B_ij + 1 - pi)` over pairs, and
//!
//! ```text
//! P_ij = pi B_ij / (pi B_ij + 1 - pi)
//! ```
//!
//! is the probability that an edge is right. Taken in the order of `P`, edges are kept while the mean of `1 - P`, the expected
//! share of wrong ones, is at most the share asked for.

use rand::RngExt;
use rayon::prelude::*;

use super::Pairs;
use super::candidates::ALL_PAIRS_MAX;
use crate::graph::k_nearest;
use crate::learn::discrepancy::Gaussian;
use crate::random::{Purpose, stream};

/// Pairs that `pi` is found from, where there are more.
const SAMPLE: usize = 200_000;
/// Nearest nodes that are looked at where there are too many for all pairs.
const NEAREST: usize = 32;

/// What was found about all pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// Share of all pairs that share a model.
    pub share: f64,
    /// Expected share of wrong edges among those kept.
    pub expected_wrong: f64,
    /// Pairs that were looked at.
    pub pairs: usize,
}

/// The pairs kept, how likely each is right, and what was found.
pub struct Kept {
    pub pairs: Pairs,
    pub probability: Vec<f64>,
    pub mixture: Mixture,
}

/// Pairs of which at most a share `wrong` is expected to be wrong.
pub fn select(gaussian: &Gaussian, wrong: f64, seed: u64) -> Kept {
    let n = gaussian.nodes();
    let candidates: Vec<(usize, usize)> = match n <= ALL_PAIRS_MAX {
        true => (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect(),
        false => {
            let near = k_nearest(gaussian.means(), NEAREST).expect("posterior means are finite, and there are enough");
            (0..near.edges()).map(|e| near.nodes_of(e)).collect()
        }
    };
    let odds = log_odds(gaussian, &candidates);
    let share = match candidates.len() <= SAMPLE && n <= ALL_PAIRS_MAX {
        true => share_of_same(&odds),
        // Nearest pairs are no fair sample of all.
        false => share_of_same(&log_odds(gaussian, &random_pairs(n, seed))),
    };
    let mut order: Vec<(f64, usize)> = odds.iter().map(|o| probability(*o, share)).zip(0..).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut expected = 0.0;
    let mut kept = 0;
    for (place, (p, _)) in order.iter().enumerate() {
        expected += 1.0 - p;
        if expected > wrong * (place + 1) as f64 {
            break;
        }
        kept = place + 1;
    }
    order.truncate(kept);
    order.sort_by_key(|edge| edge.1);
    let expected_wrong = order.iter().fold(0.0, |sum, edge| sum + 1.0 - edge.0) / kept.max(1) as f64;
    Kept {
        pairs: order.iter().map(|&(_, pair)| (candidates[pair].0, candidates[pair].1, 1.0)).collect(),
        probability: order.iter().map(|edge| edge.0).collect(),
        mixture: Mixture { share, expected_wrong, pairs: candidates.len() },
    }
}

fn log_odds(gaussian: &Gaussian, pairs: &[(usize, usize)]) -> Vec<f64> {
    pairs.par_iter().map_init(Vec::new, |work, &(i, j)| gaussian.log_odds(i, j, work)).collect()
}

fn random_pairs(n: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut rng = stream(seed, Purpose::Pairs, 0);
    let pair = |_| {
        let (i, j) = (rng.random_range(0..n), rng.random_range(0..n - 1));
        if j < i { (j, i) } else { (i, j + 1) }
    };
    (0..SAMPLE).map(pair).collect()
}

/// `pi B / (pi B + 1 - pi)`, of the log of `B`.
fn probability(log_odds: f64, share: f64) -> f64 {
    1.0 / (1.0 + ((1.0 - share) / share.max(f64::MIN_POSITIVE) * (-log_odds).exp()))
}

/// The most likely share of pairs that share a model, by expectation-maximisation.
fn share_of_same(odds: &[f64]) -> f64 {
    let mut share = 0.5;
    for _ in 0..500 {
        let next = odds.iter().map(|o| probability(*o, share)).sum::<f64>() / odds.len().max(1) as f64;
        let still = (next - share).abs() <= 1e-9;
        share = next.clamp(1e-12, 1.0 - 1e-12);
        if still {
            break;
        }
    }
    share
}
