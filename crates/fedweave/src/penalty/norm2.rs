//! `|t|_2`: the network lasso. Whole models are equal or not; the dual ball is Euclidean.

use super::{DualDomain, DualStep, Penalty, ball_excess, ball_indicator};
use crate::matrix::{axpy, dot, norm2};
use crate::unroll::{by_dim, known};

/// The Euclidean norm.
#[derive(Debug, Clone, Copy)]
pub struct Norm2;

impl Penalty for Norm2 {
    fn name(&self) -> &'static str {
        "norm2"
    }

    fn dual_domain(&self) -> Option<DualDomain> {
        Some(DualDomain::Ball)
    }

    fn is_norm(&self) -> bool {
        true
    }

    fn pull_max(&self, _dim: usize) -> Option<f64> {
        Some(1.0)
    }

    fn value(&self, _edge: usize, t: &[f64]) -> f64 {
        norm2(t)
    }

    fn prox(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let size = norm2(t);
        let keep = if size > weight { 1.0 - weight / size } else { 0.0 };
        t.iter_mut().for_each(|t| *t *= keep);
    }

    fn gradient(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let size = norm2(t);
        let scale = if size > 0.0 { weight / size } else { 0.0 };
        t.iter_mut().for_each(|t| *t *= scale);
    }

    fn conjugate(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_indicator(norm2(u), weight)
    }

    fn excess(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        ball_excess(norm2(u), weight)
    }

    fn dual_norm(&self, _edge: usize, u: &[f64]) -> Option<f64> {
        Some(norm2(u))
    }

    /// Projection onto the ball of radius `weight`.
    fn prox_conjugate(&self, _edge: usize, weight: f64, _sigma: f64, u: &mut [f64], _work: &mut [f64]) {
        project(weight, u);
    }

    fn prox_conjugate_rows(&self, edges: &[u32], weight: &[f64], _sigma: f64, rows: &mut [f64], _work: &mut [f64]) {
        let d = rows.len() / edges.len().max(1);
        by_dim!(d, project_rows(weight, d, rows));
    }

    fn dual_step_rows(&self, ends: &[(u32, u32)], weight: &[f64], step: DualStep, v: &[f64], u: &mut [f64]) -> bool {
        by_dim!(u.len() / ends.len().max(1), step_rows(ends, weight, step, v, u))
    }

    /// The identity inside the ball, `(weight / |y|) (I - y y' / |y|^2)` outside.
    fn jacobian(&self, _edge: usize, weight: f64, _sigma: f64, y: &[f64], v: &mut [f64], _work: &mut [f64]) {
        derivative(weight, y, v);
    }

    fn jacobian_rows(&self, edges: &[u32], weight: &[f64], _sigma: f64, y: &[f64], v: &mut [f64], _work: &mut [f64]) {
        let d = y.len() / edges.len().max(1);
        by_dim!(d, derivative_rows(weight, d, y, v));
    }

    fn stiffness(&self, _edge: usize, weight: f64, _sigma: f64, y: &[f64]) -> f64 {
        let size = norm2(y);
        if size > weight { weight / size * (1.0 - 1.0 / y.len() as f64) } else { 1.0 }
    }
}

#[inline(always)]
pub(super) fn project(weight: f64, u: &mut [f64]) {
    let size2 = dot(u, u);
    if size2 > weight * weight {
        let keep = weight / size2.sqrt();
        u.iter_mut().for_each(|u| *u *= keep);
    }
}

fn project_rows<const D: usize>(weight: &[f64], d: usize, rows: &mut [f64]) {
    weight.iter().zip(rows.chunks_exact_mut(known::<D>(d))).for_each(|(weight, u)| project(*weight, u));
}

/// Dual steps on registers; false where the length of a row is not known.
fn step_rows<const D: usize>(ends: &[(u32, u32)], weight: &[f64], step: DualStep, v: &[f64], u: &mut [f64]) -> bool {
    if D == 0 {
        return false;
    }
    for ((&(i, j), weight), u) in ends.iter().zip(weight).zip(u.chunks_exact_mut(D.max(1))) {
        let (a, b) = (&v[i as usize * D..][..D], &v[j as usize * D..][..D]);
        let mut y = [0.0; D];
        for k in 0..D {
            y[k] = u[k] + step.sigma * (a[k] - b[k]);
        }
        project(*weight, &mut y);
        for k in 0..D {
            u[k] += step.rho * (y[k] - u[k]);
        }
    }
    true
}

/// The derivative of the projection at `y`, applied to `v`.
#[inline(always)]
pub(super) fn derivative(weight: f64, y: &[f64], v: &mut [f64]) {
    let size2 = dot(y, y);
    if size2 > weight * weight {
        let along = dot(y, v) / size2;
        axpy(-along, y, v);
        let keep = weight / size2.sqrt();
        v.iter_mut().for_each(|v| *v *= keep);
    }
}

fn derivative_rows<const D: usize>(weight: &[f64], d: usize, y: &[f64], v: &mut [f64]) {
    let d = known::<D>(d);
    let rows = y.chunks_exact(d).zip(v.chunks_exact_mut(d));
    weight.iter().zip(rows).for_each(|(weight, (y, v))| derivative(*weight, y, v));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit for bit, inside the ball and outside; beyond the lengths with code of their own nothing happens.
    #[test]
    fn one_pass_does_what_its_parts_do() {
        let (ends, weight) = ([(0, 1), (2, 1), (0, 2)], [0.3, 100.0, 1.0]);
        let step = DualStep { sigma: 0.7, rho: 1.8 };
        for d in 1..16 {
            let numbers = |shift: f64| -> Vec<f64> { (0..3 * d).map(|k| (k as f64 + shift).sin()).collect() };
            let (v, before) = (numbers(0.0), numbers(0.5));
            let mut parts = before.clone();
            for (&(i, j), u) in ends.iter().zip(parts.chunks_exact_mut(d)) {
                (0..d).for_each(|k| u[k] += step.sigma * (v[i as usize * d + k] - v[j as usize * d + k]));
            }
            Norm2.prox_conjugate_rows(&[0, 1, 2], &weight, step.sigma, &mut parts, &mut vec![0.0; 4 * d]);
            parts.iter_mut().zip(&before).for_each(|(u, b)| *u = b + step.rho * (*u - b));
            let mut u = before.clone();
            let done = Norm2.dual_step_rows(&ends, &weight, step, &v, &mut u);
            assert_eq!((done, &u), (d <= 12, if done { &parts } else { &before }), "{d}");
        }
    }
}
