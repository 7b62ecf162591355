//! `|t|_1`: every coordinate is shared or not on its own; the dual ball is a box.

use super::{DualDomain, Penalty, ball_excess, ball_indicator};

/// The sum of absolute values.
#[derive(Debug, Clone, Copy)]
pub struct Norm1;

impl Penalty for Norm1 {
    fn name(&self) -> &'static str {
        "norm1"
    }

    fn dual_domain(&self) -> Option<DualDomain> {
        Some(DualDomain::Cube)
    }

    fn is_norm(&self) -> bool {
        true
    }

    fn pull_max(&self, dim: usize) -> Option<f64> {
        Some((dim as f64).sqrt())
    }

    fn value(&self, _edge: usize, t: &[f64]) -> f64 {
        t.iter().map(|t| t.abs()).sum()
    }

    fn prox(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        t.iter_mut().for_each(|t| *t -= t.clamp(-weight, weight));
    }

    fn gradient(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        t.iter_mut().for_each(|t| *t = if *t == 0.0 { 0.0 } else { weight.copysign(*t) });
    }

    fn conjugate(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_indicator(largest(u), weight)
    }

    fn excess(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_excess(largest(u), weight)
    }

    fn dual_norm(&self, _edge: usize, u: &[f64]) -> Option<f64> {
        Some(largest(u))
    }

    /// Clips every entry to `+-weight`.
    fn prox_conjugate(&self, _edge: usize, weight: f64, _sigma: f64, u: &mut [f64], _work: &mut [f64]) {
        u.iter_mut().for_each(|u| *u = u.clamp(-weight, weight));
    }

    fn stiffness(&self, _edge: usize, weight: f64, _sigma: f64, y: &[f64]) -> f64 {
        y.iter().filter(|y| y.abs() <= weight).count() as f64 / y.len() as f64
    }

    fn jacobian(&self, _edge: usize, weight: f64, _sigma: f64, y: &[f64], v: &mut [f64], _work: &mut [f64]) {
        for (v, y) in v.iter_mut().zip(y) {
            if y.abs() > weight {
                *v = 0.0;
            }
        }
    }
}

fn largest(u: &[f64]) -> f64 {
    u.iter().fold(0.0, |m, u| m.max(u.abs()))
}
