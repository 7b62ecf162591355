//! How much privacy a sequence of noisy releases costs, never below the truth.
//!
//! A release with noise of `sigma` times its sensitivity, on a random sample of the rows if `rate < 1`, is repeated `rounds` times.
//! Datasets that differ by one row, added or removed, give results that are (`epsilon`, `delta`)-indistinguishable. For sensitivities
//! with respect to *replacing* a row, the values at `rate = 1` hold for replacement.
//!
//! ```
//! use fedweave::trust::privacy::accountant::{Sampled, epsilon};
//! let spent = epsilon(Sampled { sigma: 1.1, rate: 0.01 }, 1000, 1e-5);
//! assert!(spent.epsilon > 1.51 && spent.epsilon < 1.53);
//! ```
//!
//! [`laplace`] does the same for Laplace noise. Where a formula is known ([`gaussian`], one release), it is used; else privacy-loss distributions, and Renyi divergences
//! ([`rdp`]) where there are too many rounds for a fine grid.

mod fft;
pub mod gaussian;
pub mod laplace;
pub mod normal;
mod once;
mod pld;
mod quadrature;
pub mod rdp;
mod sampled;

pub use sampled::Sampled;

use crate::error::{Error, Result};

/// With less noise losses are too long for a grid.
const SIGMA_MIN: f64 = 0.02;

/// How a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A formula, exact.
    Exact,
    /// A privacy-loss distribution: close, from above.
    LossDistribution,
    /// Renyi divergences: from above.
    Renyi,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::LossDistribution => "loss-distribution",
            Method::Renyi => "renyi",
        }
    }
}

/// A sound value of `epsilon`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// The value.
    pub epsilon: f64,
    /// How it was found.
    pub method: Method,
}

/// The smallest `epsilon` known to hold at `delta` for `rounds` releases; infinite without noise or at `delta = 0`.
pub fn epsilon(release: Sampled, rounds: u64, delta: f64) -> Spent {
    let (Sampled { sigma, rate }, rounds) = (release, rounds as f64);
    let exact = |epsilon| Spent { epsilon, method: Method::Exact };
    if rounds == 0.0 || rate <= 0.0 || delta >= 1.0 || sigma == f64::INFINITY {
        return exact(0.0);
    }
    if sigma.is_nan() || sigma <= 0.0 || delta.is_nan() || delta <= 0.0 {
        return exact(f64::INFINITY);
    }
    // One round tells the datasets apart with an advantage of at most this; all of them with `rounds` times that.
    if rounds * rate * gaussian::delta(1.0 / sigma, 0.0) <= delta {
        return exact(0.0);
    }
    let whole = gaussian::epsilon(rounds.sqrt() / sigma, delta);
    if sigma < SIGMA_MIN && rounds > 1.0 {
        // A row that takes part once is seen: sampling helps no more.
        return exact(whole);
    }
    match (rate >= 1.0, rounds == 1.0) {
        (true, _) => exact(whole),
        (false, true) => exact(once::epsilon(release, delta)),
        (false, false) => composed(release, rounds, delta, whole),
    }
}

/// The smallest of three sound bounds: one is close where the grid is fine enough, one follows from a few moments however many rounds there are, and one from
/// releases without sampling, which are never better.
fn composed(release: Sampled, rounds: f64, delta: f64, whole: f64) -> Spent {
    let found = pld::epsilon(release, rounds, delta);
    let renyi = rdp::epsilon(|order| rounds * rdp::sampled(release, order), delta);
    let epsilon = found.min(renyi).min(whole);
    let method = match epsilon {
        _ if epsilon == found => Method::LossDistribution,
        _ if epsilon == renyi => Method::Renyi,
        _ => Method::Exact,
    };
    Spent { epsilon, method }
}

/// The smallest noise, in multiples of the sensitivity, at which `rounds` releases are (`epsilon`, `delta`)-private; to 1e-9 of it
/// from above where a formula is known, else to 1e-4.
pub fn noise(privacy: (f64, f64), rate: f64, rounds: u64) -> Result<f64> {
    let (goal, delta) = privacy;
    check_privacy(goal, delta)?;
    if rate >= 1.0 {
        return Ok((rounds as f64).sqrt() / gaussian::mu(goal, delta) * (1.0 + 1e-12));
    }
    let private = |sigma: f64| epsilon(Sampled { sigma, rate }, rounds, delta).epsilon <= goal;
    let (mut low, mut high) = (1e-3, 1.0);
    while !private(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-4 * high {
        let middle = 0.5 * (low + high);
        if private(middle) { high = middle } else { low = middle }
    }
    Ok(high)
}

/// Refuses values of `epsilon` and `delta` that promise nothing.
pub fn check_privacy(epsilon: f64, delta: f64) -> Result<()> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::Parameter { name: "epsilon", value: epsilon, needs: "positive and finite" });
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::Parameter { name: "delta", value: delta, needs: "between 0 and 1, exclusive" });
    }
    Ok(())
}
