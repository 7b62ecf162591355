//! Losses with kinks as an interior-point method sees them: a smooth part, and kinks of linear functions,
//!
//! ```text
//! L_i(w) = S_i(w) + sum_k max(low_k (x_k'w - y_k), high_k (x_k'w - y_k)),      low_k <= high_k.
//! ```
//!
//! Every kink has a slope `g_k` between `low_k` and `high_k` as its multiplier. For any such slopes
//! `L_i*(v) <= S_i*(v - X'g) + g'y`: a dual point in sample space, which a certificate asks for.

use super::FenchelGap;
use crate::features::Row;

/// One kink.
#[derive(Debug, Clone, Copy)]
pub struct Kink<'a> {
    /// `x`.
    pub x: Row<'a>,
    /// Where the kink is.
    pub y: f64,
    /// The slope below, shares included.
    pub low: f64,
    /// The slope above.
    pub high: f64,
}

impl Kink<'_> {
    /// `x'v`.
    pub fn along(&self, v: &[f64]) -> f64 {
        self.x.dot(v)
    }

    /// `out <- out + c x`.
    pub fn add_to(&self, c: f64, out: &mut [f64]) {
        self.x.add_to(c, out);
    }

    /// `sum <- sum + c x x'`, lower triangles row after row.
    pub fn add_outer(&self, c: f64, sum: &mut [f64]) {
        self.x.add_outer(c, sum);
    }
}

/// The kinks and the smooth parts of all nodes.
pub trait Kinks: Send + Sync {
    /// Entries of scratch space the other functions may need.
    fn work_len(&self) -> usize;
    /// Appends the kinks of a node, always in the same order.
    fn kinks<'a>(&'a self, node: usize, out: &mut Vec<Kink<'a>>);
    /// `out <- grad S_i(w)`; returns `S_i(w)`.
    fn smooth_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64;
    /// `sum <- sum + S_i''(w)`, lower triangles row after row.
    fn add_smooth_hessian(&self, node: usize, w: &[f64], sum: &mut [f64], work: &mut [f64]);
    /// True if all Hessians of smooth parts are constant.
    fn smooth_is_quadratic(&self) -> bool {
        true
    }
    /// [`fenchel_gap`](super::Loss::fenchel_gap) with given slopes of the kinks, in their order.
    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], slopes: &[f64], work: &mut [f64]) -> FenchelGap;
}
