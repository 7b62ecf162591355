//! The sum of the losses of all rounds, and the `epsilon` that is read off it.

use super::super::fft::Complex;
use super::plan::Window;
use super::single::MASS_ERROR;

/// Tilted probabilities of the sum of all losses, round a circle.
pub struct Sum {
    /// A transform applied twice, two numbers in each entry: number `k` is `n` times the probability of grid index `offset - k`.
    pub x: Vec<Complex>,
    /// Bounds the error of every probability.
    pub error: f64,
    /// Grid index of the first entry.
    pub offset: f64,
    /// `rounds log E e^{theta loss}`.
    pub log_scale: f64,
    /// Probability that was left out.
    pub beyond: f64,
}

impl Sum {
    /// The probability of a grid index, with its error.
    fn at(&self, index: f64) -> f64 {
        let n = 2 * self.x.len() as i64;
        let place = ((self.offset - index) as i64).rem_euclid(n);
        let pair = self.x[place as usize / 2];
        let size = if place % 2 == 0 { pair.re } else { pair.im };
        (size / n as f64).max(0.0) + self.error
    }

    /// The smallest `epsilon` with `delta(epsilon) <= delta`:
    /// `delta(epsilon) = e^{scale} sum_{s > epsilon} p(s) e^{-theta s} (1 - e^{epsilon - s})`, read from the largest `s` down.
    pub fn epsilon(&self, window: &Window) -> f64 {
        let left = window.delta / (1.0 + 4.0 * window.rounds * MASS_ERROR) - self.beyond;
        if left.is_nan() || left <= 0.0 {
            return f64::INFINITY;
        }
        let scale = self.log_scale - left.ln();
        let (top, bottom) = ((window.high / window.step).ceil(), (window.low / window.step).floor().max(0.0));
        // `above` sums p e^{-theta s}, `below` the same times e^{s_j - s}, where s_j is where the walk is.
        let (mut above, mut below, mut j) = (0.0, 0.0, top);
        let shrink = (-window.step).exp();
        while j >= bottom {
            let p = self.at(j) * (scale - window.theta * j * window.step).exp();
            above += p;
            below = below * shrink + p;
            if above - shrink * below >= 1.0 {
                return (j * window.step + ((above - 1.0) / below).ln()).max(0.0);
            }
            j -= 1.0;
        }
        // Smaller than anything in the window.
        bottom * window.step
    }

    /// `delta(epsilon)` at the grid points from `bottom` to the end of the window, in multiples of `e^log_unit`, without what lies beyond.
    pub fn deltas(&self, window: &Window, bottom: i64, log_unit: f64) -> Vec<f64> {
        let top = (window.high / window.step).ceil() as i64;
        let (scale, shrink) = (self.log_scale - log_unit, (-window.step).exp());
        let mut found = vec![0.0; (top - bottom).max(0) as usize + 1];
        let (mut above, mut below) = (0.0, 0.0);
        for j in (bottom + 1..=top).rev() {
            let p = self.at(j as f64) * (scale - window.theta * j as f64 * window.step).exp();
            above += p;
            below = below * shrink + p;
            found[(j - 1 - bottom) as usize] = above - shrink * below;
        }
        found
    }

    /// The share of `delta` at `epsilon` that the bound on rounding takes.
    pub fn rounding(&self, window: &Window, epsilon: f64) -> f64 {
        let size = (self.log_scale - window.theta * epsilon - window.delta.ln()).exp();
        self.error * size / (window.theta * window.step * (1.0 + window.theta))
    }
}
