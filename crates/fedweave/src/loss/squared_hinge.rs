//! Squared hinge `max(0, 1 - y s)^2`, labels -1 and +1: the loss of the L2 support vector machine.

use super::Pointwise;

/// Zero beyond the margin, quadratic before it.
#[derive(Debug, Clone, Copy)]
pub struct SquaredHinge;

impl Pointwise for SquaredHinge {
    const NAME: &'static str = "squared-hinge";
    const LABELS: &'static str = "labels -1 and 1 (or 0 and 1)";

    fn accepts(&self, y: f64) -> bool {
        y == 1.0 || y == -1.0
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        (1.0 - y * s).max(0.0).powi(2)
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        -2.0 * y * (1.0 - y * s).max(0.0)
    }

    fn curvature(&self, s: f64, y: f64) -> f64 {
        if y * s < 1.0 { 2.0 } else { 0.0 }
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (0.0, 2.0)
    }
}
