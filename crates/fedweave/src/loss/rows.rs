//! What all losses on a linear score share: the rows, their shares in the mean, and the ridge.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::normal::Normal;
use crate::matrix::{axpy, dot};
use crate::problem::STRENGTH_MAX;

use super::{LossOptions, NodeWeight};

/// Entries beyond this size (or below its inverse) have squares that leave the range of f64 when summed.
const SCALE_MAX: f64 = 1e100;

/// The rows of all nodes, with the weight of each in its node's loss.
#[derive(Debug, Clone)]
pub struct LossRows {
    /// The data.
    pub data: Dataset,
    /// `a_r`: the share of row `r` in the loss of its node; the shares of a node add up to the weight of the node.
    pub share: Vec<f64>,
    /// Ridge of each coordinate of the features.
    pub ridge: Vec<f64>,
}

impl LossRows {
    /// Checks the data and computes the shares.
    pub fn new(data: Dataset, options: &LossOptions) -> Result<Self> {
        if !(options.ridge >= 0.0 && options.ridge <= STRENGTH_MAX) {
            return Err(Error::Parameter { name: "ridge", value: options.ridge, needs: "between 0 and 1e100" });
        }
        check_scale(&data)?;
        let mut ridge = vec![options.ridge; data.dim()];
        if options.spare_last
            && let Some(last) = ridge.last_mut()
        {
            *last = 0.0;
        }
        let share = shares(&data, options.node_weight);
        Ok(LossRows { data, share, ridge })
    }

    /// True if some row of `node` has a positive weight.
    pub fn has_rows(&self, node: usize) -> bool {
        self.data.rows(node).any(|r| self.share[r] > 0.0)
    }

    /// Largest number of rows of a node.
    pub fn rows_max(&self) -> usize {
        (0..self.data.nodes()).map(|i| self.data.rows(i).len()).max().unwrap_or(0)
    }

    /// `(features, label, share)` of every row of `node`.
    pub fn iter(&self, node: usize) -> impl Iterator<Item = (&[f64], f64, f64)> {
        self.data.rows(node).map(|r| (self.data.x(r), self.data.y()[r], self.share[r]))
    }

    /// The normal equations of `node`, with a shift.
    pub fn normal<'a>(&'a self, node: usize, twice_ridge: &'a [f64], shift: f64) -> Normal<'a> {
        Normal { x: self.data.features(node), ridge: twice_ridge, shift }
    }

    /// `sum_j ridge_j w_j^2`.
    pub fn ridge_value(&self, w: &[f64]) -> f64 {
        self.ridge.iter().zip(w).map(|(q, w)| q * w * w).sum()
    }

    /// `out <- 2 ridge w`.
    pub fn ridge_gradient(&self, w: &[f64], out: &mut [f64]) {
        for ((o, q), w) in out.iter_mut().zip(&self.ridge).zip(w) {
            *o = 2.0 * q * w;
        }
    }

    /// Twice the smallest ridge: the strong convexity it gives.
    pub fn ridge_convexity(&self) -> f64 {
        2.0 * self.ridge.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// `out <- sum_r a_r x_r (c_r x_r'v) + 2 ridge v`.
    pub fn curved_product(&self, node: usize, curvature: impl Fn(&[f64], f64) -> f64, v: &[f64], out: &mut [f64]) {
        self.ridge_gradient(v, out);
        for (x, y, share) in self.iter(node) {
            axpy(share * curvature(x, y) * dot(x, v), x, out);
        }
    }

    /// Extreme eigenvalues of `sum_r a_r x_r x_r'`, widened by the rounding of their computation.
    pub fn gram_extremes(&self, node: usize) -> (f64, f64) {
        let (m, d) = (self.data.rows(node).len(), self.data.dim());
        let start = self.data.rows(node).start;
        let entry = |r: usize, j: usize| self.share[start + r].sqrt() * self.data.x(start + r)[j];
        let scaled = faer::Mat::from_fn(m, d, entry);
        let gram = if m < d { &scaled * scaled.transpose() } else { scaled.transpose() * &scaled };
        let values = gram.self_adjoint_eigenvalues(faer::Side::Lower).unwrap_or_default();
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
        let slack = 1e-13 * high * (m.max(d) as f64);
        (if m < d || m == 0 { 0.0 } else { (low - slack).max(0.0) }, high + slack)
    }
}

fn shares(data: &Dataset, node_weight: NodeWeight) -> Vec<f64> {
    let node_weight = node_weight.resolved(data);
    let mut share = Vec::with_capacity(data.len());
    for node in 0..data.nodes() {
        let total: f64 = data.weights(node).iter().sum();
        let unit = match node_weight {
            NodeWeight::Unit(unit) => unit,
            _ if total > 0.0 => 1.0 / total,
            _ => 0.0,
        };
        share.extend(data.weights(node).iter().map(|w| w * unit));
    }
    share
}

fn check_scale(data: &Dataset) -> Result<()> {
    let mut size = vec![0.0f64; data.dim() + 1];
    for row in 0..data.len() {
        for (s, v) in size.iter_mut().zip(data.x(row).iter().chain([&data.y()[row]])) {
            *s = s.max(v.abs());
        }
    }
    match size.iter().position(|s| *s > SCALE_MAX || (*s > 0.0 && *s < 1.0 / SCALE_MAX)) {
        Some(column) => Err(Error::Scale { column, size: size[column] }),
        None => Ok(()),
    }
}
