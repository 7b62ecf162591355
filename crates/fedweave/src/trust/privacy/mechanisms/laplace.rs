//! Numbers on a grid, with discrete Laplace noise: `epsilon` without any `delta`.
//!
//! The grid is a power of two and the noise a whole number of steps. Numbers that move together by at most `D` in the 1-norm move by at
//! most `D / step + count` steps once they are rounded, and probabilities `~ e^{-|k| / t}` then change by a factor of at most
//! `e^{(D / step + count) / t}`: `t` is chosen such that this is at most `e^epsilon`.

use rand::Rng;

use super::discrete::laplace;

/// Steps in the scale of the noise, about.
const STEPS: f64 = (1u64 << 30) as f64;
/// Larger scales overflow.
const SCALE_MAX: f64 = (1u64 << 40) as f64;
/// Grid points beyond this are moved to it: their numbers stay exact with any noise.
const POINT_MAX: f64 = (1u64 << 51) as f64;

/// A grid and the noise on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceGrid {
    step: f64,
    scale: u64,
}

impl LaplaceGrid {
    /// A grid for `count` numbers that move together by at most `sensitivity` (in the 1-norm). `None` if the noise is not a normal
    /// number, or if there are so many numbers that rounding would matter more than noise.
    pub fn new(epsilon: f64, sensitivity: f64, count: usize) -> Option<LaplaceGrid> {
        let rough = sensitivity / epsilon;
        let step = (rough / STEPS).log2().floor().exp2();
        if !(rough > 0.0 && epsilon > 0.0 && step.is_normal()) {
            return None;
        }
        let scale = ((sensitivity / step + count as f64) / epsilon * (1.0 + 1e-12)).ceil();
        (scale <= SCALE_MAX).then_some(LaplaceGrid { step, scale: scale as u64 })
    }

    /// The scale of the noise.
    pub fn scale(&self) -> f64 {
        self.step * self.scale as f64
    }

    /// Distance of two grid points.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The grid point near `value`, with noise. A number that is not finite is taken for zero.
    pub fn perturb(&self, value: f64, rng: &mut impl Rng) -> f64 {
        let point = (value / self.step).round().clamp(-POINT_MAX, POINT_MAX);
        let point = if point.is_nan() { 0 } else { point as i64 };
        (point + laplace(self.scale, rng)) as f64 * self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn noise_is_on_the_grid_and_as_large_as_promised() {
        let grid = LaplaceGrid::new(0.5, 0.3, 4).unwrap();
        assert!(grid.scale() >= 0.6 && grid.scale() < 0.6 * (1.0 + 1e-7), "{}", grid.scale());
        let mut rng = stream(1, Purpose::Noise, 2);
        let noise: Vec<f64> = (0..20_000).map(|_| grid.perturb(0.1, &mut rng)).collect();
        assert!(noise.iter().all(|x| (x / grid.step()).fract() == 0.0));
        let size = noise.iter().map(|x| (x - 0.1).abs()).sum::<f64>() / noise.len() as f64;
        assert!((size / 0.6 - 1.0).abs() < 0.05, "{size}");
    }

    #[test]
    fn odd_values_stay_numbers() {
        let grid = LaplaceGrid::new(1.0, 1e-3, 1).unwrap();
        let mut rng = stream(1, Purpose::Noise, 3);
        for value in [f64::NAN, f64::INFINITY, -1e300, -0.0] {
            assert!(grid.perturb(value, &mut rng).is_finite());
        }
        assert!(LaplaceGrid::new(0.0, 1.0, 1).is_none() && LaplaceGrid::new(1.0, f64::NAN, 1).is_none());
    }
}
