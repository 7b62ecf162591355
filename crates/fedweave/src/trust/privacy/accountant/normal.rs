//! The normal distribution where its tails matter: values stay accurate in relative terms down to the smallest numbers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Above this the continued fraction of Mills' ratio is exact to rounding after [`FRACTION_TERMS`] terms.
const FRACTION_FROM: f64 = 5.0;
const FRACTION_TERMS: usize = 80;

/// `log phi(x)`.
pub fn log_density(x: f64) -> f64 {
    -0.5 * x * x - 0.5 * (2.0 * PI).ln()
}

/// `Phi(x)`.
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Mills' ratio `Phi(-x) / phi(x)`, for `x >= -30`.
pub fn mills(x: f64) -> f64 {
    if x < FRACTION_FROM {
        return cdf(-x) * (0.5 * x * x).exp() * (2.0 * PI).sqrt();
    }
    // 1 / (x + 1 / (x + 2 / (x + 3 / ...))), from the end.
    let tail = (1..=FRACTION_TERMS).rev().fold(x, |tail, k| x + k as f64 / tail);
    1.0 / tail
}

/// `log Phi(x)`.
pub fn log_cdf(x: f64) -> f64 {
    if x > -FRACTION_FROM { cdf(x).ln() } else { log_density(x) + mills(-x).ln() }
}

/// An `x >= 0` with `Phi(-x) <= p`, close to the smallest such one.
pub fn upper_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, (-2.0 * p.ln()).max(0.0).sqrt() + 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if log_cdf(-middle) <= p.ln() { high = middle } else { low = middle }
    }
    high
}
