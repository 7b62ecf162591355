//! `|t|_inf`: only the largest difference counts; the dual ball is that of the 1-norm.

use super::{Penalty, ball_excess, ball_indicator};

/// The largest absolute value.
#[derive(Debug, Clone, Copy)]
pub struct NormInf;

impl Penalty for NormInf {
    fn name(&self) -> &'static str {
        "norminf"
    }

    fn is_norm(&self) -> bool {
        true
    }

    fn pull_max(&self, _dim: usize) -> Option<f64> {
        Some(1.0)
    }

    fn value(&self, _edge: usize, t: &[f64]) -> f64 {
        t.iter().fold(0.0, |m, t| m.max(t.abs()))
    }

    /// What the projection onto the 1-norm ball leaves.
    fn prox(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let level = clip_level(t, weight);
        t.iter_mut().for_each(|t| *t = t.clamp(-level, level));
    }

    fn gradient(&self, edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let size = self.value(edge, t);
        let largest = t.iter().position(|t| t.abs() == size && size > 0.0);
        for (j, t) in t.iter_mut().enumerate() {
            *t = if Some(j) == largest { weight.copysign(*t) } else { 0.0 };
        }
    }

    fn conjugate(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_indicator(sum_abs(u), weight)
    }

    fn excess(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_excess(sum_abs(u), weight)
    }

    fn dual_norm(&self, _edge: usize, u: &[f64]) -> Option<f64> {
        Some(sum_abs(u))
    }

    /// Projection onto the 1-norm ball: soft thresholding at the level that makes the norm equal to the radius.
    fn prox_conjugate(&self, _edge: usize, weight: f64, _sigma: f64, u: &mut [f64], _work: &mut [f64]) {
        let level = clip_level(u, weight);
        u.iter_mut().for_each(|u| *u -= u.clamp(-level, level));
    }

    /// Inside the ball the identity; outside, the entries above the level move with their mean (signed) removed.
    fn jacobian(&self, _edge: usize, weight: f64, _sigma: f64, y: &[f64], v: &mut [f64], _work: &mut [f64]) {
        if sum_abs(y) <= weight {
            return;
        }
        let level = clip_level(y, weight);
        let active = |y: f64| y.abs() > level;
        let count = y.iter().filter(|y| active(**y)).count().max(1) as f64;
        let mean =
            y.iter().zip(v.iter()).filter(|(y, _)| active(**y)).map(|(y, v)| y.signum() * v).sum::<f64>() / count;
        for (v, y) in v.iter_mut().zip(y) {
            *v = if active(*y) { *v - y.signum() * mean } else { 0.0 };
        }
    }
}

fn sum_abs(u: &[f64]) -> f64 {
    u.iter().map(|u| u.abs()).sum()
}

/// The level `l >= 0` at which `sum_j max(|u_j| - l, 0) = radius`; 0 inside the ball. Newton's method on this
/// convex, piecewise linear function climbs to the root from below and ends after at most `d` steps.
fn clip_level(u: &[f64], radius: f64) -> f64 {
    let mut level = 0.0;
    for _ in 0..=u.len() {
        let above = u.iter().filter(|u| u.abs() > level);
        let (count, sum) = above.fold((0.0, 0.0), |(n, s), u| (n + 1.0, s + u.abs()));
        let next = if count > 0.0 { (sum - radius) / count } else { level };
        if next <= level {
            return level;
        }
        level = next;
    }
    level
}
