//! Squared error `(y - s)^2`. Its Hessian is constant, so one factorisation per node serves all iterations.

use super::Pointwise;

/// `(y - s)^2`, any label.
#[derive(Debug, Clone, Copy)]
pub struct Squared;

impl Pointwise for Squared {
    const NAME: &'static str = "squared";
    const LABELS: &'static str = "finite numbers";
    const QUADRATIC: bool = true;

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        (y - s) * (y - s)
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        2.0 * (s - y)
    }

    fn curvature(&self, _s: f64, _y: f64) -> f64 {
        2.0
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (2.0, 2.0)
    }
}
