//! A kink made smooth: the augmented Lagrangian of `l(s, y) = max(low (s - y), high (s - y))` in its slope `b`,
//!
//! ```text
//! max over low <= b <= high of   b (s - y) - (b - b0)^2 / (2 sigma)
//! ```
//!
//! which is, up to a constant, a Huber-like loss of the shifted label `y - b0 / sigma`: quadratic near it, with slopes
//! `low` and `high` far away.

use super::Pointwise;

/// The pointwise loss; labels are shifted by whoever builds it.
#[derive(Debug, Clone, Copy)]
pub struct SoftKink {
    pub low: f64,
    pub high: f64,
    pub sigma: f64,
}

impl Pointwise for SoftKink {
    const NAME: &'static str = "softened";
    const LABELS: &'static str = "finite numbers";

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        let b = self.slope(s, y);
        b * (s - y) - b * b / (2.0 * self.sigma)
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        (self.sigma * (s - y)).clamp(self.low, self.high)
    }

    fn curvature(&self, s: f64, y: f64) -> f64 {
        let b = self.sigma * (s - y);
        if b > self.low && b < self.high { self.sigma } else { 0.0 }
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (0.0, self.sigma)
    }
}
