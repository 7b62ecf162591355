//! Logistic loss `log(1 + exp(-y s))`, labels -1 and +1.

use super::Pointwise;

/// The negative log-likelihood of logistic regression.
#[derive(Debug, Clone, Copy)]
pub struct Logistic;

impl Pointwise for Logistic {
    const NAME: &'static str = "logistic";
    const LABELS: &'static str = "labels -1 and 1 (or 0 and 1)";

    fn accepts(&self, y: f64) -> bool {
        y == 1.0 || y == -1.0
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        let margin = y * s;
        // log(1 + exp(-t)) without overflow for t < 0 and without cancellation for t > 0.
        (-margin.abs()).exp().ln_1p() + (-margin).max(0.0)
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        -y * sigmoid(-y * s)
    }

    fn curvature(&self, s: f64, _y: f64) -> f64 {
        let e = (-s.abs()).exp();
        e / ((1.0 + e) * (1.0 + e))
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (0.0, 0.25)
    }
}

/// `1 / (1 + exp(-t))`.
fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}
