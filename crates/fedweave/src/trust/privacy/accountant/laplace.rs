//! The Laplace mechanism: one number that a row can move by at most 1, with noise of density `e^{-|x| / b} / (2 b)`, on a random sample of
//! the rows if `rate < 1`.
//!
//! With the row or without it, `r = log(density with / density without)` lies between `-1/b` and `1/b`:
//!
//! ```text
//! with:     r = 1/b with probability 1/2,   -1/b with e^{-1/b}/2,   density e^{( r - 1/b) / 2} / 4 in between
//! without:  the same with r for -r
//! ```
//!
//! and, sampled, the loss is `log(1 - q + q e^r)`. Many numbers that a row moves by 1 *together* (1-norm) are covered by the pure
//! `epsilon` alone ([`Laplace::pure`]).

use super::pld::{self, Effort, Single, Window};
use super::sampled::{Direction, Moments};
use super::{Method, Spent, rdp};

/// Losses of one release above this are accounted for by the pure `epsilon`.
const LOSS_MAX: f64 = 300.0;
/// Points by which a window is planned.
const POINTS: usize = 2000;

/// Noise and sampling rate of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    /// Scale of the noise, in multiples of the sensitivity.
    pub scale: f64,
    /// Probability that a row takes part.
    pub rate: f64,
}

impl Laplace {
    /// The `epsilon` of one release at `delta = 0`.
    pub fn pure(&self) -> f64 {
        let most = 1.0 / self.scale;
        if self.rate >= 1.0 || most > LOSS_MAX { most } else { self.log_ratio(most) }
    }

    fn log_ratio(&self, r: f64) -> f64 {
        if self.rate >= 1.0 { r } else { (self.rate * r.exp_m1()).ln_1p() }
    }

    /// The `r` of a loss, moved between its bounds.
    fn inverse(&self, l: f64) -> f64 {
        let (excess, most) = (l.exp_m1() / self.rate, 1.0 / self.scale);
        if self.rate >= 1.0 {
            return l.clamp(-most, most);
        }
        if excess <= -1.0 { -most } else { excess.ln_1p().clamp(-most, most) }
    }

    /// Probabilities with and without the row of `r` between two values; those at the bounds of `r` belong to what touches them.
    fn masses(&self, low: f64, high: f64) -> (f64, f64) {
        let most = 1.0 / self.scale;
        let between = |far: f64| 0.5 * (-0.5 * far).exp() * -(-0.5 * (high - low)).exp_m1();
        let (mut with, mut without) = (between(most - high), between(most + low));
        if high >= most {
            (with, without) = (with + 0.5, without + 0.5 * (-most).exp());
        }
        if low <= -most {
            (with, without) = (with + 0.5 * (-most).exp(), without + 0.5);
        }
        ((1.0 - self.rate) * without + self.rate * with, without)
    }

    /// Probabilities of losses between two values, of the dataset that is there and of the other one.
    pub(super) fn of_losses(&self, direction: Direction, low: f64, high: f64) -> (f64, f64) {
        match direction {
            Direction::Remove => self.masses(self.inverse(low), self.inverse(high)),
            Direction::Add => {
                let (with, without) = self.masses(self.inverse(-high), self.inverse(-low));
                (without, with)
            }
        }
    }

    /// The smallest and the largest loss.
    pub(super) fn losses(&self, direction: Direction) -> (f64, f64) {
        let (low, high) = (self.log_ratio(-1.0 / self.scale), self.log_ratio(1.0 / self.scale));
        if direction == Direction::Remove { (low, high) } else { (-high, -low) }
    }

    fn moments(&self, direction: Direction) -> Moments {
        let most = 1.0 / self.scale;
        let at = |k: usize| most * (2.0 * k as f64 / POINTS as f64 - 1.0);
        let cell = |k: usize| {
            let (low, high) = (at(k), at(k + 1));
            let end = if k == 0 { low } else { high };
            (self.log_ratio(end), self.masses(low, high).1.ln())
        };
        Moments::of_points((0..POINTS).map(cell).collect(), direction, self.losses(direction).1)
    }
}

/// The smallest `epsilon` known to hold at `delta` for `rounds` releases; `delta` may be zero.
pub fn epsilon(release: Laplace, rounds: u64, delta: f64) -> Spent {
    let (Laplace { scale, rate }, count) = (release, rounds as f64);
    let exact = |epsilon| Spent { epsilon, method: Method::Exact };
    if rounds == 0 || rate <= 0.0 || delta >= 1.0 || scale == f64::INFINITY {
        return exact(0.0);
    }
    if scale.is_nan() || scale <= 0.0 || delta.is_nan() {
        return exact(f64::INFINITY);
    }
    let pure = count * release.pure();
    if delta <= 0.0 || 1.0 / scale > LOSS_MAX {
        return exact(pure);
    }
    // One release differs from the other by at most this in any probability.
    if count * rate * -(-0.5 / scale).exp_m1() <= delta {
        return exact(0.0);
    }
    if rate >= 1.0 && rounds == 1 {
        return exact((1.0 / scale + 2.0 * (-delta).ln_1p()).max(0.0));
    }
    let solve = |direction, effort: Effort| {
        let (moments, most) = (release.moments(direction), release.losses(direction).1);
        let window = Window::new(&moments, most, 0.0, count, delta, effort);
        (Single::laplace(&release, direction, &window).compose(&window).epsilon(&window), window.near)
    };
    // Without sampling both directions are the same.
    let sure = if rate < 1.0 { -count * (-rate).ln_1p() } else { 0.0 };
    let found = pld::worse_of_both(solve, sure);
    let renyi = match rate < 1.0 {
        true => f64::INFINITY,
        false => rdp::epsilon(|order| count * rdp::laplace(scale, order), delta),
    };
    let best = found.min(renyi).min(pure);
    let method = match best {
        _ if best == found => Method::LossDistribution,
        _ if best == renyi => Method::Renyi,
        _ => Method::Exact,
    };
    Spent { epsilon: best, method }
}
