//! Hessians of losses, in whatever form suits them.

use crate::linalg::cholesky::packed_len;

/// The second derivatives of the losses of all nodes.
pub trait SecondOrder: Send + Sync {
    /// True if all Hessians are constant.
    fn is_constant(&self) -> bool {
        false
    }
    /// True if the loss has kinks: its Hessians tell a scale then, and are no use for Newton steps.
    fn has_kinks(&self) -> bool {
        false
    }
    /// Length of [`hessian`](SecondOrder::hessian).
    fn hessian_len(&self, node: usize) -> usize;
    /// `out <- L_i''(w)` in the loss's own form, with a generalised Hessian where the loss has no second derivative.
    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]);
    /// `out <- L_i'' v`.
    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]);
    /// `sum <- sum + L_i''`, lower triangles row after row.
    fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]);
    /// `sum <- sum +` the diagonal of `L_i''`.
    fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        let mut all = vec![0.0; packed_len(sum.len())];
        self.add_hessian(node, hessian, &mut all);
        sum.iter_mut().enumerate().for_each(|(j, s)| *s += all[packed_len(j) + j]);
    }
    /// Length of the factor of `L_i'' + shift I`.
    fn factor_len(&self, node: usize) -> usize;
    /// Factors `L_i'' + shift I`, `shift > 0`.
    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]);
    /// `b <- (L_i'' + shift I)^-1 b` with the result of [`factor`](SecondOrder::factor).
    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]);
}
