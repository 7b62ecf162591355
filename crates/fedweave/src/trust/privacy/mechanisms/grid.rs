//! Numbers on a grid, with discrete Gaussian noise.
//!
//! The grid is a power of two, so that its points are numbers of double precision, and the noise a whole number of steps, at least
//! [`STEPS`]. What this costs is known exactly. (1) Rounding to the grid moves two vectors of `n` numbers apart by at most
//! `sqrt(n)` steps. (2) Discrete Gaussian noise of `sigma` steps is, up to a factor `e^{+-4.001 e^{-2 pi^2 s^2}}` in every
//! probability of every number, what results if continuous Gaussian noise of `sqrt(sigma^2 - s^2)` is rounded at random with a
//! discrete Gaussian of `s` steps: complete the square, and note that `sum_k e^{-(k - x)^2 / (2 s^2)}` depends on `x` by less than
//! that factor (Poisson's summation formula). With `s = 2` the factor is `e^{+-2e-34}`, below what rounding adds to `epsilon`; so the
//! formula of the continuous mechanism holds for noise of `sqrt(sigma^2 - 4)`.

use rand::Rng;

use super::discrete::{Ratio, gaussian};

/// Steps in a deviation of the noise, at least.
const STEPS: f64 = (1u64 << 20) as f64;
/// Grid points beyond this are moved to it: their numbers stay exact with any noise.
const POINT_MAX: f64 = (1u64 << 51) as f64;
/// `s^2` above.
const ROUNDING_VARIANCE: f64 = 4.0;

/// A grid and the noise on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    step: f64,
    sigma: Ratio,
}

impl Grid {
    /// A grid for `count` numbers that move together by at most `sensitivity` (in the 2-norm), with `multiplier` times as much noise:
    /// as private as Gaussian noise of this multiplier. `None` if a deviation of the noise is not a normal number.
    pub fn new(multiplier: f64, sensitivity: f64, count: usize) -> Option<Grid> {
        let rough = multiplier * sensitivity;
        let step = (rough / STEPS).log2().floor().exp2();
        if !(rough > 0.0 && step.is_normal()) {
            return None;
        }
        let moved = sensitivity / step + (count as f64).sqrt();
        let continuous = multiplier * moved * (1.0 + 1e-9);
        let sigma = (continuous * continuous + ROUNDING_VARIANCE).sqrt().ceil();
        Some(Grid { step, sigma: Ratio::new(sigma as u64, 1)? })
    }

    /// The deviation of the noise.
    pub fn deviation(&self) -> f64 {
        self.step * self.sigma.above as f64
    }

    /// Distance of two grid points.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The number of the grid point near `value`. A number that is not finite is taken for zero.
    pub fn point(&self, value: f64) -> i64 {
        let point = (value / self.step).round().clamp(-POINT_MAX, POINT_MAX);
        if point.is_nan() { 0 } else { point as i64 }
    }

    /// A sum of grid points, with noise. Sums of rows are taken there: in floating point, whose rounding depends on all rows, one
    /// of them could move the sum by more than its own length.
    pub fn perturb_sum(&self, points: i128, rng: &mut impl Rng) -> f64 {
        let most = POINT_MAX as i128;
        (points.clamp(-most, most) as i64 + gaussian(self.sigma, rng)) as f64 * self.step
    }

    /// The grid point near `value`, with noise.
    pub fn perturb(&self, value: f64, rng: &mut impl Rng) -> f64 {
        self.perturb_sum(i128::from(self.point(value)), rng)
    }

    /// Perturbs all `values`.
    pub fn perturb_all(&self, values: &mut [f64], rng: &mut impl Rng) {
        values.iter_mut().for_each(|value| *value = self.perturb(*value, rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn noise_is_on_the_grid_and_as_large_as_promised() {
        let grid = Grid::new(3.0, 0.7, 10).unwrap();
        assert!(grid.deviation() >= 2.1 && grid.deviation() < 2.1 * (1.0 + 1e-4));
        let mut rng = stream(1, Purpose::Noise, 0);
        let noise: Vec<f64> = (0..20_000).map(|_| grid.perturb(0.1, &mut rng)).collect();
        assert!(noise.iter().all(|x| (x / grid.step()).fract() == 0.0));
        let variance = noise.iter().map(|x| (x - 0.1) * (x - 0.1)).sum::<f64>() / noise.len() as f64;
        assert!((variance / (2.1 * 2.1) - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn odd_values_stay_numbers() {
        let grid = Grid::new(1.0, 1e-3, 1).unwrap();
        let mut rng = stream(1, Purpose::Noise, 1);
        for value in [f64::NAN, f64::INFINITY, -1e300, 1e300, -0.0] {
            assert!(grid.perturb(value, &mut rng).is_finite());
        }
        assert!(Grid::new(0.0, 1.0, 1).is_none() && Grid::new(1.0, f64::INFINITY, 1).is_none());
    }
}
