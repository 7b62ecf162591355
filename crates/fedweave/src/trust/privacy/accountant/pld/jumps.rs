//! Rare large losses, apart from the many small ones.
//!
//! Where a single release can cost as much as all others together, no tilt centres the sum at the answer: the window gets long, the grid coarse, and
//! rounding shows. Losses above a cut ("jumps") are then taken out. With `p` the probability of a jump and `S'` a sum without any,
//!
//! ```text
//! delta(e) <= E[(1 - e^{e - S'_T})+] + T sum_jumps m(l) E[(1 - e^{e - l - S'_{T-1}})+] + (T p)^2 / 2
//! ```
//!
//! because the outcomes without a jump, with one and with more of them are told apart by which releases jumped. The cut is so high that the last term is a small
//! share of `delta`. Sums without jumps have light tails; the second one is needed from its middle on, and has half of the tilt.

use super::super::sampled::{Direction, Moments};
use super::plan::{Plan, Window};
use super::single::{MASS_ERROR, Single};

/// Share of `delta` that two jumps may take.
const SHARE: f64 = 1e-5;

/// Losses without jumps must allow a grid that is finer by this, or a tilt that is larger.
const WORTH: f64 = 0.8;

/// An upper bound on the `epsilon` of taking a row away, which is expected near `near`.
pub fn epsilon(whole: &Plan, near: f64) -> f64 {
    let Window { rounds, delta, .. } = whole.window;
    let jumping = (2.0 * SHARE * delta).sqrt();
    let cut = whole.release.quantile(Direction::Remove, jumping / rounds);
    let most = whole.release.log_ratio(cut);
    if !(whole.z.0 < cut && cut < whole.z.1 && most > 0.0) {
        return f64::INFINITY;
    }
    let (below, above) = ((whole.z.0, cut), (cut, whole.z.1));
    let moments = Moments::new(whole.release, Direction::Remove, below, most);
    let window = Window::near(&moments, most, (rounds, delta), near);
    if window.step > WORTH * whole.window.step && window.theta * WORTH < whole.window.theta {
        return f64::INFINITY;
    }
    let flatter = window.flatter(&moments);
    let small = Single::new(&Plan { z: below, window: window.clone(), ..*whole });
    let jumps = Single::new(&Plan { z: above, tail_below: 0.0, window: window.clone(), ..*whole });
    let (all, others) = (small.compose(&window), small.compose(&flatter));
    let lost = all.beyond + jumping * others.beyond + 0.5 * jumping * jumping + rounds * whole.window.tail_above;
    let left = delta / (1.0 + 4.0 * rounds * MASS_ERROR) - lost;
    if left.is_nan() || left <= 0.0 {
        return f64::INFINITY;
    }
    let bottom = |window: &Window| (window.low / window.step).floor() as i64;
    let (start, floor, beside) = (bottom(&window).max(0), bottom(&flatter), rounds / left);
    let without = all.deltas(&window, start, left.ln());
    let with_one = others.deltas(&flatter, floor, 0.0);
    let one_jump = |at: i64| {
        let term = |(index, mass): &(i64, f64)| mass * read(&with_one, at - index - floor, window.step);
        beside * jumps.atoms.iter().map(term).sum::<f64>()
    };
    let share = |at: i64| without.get((at - start) as usize).copied().unwrap_or(0.0) + one_jump(at);
    root(share, (start, (whole.window.high / window.step).ceil() as i64), window.step)
}

/// An entry of a table of `delta`, or a bound on it before the first one: it is convex in `e^epsilon` and at most one, so that a chord lies above it.
fn read(table: &[f64], place: i64, step: f64) -> f64 {
    match usize::try_from(place) {
        Ok(place) => table.get(place).map_or(0.0, |value| value.min(1.0)),
        Err(_) => 1.0 - (1.0 - table[0].min(1.0)) * (place as f64 * step).exp(),
    }
}

/// Where a decreasing function on a grid falls to one, by the chord between two points.
fn root(share: impl Fn(i64) -> f64, (mut low, mut high): (i64, i64), step: f64) -> f64 {
    if share(low) <= 1.0 {
        return low as f64 * step;
    }
    if high <= low || share(high) > 1.0 {
        return f64::INFINITY;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if share(middle) > 1.0 { low = middle } else { high = middle }
    }
    let (before, after) = (share(low), share(high));
    low as f64 * step + ((before - 1.0) / (before - after) * step.exp_m1()).ln_1p()
}
