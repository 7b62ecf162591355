//! `|t|_2^2`: the graph Laplacian. Models of neighbours are drawn together but stay different.

use super::{DualDomain, Penalty};
use crate::matrix::dot;

/// The squared Euclidean norm, without a factor 1/2.
#[derive(Debug, Clone, Copy)]
pub struct SquaredNorm;

impl Penalty for SquaredNorm {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn dual_domain(&self) -> Option<DualDomain> {
        Some(DualDomain::Everything)
    }

    fn value(&self, _edge: usize, t: &[f64]) -> f64 {
        dot(t, t)
    }

    fn prox(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        let keep = 1.0 / (1.0 + 2.0 * weight);
        t.iter_mut().for_each(|t| *t *= keep);
    }

    fn gradient(&self, _edge: usize, weight: f64, t: &mut [f64], _work: &mut [f64]) {
        t.iter_mut().for_each(|t| *t *= 2.0 * weight);
    }

    fn smoothness(&self, _edge: usize) -> f64 {
        2.0
    }

    fn conjugate(&self, _edge: usize, weight: f64, u: &[f64]) -> f64 {
        dot(u, u) / (4.0 * weight)
    }

    fn excess(&self, _edge: usize, _weight: f64, _u: &[f64]) -> f64 {
        0.0
    }

    fn prox_conjugate(&self, _edge: usize, weight: f64, sigma: f64, u: &mut [f64], _work: &mut [f64]) {
        let keep = 1.0 / (1.0 + sigma / (2.0 * weight));
        u.iter_mut().for_each(|u| *u *= keep);
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn stiffness(&self, _edge: usize, weight: f64, sigma: f64, _y: &[f64]) -> f64 {
        1.0 / (1.0 + sigma / (2.0 * weight))
    }

    fn jacobian(&self, edge: usize, weight: f64, sigma: f64, _y: &[f64], v: &mut [f64], work: &mut [f64]) {
        self.prox_conjugate(edge, weight, sigma, v, work);
    }
}
