//! Second derivatives of the smooth part: a scale.

use super::Lasso;
use crate::loss::SecondOrder;

impl SecondOrder for Lasso {
    fn has_kinks(&self) -> bool {
        true
    }

    fn hessian_len(&self, node: usize) -> usize {
        self.second().hessian_len(node)
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.second().hessian(node, w, out, work);
    }

    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        self.second().hessian_product(node, hessian, v, out);
    }

    fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second().add_hessian(node, hessian, sum);
    }

    fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second().add_hessian_diagonal(node, hessian, sum);
    }

    fn factor_len(&self, node: usize) -> usize {
        self.second().factor_len(node)
    }

    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]) {
        self.second().factor(node, hessian, shift, out, work);
    }

    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        self.second().factor_solve(node, shift, factor, b, work);
    }
}
