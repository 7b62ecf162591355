//! Huber's loss of the residual `r = y - s`: `r^2 / 2` for `|r| <= delta`, `delta (|r| - delta / 2)` beyond.

use super::Pointwise;

/// Quadratic near zero, linear in the tails.
#[derive(Debug, Clone, Copy)]
pub struct Huber {
    /// The threshold `delta > 0`.
    pub delta: f64,
}

impl Pointwise for Huber {
    const NAME: &'static str = "huber";
    const LABELS: &'static str = "finite numbers";

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        let r = (y - s).abs();
        if r <= self.delta { 0.5 * r * r } else { self.delta * (r - 0.5 * self.delta) }
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        (s - y).clamp(-self.delta, self.delta)
    }

    fn curvature(&self, s: f64, y: f64) -> f64 {
        f64::from(u8::from((s - y).abs() <= self.delta))
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}
