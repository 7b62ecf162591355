//! The Gaussian mechanism, exactly. A release with noise `sigma` times its sensitivity has `mu = 1 / sigma`; releases compose by
//! `mu^2 = sum mu_k^2`, and
//!
//! ```text
//! delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//!                = phi(t) int_0^inf e^{-t v - v^2/2} (1 - e^{-mu v}) dv,      t = epsilon/mu - mu/2
//! ```
//!
//! The second form has no cancellation and is what is evaluated where the first one would lose digits (Balle and Wang, 2018).

use std::sync::LazyLock;

use super::normal::{cdf, log_density, mills};
use super::quadrature::gauss_legendre;

/// Below this `mu` the difference of two tails loses digits.
const MU_SMALL: f64 = 0.3;
/// The integrand is left out where it has fallen by this many powers of e.
const FALL: f64 = 45.0;
const PANELS: usize = 14;
static RULE: LazyLock<[(f64, f64); 10]> = LazyLock::new(gauss_legendre::<10>);

/// `log delta(epsilon)` of the Gaussian mechanism; any `mu > 0` and `epsilon >= 0`.
pub fn log_delta(mu: f64, epsilon: f64) -> f64 {
    let t = epsilon / mu - 0.5 * mu;
    if mu >= MU_SMALL && t < 0.0 {
        return (cdf(-t) - log_density(t).exp() * mills(t + mu)).ln();
    }
    log_density(t) + excess(mu, t).ln()
}

/// `delta(epsilon)` of the Gaussian mechanism.
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    log_delta(mu, epsilon).exp().min(1.0)
}

/// `M(t) - M(t + mu)` with Mills' ratio `M`.
fn excess(mu: f64, t: f64) -> f64 {
    if mu >= MU_SMALL {
        return mills(t) - mills(t + mu);
    }
    let end = 2.0 * FALL / (t + (t * t + 2.0 * FALL).sqrt());
    let half = 0.5 * end / PANELS as f64;
    let integrand = |v: f64| (-t * v - 0.5 * v * v).exp() * -(-mu * v).exp_m1();
    let panel = |k: usize| {
        let middle = half * (2 * k + 1) as f64;
        RULE.iter().map(|(x, weight)| weight * integrand(middle + half * x)).sum::<f64>()
    };
    half * (0..PANELS).map(panel).sum::<f64>()
}

/// The smallest `epsilon >= 0` with `delta(epsilon) <= delta`, rounded up.
pub fn epsilon(mu: f64, delta: f64) -> f64 {
    let goal = delta.ln();
    if mu == 0.0 || delta >= 1.0 || log_delta(mu, 0.0) <= goal {
        return 0.0;
    }
    if delta <= 0.0 || !mu.is_finite() {
        return f64::INFINITY;
    }
    // delta(epsilon) <= Phi(-t) <= exp(-t^2 / 2) / 2.
    let (mut low, mut high) = (0.0, 0.5 * mu * mu + mu * (-2.0 * goal).max(0.0).sqrt());
    let mut guess = high;
    for _ in 0..200 {
        let above = log_delta(mu, guess) - goal;
        if above > 0.0 {
            low = guess
        } else {
            high = guess
        }
        if high - low <= 1e-14 * high {
            break;
        }
        let t = guess / mu - 0.5 * mu;
        let slope = mills(t + mu) / (log_delta(mu, guess) - log_density(t)).exp();
        // Newton's step, beyond the root by a hair, so that the bracket closes from both sides.
        let step = above / slope;
        let next = guess + step + step.signum() * 2e-15 * guess;
        guess = if next > low && next < high { next } else { 0.5 * (low + high) };
    }
    high
}

/// The largest `mu` that is (epsilon, delta)-private, rounded down.
pub fn mu(epsilon: f64, delta: f64) -> f64 {
    let goal = delta.ln();
    let (mut low, mut high) = (0.0, 1.0);
    while log_delta(high, epsilon) < goal && high < 1e150 {
        (low, high) = (high, 2.0 * high);
    }
    while low == 0.0 && high > 1e-300 && log_delta(0.5 * high, epsilon) > goal {
        high *= 0.5;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if high - low <= 1e-15 * high {
            break;
        }
        if log_delta(middle, epsilon) <= goal { low = middle } else { high = middle }
    }
    low
}
