//! Renyi differential privacy: `D_alpha` of one release, which adds up over releases, and the `epsilon` that follows.

use super::sampled::{Direction, Moments, Sampled};

/// Orders at which a bound is looked for: one plus powers of this ratio, with exponents between two bounds. They depend on nothing, so that the bound on
/// `epsilon` grows with every divergence.
const RATIO: f64 = 1.1;
const EXPONENTS: (i32, i32) = (-170, 97);
/// Over longer intervals the quadrature, whose points are limited, would step over the density.
const REACH_MAX: f64 = 3000.0;
/// The quadrature is exact to this.
const ROUNDING: f64 = 1e-12;

/// The divergence of the Gaussian mechanism at an order above 1.
pub fn gaussian(sigma: f64, order: f64) -> f64 {
    0.5 * order / (sigma * sigma)
}

/// The divergence of the Laplace mechanism with noise of scale `b` times its sensitivity (Mironov 2017, proposition 6).
pub fn laplace(b: f64, order: f64) -> f64 {
    let (up, down) = (order / (2.0 * order - 1.0), (order - 1.0) / (2.0 * order - 1.0));
    // The larger exponential is taken out.
    let rest = (up + down * (-(2.0 * order - 1.0) / b).exp()).ln();
    ((order - 1.0) / b + rest) / (order - 1.0)
}

/// The divergence of the Poisson-sampled Gaussian mechanism, at integer and fractional orders. Taking a row away is the worse
/// direction (Mironov, Talwar and Zhang 2019).
pub fn sampled(release: Sampled, order: f64) -> f64 {
    let reach = 14.0 + order / release.sigma;
    if reach > REACH_MAX {
        // Without sampling it is never better.
        return gaussian(release.sigma, order);
    }
    let moments = Moments::new(release, Direction::Remove, (-14.0, reach), 1.0);
    (moments.at(order - 1.0).0 + ROUNDING).max(0.0) / (order - 1.0)
}

/// The smallest `epsilon` at `delta` that follows from the divergence of all releases together at some order (Canonne, Kamath
/// and Steinke 2020, proposition 12).
pub fn epsilon(divergence: impl Fn(f64) -> f64, delta: f64) -> f64 {
    let at = |exponent: i32| {
        let order = 1.0 + RATIO.powi(exponent);
        let above = order - 1.0;
        divergence(order) + (above / order).ln() - (delta.ln() + above.ln_1p()) / above
    };
    // It falls and rises again: log-moments are convex.
    let (mut low, mut high) = EXPONENTS;
    while high - low > 4 {
        let middle = (low + high) / 2;
        if at(middle) > at(middle + 1) { low = middle } else { high = middle + 1 }
    }
    (low..=high).map(at).fold(f64::INFINITY, f64::min).max(0.0)
}
