//! `|t|_2`: the network lasso. Whole models are equal or not; the dual ball is Euclidean.

use super::{DualDomain, Penalty, ball_excess, ball_indicator};
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
