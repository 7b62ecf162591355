//! Privacy-loss distributions: `rounds` releases of a [`Sampled`] Gaussian mechanism, from above.
//!
//! The loss of one release is moved to a grid so that the probabilities of both datasets are kept (a loss between two grid points
//! is split between them such that `E[1]` and `E[e^-loss]` stay the same). That dominates the release at every `epsilon`, so the
//! composition is dominated too (Doroshenko et al. 2022; Zhu et al. 2022), and the surplus is of second order in the step. Sums are
//! formed by FFT of probabilities tilted by `e^{theta loss}`, with `theta` such that the tilted sum is centred near the answer:
//! rounding is then small against what is read off, however small `delta` is. What is left out is counted into `delta`: losses
//! beyond the grid, sums above the window (Chernoff), and bounds on the rounding errors of masses and transforms. Sums that leave
//! the window come back at its other end, which only adds to it.

mod jumps;
mod plan;
mod single;
mod sum;

use super::sampled::{Direction, Sampled};
use plan::Plan;
pub use plan::{Effort, Window};
pub use single::Single;

/// Most attempts to centre the tilt at the answer.
const REFINEMENTS: usize = 6;
/// The share of `delta` that bounds on rounding may take.
const ROUNDING: f64 = 1e-5;

/// An upper bound on the `epsilon` of `rounds` releases at `delta`, for rows added and rows removed.
pub fn epsilon(release: Sampled, rounds: f64, delta: f64) -> f64 {
    let solve = |direction, effort| {
        let plan = Plan::new(release, rounds, delta, direction, effort);
        let (found, strained) = plain(&plan);
        let apart = strained && direction == Direction::Remove && effort != Effort::Quick;
        let near = plan.window.near;
        (if apart { found.min(jumps::epsilon(&plan, near)) } else { found }, near)
    };
    worse_of_both(solve, -rounds * (-release.rate).ln_1p())
}

/// A bound, and whether it suffers from a coarse grid or from rounding.
fn plain(plan: &Plan) -> (f64, bool) {
    let window = &plan.window;
    let sum = Single::new(plan).compose(window);
    let found = sum.epsilon(window);
    let rounding = sum.rounding(window, found);
    (found, window.coarse || rounding.is_nan() || rounding > ROUNDING)
}

/// The larger bound of both directions. `solve` gives a bound and where it expected one; `sure` bounds what adding a row costs, because its
/// loss is at most `-log(1 - q)` in every round.
pub fn worse_of_both(solve: impl Fn(Direction, Effort) -> (f64, f64), sure: f64) -> f64 {
    let refined = |direction, (mut best, expected): (f64, f64)| {
        let mut near = expected.min(best);
        for _ in 0..REFINEMENTS {
            if best == 0.0 {
                break;
            }
            let found = solve(direction, Effort::Full { near }).0;
            best = best.min(found);
            if found > 0.95 * near {
                break;
            }
            near = found;
        }
        best
    };
    let remove = refined(Direction::Remove, solve(Direction::Remove, Effort::Quick));
    // Taking a row away costs more in all known cases. Then a simple bound for adding one is enough.
    if sure <= remove {
        return remove;
    }
    let add = solve(Direction::Add, Effort::Quick);
    if add.0 <= remove { remove } else { remove.max(refined(Direction::Add, add).min(sure)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::privacy::accountant::once;

    #[test]
    fn one_round_is_the_formula_from_above() {
        for (sigma, rate, delta) in [(1.097, 0.01, 1e-5), (3.56, 0.5, 1e-9), (0.5, 0.2, 1e-6), (20.0, 0.1, 1e-4)] {
            let release = Sampled { sigma, rate };
            let (bound, exact) = (epsilon(release, 1.0, delta), once::epsilon(release, delta));
            assert!(bound >= exact * (1.0 - 1e-12) && bound < 1.01 * exact, "{release:?}: {bound} {exact}");
        }
    }
}
