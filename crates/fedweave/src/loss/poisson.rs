//! Poisson loss with log link, `exp(s) - y s`, for counts `y = 0, 1, 2, ...` (the constant `log y!` is dropped).

use super::Pointwise;

/// The negative log-likelihood of Poisson regression. Its gradient is not Lipschitz.
#[derive(Debug, Clone, Copy)]
pub struct Poisson;

impl Pointwise for Poisson {
    const NAME: &'static str = "poisson";
    const LABELS: &'static str = "counts 0, 1, 2, ...";

    fn accepts(&self, y: f64) -> bool {
        y >= 0.0 && y.fract() == 0.0
    }

    fn value(&self, s: f64, y: f64) -> f64 {
        s.exp() - y * s
    }

    /// The deviance `2 (y log(y / m) - y + m)` at the mean `m = exp(s)`.
    fn error(&self, s: f64, y: f64) -> f64 {
        let best = if y > 0.0 { y - y * y.ln() } else { 0.0 };
        2.0 * (self.value(s, y) - best).max(0.0)
    }

    fn slope(&self, s: f64, y: f64) -> f64 {
        s.exp() - y
    }

    fn curvature(&self, s: f64, _y: f64) -> f64 {
        s.exp()
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}
