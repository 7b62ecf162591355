//! `|t|_2^2` up to `|t|_2 = delta`, and beyond the line that continues it: `delta (2 |t|_2 - delta)`.
//!
//! Models of neighbours are drawn together as by the square, but nobody pulls harder than `2 delta`, however far away.

use super::norm2::{derivative, project};
use super::{Penalty, ball_excess};
use crate::error::{Error, Result};
use crate::matrix::{dot, norm2};
use crate::penalty::ROUNDING;

/// The squared Euclidean norm with a bounded gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HuberNorm {
    delta: f64,
}

impl HuberNorm {
    /// With the distance from which on the pull no longer grows.
    pub fn new(delta: f64) -> Result<Self> {
        match delta > 0.0 && delta.is_finite() {
            true => Ok(HuberNorm { delta }),
            false => Err(Error::Parameter { name: "delta of the Huber penalty", value: delta, needs: "positive" }),
        }
    }

    /// The distance from which on the pull no longer grows.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Radius of the ball in which the conjugate is finite.
    fn radius(&self, weight: f64) -> f64 {
        2.0 * weight * self.delta
    }
}

/// What the dual step of the square leaves of a flow.
fn kept(weight: f64, sigma: f64) -> f64 {
    1.0 / (1.0 + sigma / (2.0 * weight))
}

impl Penalty for HuberNorm {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn pull_max(&self, _dim: usize) -> Option<f64> {
        Some(2.0 * self.delta)
    }

    fn value(&self, _edge: usize, t: &[f64]) -> f64 {
        let size = norm2(t);
        if size <= self.delta { dot(t, t) } else { self.delta * (2.0 * size - self.delta) }
    }

    fn prox(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let (size, inside) = (norm2(t), 1.0 + 2.0 * weight);
        let keep = if size <= inside * self.delta { 1.0 / inside } else { 1.0 - self.radius(weight) / size };
        t.iter_mut().for_each(|t| *t *= keep);
    }

    fn gradient(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let scale = 2.0 * weight * (self.delta / norm2(t)).min(1.0);
        t.iter_mut().for_each(|t| *t *= scale);
    }

    fn smoothness(&self, _edge: usize) -> f64 {
        2.0
    }

    fn conjugate(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        match norm2(u) <= self.radius(weight) * (1.0 + ROUNDING) {
            true => dot(u, u) / (4.0 * weight),
            false => f64::INFINITY,
        }
    }

    fn excess(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_excess(norm2(u), self.radius(weight))
    }

    /// The step of the square, then onto the ball: both are multiples of the flow.
    fn prox_conjugate(&self, _edge: usize, weight: f64, sigma: f64, u: &mut [f64], _work: &mut [f64]) {
        let keep = kept(weight, sigma);
        u.iter_mut().for_each(|u| *u *= keep);
        project(self.radius(weight), u);
    }

    fn stiffness(&self, _edge: usize, weight: f64, sigma: f64, y: &[f64]) -> f64 {
        let (keep, radius, size) = (kept(weight, sigma), self.radius(weight), norm2(y));
        if keep * size > radius { radius / size * (1.0 - 1.0 / y.len() as f64) } else { keep }
    }

    fn jacobian(&self, _edge: usize, weight: f64, sigma: f64, y: &[f64], v: &mut [f64], _work: &mut [f64]) {
        let keep = kept(weight, sigma);
        // The projection of `keep y` onto the ball is that of `y` onto one so much larger, times `keep`.
        derivative(self.radius(weight) / keep, y, v);
        v.iter_mut().for_each(|v| *v *= keep);
    }
}
