//! What a node makes of the models of its neighbours, some of which may lie.
//!
//! Honest gradient descent moves a model against `2 lambda s`, `s = sum_j A_j t_j` with `t_j = w - w_j`. A rule replaces `s`,
//! prepared for liars that hold up to `b` of the weight `A = sum_j A_j` around the node:
//!
//! ```text
//! median          A * median of t_j, coordinate by coordinate; the node itself (t = 0) counts as one neighbour more
//! trimmed mean    A * mean of what is left of t_j after b of the weight is cut off at both ends of every coordinate
//! ClippedGossip   sum_j A_j clip(t_j, tau),  tau^2 = sum of A_j |t_j|^2 over all but the farthest b, divided by b
//! CS+             sum_j A_j clip(t_j, tau),  tau = the largest length with at least 2 b of the weight at or above it
//! ```
//!
//! ClippedGossip: He, Karimireddy and Jaggi (2022), with the radius of its analysis, whose sum over honest neighbours is taken over
//! those nearest. CS+: Gaucher, Dieuleveut and Hendrikx (2025). If `b` is at least half of the weight nothing is left of a trimmed
//! mean, and CS+ takes the shortest: with too few neighbours a node rather learns alone.
//!
//! What holds if liars have at most `b < A / 2` of the weight: no coordinate of median and trimmed mean leaves the range of what honest
//! neighbours say, the node itself included; liars pull with at most `b tau`, and in CS+ `tau` is at most the largest distance of an
//! honest neighbour, because they cannot fill `2 b` alone.

use crate::matrix::norm2;

/// What a node makes of its neighbours' models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// Their sum: no defence.
    #[default]
    Sum,
    /// The median of every coordinate.
    Median,
    /// The mean of every coordinate without its ends.
    TrimmedMean,
    /// Differences are shortened to the root mean square of those near.
    ClippedGossip,
    /// Differences are shortened to one that honest neighbours reach.
    ClippedSum,
}

/// Room for one node.
#[derive(Debug, Default)]
pub struct RuleWork {
    /// Values or lengths, and weights.
    pairs: Vec<(f64, f64)>,
}

impl RuleWork {
    /// Room for nodes with so many neighbours.
    pub fn new(neighbours: usize) -> RuleWork {
        RuleWork { pairs: Vec::with_capacity(neighbours + 1) }
    }
}

impl Rule {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Rule); 5] = [
        ("sum", Rule::Sum),
        ("median", Rule::Median),
        ("trimmed-mean", Rule::TrimmedMean),
        ("clipped-gossip", Rule::ClippedGossip),
        ("cs-plus", Rule::ClippedSum),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Rule::NAMES.into_iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| name)
    }

    /// `out <-` what stands for `sum_j A_j t_j`, with `t_j` the rows of `differences`, if liars hold up to `liars` of the weight.
    pub fn combine(self, differences: &[f64], weights: &[f64], liars: f64, out: &mut [f64], work: &mut RuleWork) {
        let d = out.len();
        out.fill(0.0);
        let row = |j: usize| &differences[j * d..][..d];
        let total: f64 = weights.iter().sum();
        match self {
            Rule::Sum => add(differences, weights, f64::INFINITY, out),
            Rule::Median | Rule::TrimmedMean => {
                for (c, out) in out.iter_mut().enumerate() {
                    work.pairs.clear();
                    work.pairs.extend(weights.iter().enumerate().map(|(j, a)| (row(j)[c], *a)));
                    *out = total
                        * match self {
                            Rule::Median => median_with_own(&mut work.pairs, total),
                            _ => trimmed_mean(&mut work.pairs, total, liars),
                        };
                }
            }
            Rule::ClippedGossip | Rule::ClippedSum => {
                work.pairs.clear();
                work.pairs.extend(weights.iter().enumerate().map(|(j, a)| (norm2(row(j)), *a)));
                work.pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
                let tau = match self {
                    _ if liars <= 0.0 => f64::INFINITY,
                    Rule::ClippedGossip => near_radius(&work.pairs, liars),
                    _ => reached(&work.pairs, 2.0 * liars),
                };
                add(differences, weights, tau, out);
            }
        }
    }
}

/// `out <- out + sum_j A_j clip(t_j, tau)`.
fn add(differences: &[f64], weights: &[f64], tau: f64, out: &mut [f64]) {
    for (t, a) in differences.chunks_exact(out.len()).zip(weights) {
        let length = norm2(t);
        let shortened = if length > tau { a * tau / length } else { *a };
        out.iter_mut().zip(t).for_each(|(o, t)| *o += shortened * t);
    }
}

/// The median with a zero among the values, as heavy as the mean of them; of two medians the one nearer to zero.
fn median_with_own(pairs: &mut Vec<(f64, f64)>, total: f64) -> f64 {
    if pairs.is_empty() {
        return 0.0;
    }
    let own = total / pairs.len() as f64;
    pairs.push((0.0, own));
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * (total + own) * (1.0 - 1e-12);
    let reach = |sum: &mut f64, pair: &(f64, f64)| {
        *sum += pair.1;
        Some((*sum >= half).then_some(pair.0))
    };
    let lower = pairs.iter().scan(0.0, reach).flatten().next().unwrap_or(0.0);
    let upper = pairs.iter().rev().scan(0.0, reach).flatten().next().unwrap_or(0.0);
    // Between two medians everything is one, zero too if it lies there.
    if lower <= 0.0 && upper >= 0.0 {
        0.0
    } else if lower.abs() < upper.abs() {
        lower
    } else {
        upper
    }
}

/// The mean after `cut` of the weight is cut off at both ends; zero if nothing is left.
fn trimmed_mean(pairs: &mut [(f64, f64)], total: f64, cut: f64) -> f64 {
    let left = total - 2.0 * cut;
    if left <= 1e-12 * total {
        return 0.0;
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut sum) = (0.0, 0.0);
    for (value, weight) in pairs.iter() {
        // What of this weight lies between the ends.
        let inside = (below + weight).min(total - cut) - below.max(cut);
        if inside > 0.0 {
            sum += inside * value;
        }
        below += weight;
    }
    sum / left
}

/// `tau` of ClippedGossip for lengths in decreasing order.
fn near_radius(lengths: &[(f64, f64)], liars: f64) -> f64 {
    let (mut above, mut sum) = (0.0, 0.0);
    for (length, weight) in lengths {
        let counted = (above + weight - liars).clamp(0.0, *weight);
        // A length that does not count may be infinite.
        if counted > 0.0 {
            sum += counted * length * length;
        }
        above += weight;
    }
    (sum / liars).sqrt()
}

/// The largest length with at least so much weight at or above it; the shortest if there is not so much.
fn reached(lengths: &[(f64, f64)], weight: f64) -> f64 {
    let mut above = 0.0;
    for (length, a) in lengths {
        above += a;
        if above >= weight * (1.0 - 1e-12) {
            return *length;
        }
    }
    lengths.last().map_or(0.0, |last| last.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    fn combine(rule: Rule, t: &[f64], weights: &[f64], liars: f64, d: usize) -> Vec<f64> {
        let mut out = vec![0.0; d];
        rule.combine(t, weights, liars, &mut out, &mut RuleWork::default());
        out
    }

    #[test]
    fn small_cases_by_hand() {
        let t = [1.0, 2.0, 4.0, 100.0, -3.0];
        let ones = [1.0; 5];
        assert_eq!(combine(Rule::Sum, &t, &ones, 1.0, 1), [104.0]);
        // Without the smallest and the largest: 7 / 3 each, five times.
        assert!((combine(Rule::TrimmedMean, &t, &ones, 1.0, 1)[0] - 35.0 / 3.0).abs() < 1e-12);
        // With the own model: -3, 0, 1, 2, 4, 100; of 1 and 2 the nearer one.
        assert_eq!(combine(Rule::Median, &t, &ones, 1.0, 1), [5.0]);
        // 2 b = 2: the second longest is 4.
        assert_eq!(combine(Rule::ClippedSum, &t, &ones, 1.0, 1), [1.0 + 2.0 + 4.0 + 4.0 - 3.0]);
        let tau = (1.0f64 + 4.0 + 16.0 + 9.0).sqrt();
        assert!((combine(Rule::ClippedGossip, &t, &ones, 1.0, 1)[0] - (4.0 + tau)).abs() < 1e-12);
        // A cut may go through a weight: half of the 4 is left.
        assert!((combine(Rule::TrimmedMean, &[0.0, 4.0], &[3.0, 1.0], 0.5, 1)[0] - 4.0 * 2.0 / 3.0).abs() < 1e-12);
        // The only neighbour may be a liar.
        for rule in [Rule::Median, Rule::TrimmedMean] {
            assert_eq!(combine(rule, &[1e9], &[1.0], 1.0, 1), [0.0], "{rule:?}");
        }
        assert_eq!(combine(Rule::ClippedGossip, &[1e9], &[1.0], 1.0, 1), [0.0]);
        for (_, rule) in Rule::NAMES {
            assert_eq!(combine(rule, &[], &[], 1.0, 2), [0.0, 0.0]);
        }
    }

    /// Without liars to fear, trimming and clipping are the sum, and so is everything where all say the same.
    #[test]
    fn nothing_to_fear_is_the_sum() {
        let mut random = stream(5, Purpose::Pairs, 0);
        for _ in 0..200 {
            let k = random.random_range(1..7);
            let t: Vec<f64> = (0..2 * k).map(|_| random.random_range(-1.0..1.0)).collect();
            let weights: Vec<f64> = (0..k).map(|_| random.random_range(0.1..2.0)).collect();
            let plain = combine(Rule::Sum, &t, &weights, 0.0, 2);
            for rule in [Rule::TrimmedMean, Rule::ClippedGossip, Rule::ClippedSum] {
                let found = combine(rule, &t, &weights, 0.0, 2);
                assert!(plain.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-12), "{rule:?}: {plain:?} {found:?}");
            }
        }
    }

    /// However large a lie: coordinates stay in the range of honest neighbours and the own model, and the pull of liars below
    /// the largest honest distance.
    #[test]
    fn lies_do_not_leave_the_range_of_the_honest() {
        let mut random = stream(6, Purpose::Pairs, 1);
        for case in 0..2_000 {
            let honest = random.random_range(2..8);
            let liars = random.random_range(1..honest.max(2));
            let k = honest + liars;
            let mut t: Vec<f64> = (0..2 * honest).map(|_| random.random_range(-1.0..1.0)).collect();
            let lie = 10f64.powf(random.random_range(-1.0..9.0));
            t.extend((0..2 * liars).map(|_| lie * random.random_range(-1.0..1.0)));
            let weights = vec![1.0; k];
            let of = |rule| combine(rule, &t, &weights, liars as f64, 2);
            for rule in [Rule::Median, Rule::TrimmedMean] {
                for (c, found) in of(rule).into_iter().enumerate() {
                    let said = (0..honest).map(|j| t[2 * j + c]).chain([0.0]);
                    let (low, high) = said.fold((0.0f64, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
                    let mean = found / k as f64;
                    assert!(low - 1e-9 <= mean && mean <= high + 1e-9, "{case} {rule:?}: {mean} not in {low}..{high}");
                }
            }
            let farthest = (0..honest).map(|j| norm2(&t[2 * j..][..2])).fold(0.0, f64::max);
            let pull = norm2(&of(Rule::ClippedSum));
            // At most the honest ones, none longer than the farthest, and the liars, shortened to it.
            assert!(pull <= k as f64 * farthest + 1e-9, "{case}: {pull} {farthest}");
        }
    }
}
