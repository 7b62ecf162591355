//! The laws every loss, every penalty and every model must obey, as checks anyone can run on their own implementation.
//!
//! A check draws one random case from a seed and returns the first [`Violation`]. They know nothing about the function
//! at hand: gradients are compared with differences, proximal operators with their optimality condition and
//! with a slow search, conjugates with Fenchel's inequality, fast block versions with plain loops.
//!
//! ```
//! use fedweave::laws::check_penalty;
//! use fedweave::penalty::Norm2;
//! for seed in 0..10 {
//!     check_penalty(&Norm2, 3, seed).unwrap();
//! }
//! ```

mod loss;
mod model;
mod penalty;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use thiserror::Error;

pub use loss::check_loss;
pub use model::{ModelLaws, check_model};
pub use penalty::check_penalty;

use crate::matrix::norm2;

/// A law that does not hold: `found` should have been at most `allowed`.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{law}: {found:e} exceeds {allowed:e}")]
pub struct Violation {
    /// The law, in words.
    pub law: &'static str,
    /// What was measured.
    pub found: f64,
    /// What would have been right.
    pub allowed: f64,
}

fn at_most(law: &'static str, found: f64, allowed: f64) -> Result<(), Violation> {
    // Written so that a NaN is a violation.
    if found <= allowed { Ok(()) } else { Err(Violation { law, found, allowed }) }
}

/// Random vectors for the checks.
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn normal(&mut self, d: usize, scale: f64) -> Vec<f64> {
        (0..d).map(|_| scale * self.0.sample::<f64, _>(StandardNormal)).collect()
    }

    /// Between `low` and `high`, evenly on a logarithmic scale.
    pub(crate) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.0.random::<f64>()).exp()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }
}

/// A search that knows nothing but values: random directions, steps that grow on success and shrink on failure.
fn slow_search(f: impl Fn(&[f64]) -> f64, start: &[f64], draw: &mut Draw) -> f64 {
    let (mut z, mut step) = (start.to_vec(), 1.0 + norm2(start));
    let mut value = f(&z);
    for _ in 0..400 {
        let direction = draw.normal(z.len(), step / (z.len() as f64).sqrt());
        let trial: Vec<f64> = z.iter().zip(&direction).map(|(z, v)| z + v).collect();
        let found = f(&trial);
        if found < value {
            (z, value, step) = (trial, found, step * 2.0);
        } else {
            step *= 0.9;
        }
    }
    value
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `f(z + delta) - f(z)` is at least `|delta|^2 / (2 tau)` at the minimiser `z` of a function that contains
/// `|z - w|^2 / (2 tau)`; checked for random `delta` of many sizes and by the slow search.
fn check_prox_point(
    h: impl Fn(&[f64]) -> f64,
    z: &[f64],
    start: &[f64],
    tau: f64,
    draw: &mut Draw,
) -> Result<(), Violation> {
    let value = h(z);
    let rounding = 1e-10 * (1.0 + value.abs());
    for exponent in 0..8 {
        let delta = draw.normal(z.len(), 10f64.powi(-exponent));
        let moved: Vec<f64> = z.iter().zip(&delta).map(|(z, d)| z + d).collect();
        let growth = h(&moved) - value;
        let wanted = norm2(&delta).powi(2) / (2.0 * tau);
        at_most("optimality of the proximal point", wanted - growth, 1e-7 * wanted + rounding)?;
    }
    let searched = slow_search(&h, start, draw);
    at_most("proximal point against a slow search", value - searched, rounding)
}

/// `|P(a) - P(b)|^2 <= (P(a) - P(b))'(a - b)`.
fn check_firm(pa: &[f64], pb: &[f64], a: &[f64], b: &[f64]) -> Result<(), Violation> {
    let (p, v) = (difference(pa, pb), difference(a, b));
    let along = crate::matrix::dot(&p, &v);
    let size = norm2(&p).powi(2);
    at_most("firm non-expansiveness", size - along, 1e-9 * (norm2(&v).powi(2) + 1e-3))
}
