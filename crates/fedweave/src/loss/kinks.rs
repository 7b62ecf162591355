//! Losses with kinks as an interior-point method sees them: a smooth part, and kinks of linear functions,
//!
//! ```text
//! L_i(w) = S_i(w) + sum_k max(low_k (x_k'w - y_k), high_k (x_k'w - y_k)),      low_k <= high_k.
//! ```
//!
//! Every kink has a slope `g_k` between `low_k` and `high_k` as its multiplier. For any such slopes
//! `L_i*(v) <= S_i*(v - X'g) + g'y`: a dual point in sample space, which a certificate asks for.

use super::{FenchelGap, Loss, SecondOrder};
use crate::linalg::cholesky::packed_len;
use crate::matrix::{axpy, dot};

/// The linear function of a kink.
#[derive(Debug, Clone, Copy)]
pub enum Direction<'a> {
    /// A row of features.
    Row(&'a [f64]),
    /// One parameter.
    Axis(usize),
}

impl Direction<'_> {
    /// `x'v`.
    pub fn along(&self, v: &[f64]) -> f64 {
        match self {
            Direction::Row(x) => dot(x, v),
            Direction::Axis(j) => v[*j],
        }
    }

    /// `out <- out + c x`.
    pub fn add_to(&self, c: f64, out: &mut [f64]) {
        match self {
            Direction::Row(x) => axpy(c, x, out),
            Direction::Axis(j) => out[*j] += c,
        }
    }

    /// `sum <- sum + c x x'`, lower triangles row after row.
    pub fn add_outer(&self, c: f64, sum: &mut [f64]) {
        match self {
            Direction::Row(x) => {
                for (i, value) in x.iter().enumerate() {
                    let start = packed_len(i);
                    axpy(c * value, &x[..=i], &mut sum[start..=start + i]);
                }
            }
            Direction::Axis(j) => sum[packed_len(*j) + j] += c,
        }
    }
}

/// One kink.
#[derive(Debug, Clone, Copy)]
pub struct Kink<'a> {
    /// `x`.
    pub x: Direction<'a>,
    /// Where the kink is.
    pub y: f64,
    /// The slope below, shares included.
    pub low: f64,
    /// The slope above.
    pub high: f64,
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

/// A loss without kinks: all of it is smooth.
pub struct NoKinks<'a> {
    loss: &'a dyn Loss,
    second: &'a dyn SecondOrder,
    hessian_len: usize,
}

impl<'a> NoKinks<'a> {
    /// `None` if no Hessians are known.
    pub fn of(loss: &'a dyn Loss) -> Option<Self> {
        let second = loss.second_order().filter(|second| !second.has_kinks())?;
        let hessian_len = (0..loss.nodes()).map(|i| second.hessian_len(i)).max().unwrap_or(0);
        Some(NoKinks { loss, second, hessian_len })
    }
}

impl Kinks for NoKinks<'_> {
    fn work_len(&self) -> usize {
        self.loss.work_len() + self.hessian_len
    }

    fn kinks<'a>(&'a self, _node: usize, _out: &mut Vec<Kink<'a>>) {}

    fn smooth_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        self.loss.value_and_gradient(node, w, out)
    }

    fn add_smooth_hessian(&self, node: usize, w: &[f64], sum: &mut [f64], work: &mut [f64]) {
        let (hessian, work) = work.split_at_mut(self.second.hessian_len(node));
        self.second.hessian(node, w, hessian, work);
        self.second.add_hessian(node, hessian, sum);
    }

    fn smooth_is_quadratic(&self) -> bool {
        self.second.is_constant()
    }

    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], _slopes: &[f64], work: &mut [f64]) -> FenchelGap {
        self.loss.fenchel_gap(node, w, v, work)
    }
}
