//! Tries to break a claim of privacy: many nodes hold a canary, a row that is one of two at the toss of a coin, and an attacker who
//! sees everything that is released guesses which. Who is (`epsilon`, `delta`)-private makes both kinds of mistakes often:
//! `1 - delta <= FNR + e^epsilon FPR` and the same with the roles exchanged (equation 9.5 of the book). Mistakes that are too rare refute the
//! claim: a lower bound on `epsilon`, with a stated probability of being wrong.
//!
//! Canaries are as different as rows can be and the attacker knows all other rows, so that a sound mechanism is tested at its
//! limit. A [`Flaw`] plants a mistake, for tests: an audit that does not find it is worth nothing.

mod binomial;
mod canary;
mod descent;
mod misfit;
mod models;

pub use binomial::upper_bound;
pub use canary::{Canaries, Flaw, Scores};
pub use descent::DescentCanaries;
pub use misfit::misfit;
pub use models::ModelCanaries;

use super::accountant::gaussian;

/// A lower bound on `epsilon`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerBound {
    /// What holds for any mechanism.
    pub epsilon: f64,
    /// What holds if the mechanism adds Gaussian noise: closer, because mistakes at one threshold tell about all others.
    pub gaussian: f64,
}

impl LowerBound {
    const NONE: LowerBound = LowerBound { epsilon: 0.0, gaussian: 0.0 };

    /// The larger of two, each.
    fn max(self, other: LowerBound) -> LowerBound {
        LowerBound { epsilon: self.epsilon.max(other.epsilon), gaussian: self.gaussian.max(other.gaussian) }
    }
}

/// The lower bound that the attacker's scores prove, but for a probability of `error`. Several attacks share it.
pub fn lower_bound(attacks: &[Scores], delta: f64, error: f64) -> LowerBound {
    let share = error / attacks.len().max(1) as f64;
    attacks.iter().map(|scores| one_attack(scores, delta, share)).fold(LowerBound::NONE, LowerBound::max)
}

/// A tenth of the scores chooses thresholds, the others are judged by them.
fn one_attack(scores: &Scores, delta: f64, error: f64) -> LowerBound {
    let halves = |all: &[f64]| {
        let (choose, judge) = all.split_at(all.len() / 10);
        let mut choose = choose.to_vec();
        choose.sort_unstable_by(f64::total_cmp);
        (choose, judge.to_vec())
    };
    let ((choose_with, with), (choose_without, without)) = (halves(&scores.with), halves(&scores.without));
    if choose_with.is_empty() || choose_without.is_empty() {
        return LowerBound::NONE;
    }
    // Two directions, each with two thresholds and two rates.
    let share = error / 8.0;
    let direction = |choose_high: &[f64], choose_low: &[f64], high: &[f64], low: &[f64], sign: f64| {
        let judged = |threshold: f64| {
            let above = |all: &[f64]| all.iter().filter(|score| sign * **score > threshold).count();
            let false_positives = upper_bound(above(low), low.len(), share);
            let false_negatives = upper_bound(high.len() - above(high), high.len(), share);
            (false_positives, false_negatives)
        };
        let (rare, middle) = thresholds(choose_high, choose_low, delta, sign);
        let (fp, fn_) = judged(rare);
        let epsilon = ((1.0 - delta - fn_) / fp).ln().max(0.0);
        let (fp, fn_) = judged(middle);
        let mu = quantile(1.0 - fp) - quantile(fn_);
        LowerBound { epsilon, gaussian: if mu > 0.0 { gaussian::epsilon(mu, delta) } else { 0.0 } }
    };
    let up = direction(&choose_with, &choose_without, &with, &without, 1.0);
    up.max(direction(&choose_without, &choose_with, &without, &with, -1.0))
}

/// The `x` with `Phi(x) = p`.
fn quantile(p: f64) -> f64 {
    use super::accountant::normal::upper_quantile;
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p < 0.5 { -upper_quantile(p) } else { upper_quantile(1.0 - p) }
}

/// Where the two rates promise the largest bound, and where mistakes of both kinds are about as frequent. Scores are sorted.
fn thresholds(high: &[f64], low: &[f64], delta: f64, sign: f64) -> (f64, f64) {
    let above = |all: &[f64], threshold: f64| {
        let below = match sign > 0.0 {
            true => all.partition_point(|score| *score <= threshold),
            false => all.len() - all.partition_point(|score| *score < -threshold),
        };
        all.len() - below
    };
    let n = low.len();
    let candidates = (1..64).map(|k| {
        let share = 0.5 * 10f64.powf(-4.0 * f64::from(k) / 64.0);
        let place = ((n as f64 * share) as usize).clamp(1, n) - 1;
        if sign > 0.0 { low[n - 1 - place] } else { -low[place] }
    });
    let worth = |threshold: f64| {
        // What a bound at half the confidence would say, by the deviation of a count.
        let (fp, tp) = (above(low, threshold) as f64, above(high, threshold) as f64 / high.len() as f64);
        ((tp - delta) / ((fp + 3.0 * (fp + 1.0).sqrt()) / n as f64)).ln()
    };
    let rare = candidates.max_by(|a, b| worth(*a).total_cmp(&worth(*b))).unwrap_or(0.0);
    let median = |all: &[f64]| sign * all[all.len() / 2];
    (rare, 0.5 * (median(high) + median(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand_distr::{Distribution, Normal};

    fn scores(mu: f64, count: usize, seed: u64) -> Scores {
        let mut rng = stream(seed, Purpose::Canaries, 0);
        let mut draw = |mean| {
            let normal = Normal::new(mean, 1.0).unwrap();
            (0..count).map(|_| normal.sample(&mut rng)).collect::<Vec<f64>>()
        };
        Scores { with: draw(mu), without: draw(0.0) }
    }

    #[test]
    fn bounds_lie_below_the_truth_and_not_far() {
        for claimed in [1.0, 4.0] {
            let mu = gaussian::mu(claimed, 1e-5);
            let bound = lower_bound(&[scores(mu, 200_000, 1)], 1e-5, 0.05);
            assert!(bound.epsilon <= claimed && bound.gaussian <= claimed, "{claimed}: {bound:?}");
            assert!(bound.gaussian > 0.9 * claimed, "{claimed}: {bound:?}");
            assert!(bound.epsilon > 0.5 * claimed, "{claimed}: {bound:?}");
        }
    }

    #[test]
    fn a_bound_is_wrong_as_seldom_as_it_says() {
        let mu = gaussian::mu(1.0, 1e-5);
        let wrong = (0..400)
            .filter(|seed| {
                let bound = lower_bound(&[scores(mu, 2_000, 100 + seed)], 1e-5, 0.05);
                bound.epsilon > 1.0 || bound.gaussian > 1.0
            })
            .count();
        assert!(wrong <= 20, "{wrong} of 400");
    }
}
