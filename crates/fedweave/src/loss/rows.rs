//! What all losses on a linear score share: the rows, their shares in the mean, and the ridge.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Row;
use crate::linalg::normal::{self, Normal};
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
    /// Twice the ridge, as the Hessian has it.
    pub twice_ridge: Vec<f64>,
    rows_max: usize,
    /// Rows at the end of every node with rows that are axes, see [`with_axes`](LossRows::with_axes).
    axes: usize,
}

impl LossRows {
    /// Checks the data and computes the shares.
    pub fn new(data: Dataset, options: &LossOptions) -> Result<Self> {
        if !(options.ridge >= 0.0 && options.ridge <= STRENGTH_MAX) {
            return Err(Error::Parameter { name: "ridge", value: options.ridge, needs: "between 0 and 1e100" });
        }
        if !(options.lasso >= 0.0 && options.lasso <= STRENGTH_MAX) {
            return Err(Error::Parameter { name: "lasso", value: options.lasso, needs: "between 0 and 1e100" });
        }
        check_scale(&data)?;
        let mut ridge = vec![options.ridge; data.dim()];
        if options.spare_last
            && let Some(last) = ridge.last_mut()
        {
            *last = 0.0;
        }
        let share = shares(&data, options.node_weight);
        let rows_max = (0..data.nodes()).map(|i| data.rows(i).len()).max().unwrap_or(0);
        Ok(LossRows { twice_ridge: ridge.iter().map(|q| 2.0 * q).collect(), rows_max, data, share, ridge, axes: 0 })
    }

    /// Appends to every node with rows one row for each parameter with a positive strength: its axis, with label 0 and that share.
    pub fn with_axes(self, strength: &[f64]) -> Result<Self> {
        let (data, d) = (&self.data, self.data.dim());
        let axes: Vec<usize> = (0..d).filter(|&j| strength[j] > 0.0).collect();
        let (mut offsets, mut x, mut y, mut share) =
            (vec![0], data.all_features().none_like(d), Vec::new(), Vec::new());
        for node in 0..data.nodes() {
            data.rows(node).for_each(|r| x.push(data.row(r)));
            y.extend_from_slice(data.labels(node));
            share.extend_from_slice(&self.share[data.rows(node)]);
            for &j in axes.iter().filter(|_| self.has_rows(node)) {
                x.push(Row::Sparse { index: &[j as u32], values: &[1.0] });
                y.push(0.0);
                share.push(strength[j]);
            }
            offsets.push(y.len());
        }
        let data = Dataset::new(offsets, x, y, share.clone())?;
        let rows_max = (0..data.nodes()).map(|i| data.rows(i).len()).max().unwrap_or(0);
        Ok(LossRows { data, share, rows_max, axes: axes.len(), ..self })
    }

    /// Number of rows of `node` without axes.
    pub fn own_rows(&self, node: usize) -> usize {
        let rows = self.data.rows(node).len();
        if self.axes > 0 && self.has_rows(node) { rows - self.axes } else { rows }
    }

    /// True if there are axes.
    pub fn has_axes(&self) -> bool {
        self.axes > 0
    }

    /// True if some row of `node` has a positive weight.
    pub fn has_rows(&self, node: usize) -> bool {
        self.data.rows(node).any(|r| self.share[r] > 0.0)
    }

    /// Largest number of rows of a node.
    pub fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// `(features, label, share)` of every row of `node`.
    pub fn iter(&self, node: usize) -> impl Iterator<Item = (Row<'_>, f64, f64)> {
        self.data.rows(node).map(|r| (self.data.row(r), self.data.y()[r], self.share[r]))
    }

    /// Like [`iter`](LossRows::iter), for some rows of the node, with shares scaled up from these rows to all.
    pub fn batch(&self, node: usize, batch: &[u32]) -> impl Iterator<Item = (Row<'_>, f64, f64)> {
        let rows = self.data.rows(node);
        let scale = self.own_rows(node) as f64 / batch.len() as f64;
        let row = move |&r: &u32| rows.start + r as usize;
        batch.iter().map(row).map(move |r| (self.data.row(r), self.data.y()[r], scale * self.share[r]))
    }

    /// `sum <- sum +` the diagonal of `L_i''`.
    pub fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        if self.has_rows(node) {
            self.normal(node, 0.0).add_diagonal_to(hessian, sum);
        }
    }

    /// The normal equations of `node`, with a shift.
    pub fn normal(&self, node: usize, shift: f64) -> Normal<'_> {
        Normal { x: self.data.block(node), ridge: &self.twice_ridge, shift }
    }

    /// Length of a node's Hessian.
    pub fn hessian_len(&self, node: usize) -> usize {
        if self.has_rows(node) { normal::hessian_len(self.data.rows(node).len(), self.data.dim()) } else { 0 }
    }

    /// Length of the longest Hessian; with fewer rows than columns they grow with the rows, then they stay.
    pub fn hessian_len_max(&self) -> usize {
        self.longest(normal::hessian_len)
    }

    /// Length of the factor of a node's Hessian.
    pub fn factor_len(&self, node: usize) -> usize {
        if self.has_rows(node) { normal::factor_len(self.data.rows(node).len(), self.data.dim()) } else { 0 }
    }

    /// Length of the longest factor.
    pub fn factor_len_max(&self) -> usize {
        self.longest(normal::factor_len)
    }

    fn longest(&self, len: impl Fn(usize, usize) -> usize) -> usize {
        let d = self.data.dim();
        len(self.rows_max, d).max(len(self.rows_max.min(d.saturating_sub(1)), d))
    }

    /// `sum_r a_r c_r x_r x_r' + 2 ridge`, with `c` a function of a row.
    pub fn hessian(&self, node: usize, c: impl Fn(Row, f64) -> f64, out: &mut [f64], work: &mut [f64]) {
        if self.has_rows(node) {
            let curvature = &mut work[..self.data.rows(node).len()];
            curvature.iter_mut().zip(self.iter(node)).for_each(|(to, (x, y, share))| *to = share * c(x, y));
            self.normal(node, 0.0).hessian(curvature, out);
        }
    }

    /// `out <- L_i'' v`.
    pub fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true => self.normal(node, 0.0).product(hessian, v, out),
            false => out.fill(0.0),
        }
    }

    /// `sum <- sum + L_i''`.
    pub fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        if self.has_rows(node) {
            self.normal(node, 0.0).add_to(hessian, sum);
        }
    }

    /// Factors `L_i'' + shift I`.
    pub fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64]) {
        if self.has_rows(node) {
            self.normal(node, shift).factor(hessian, out);
        }
    }

    /// `b <- (...)^-1 b` with the result of [`factor`](LossRows::factor).
    pub fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        match self.has_rows(node) {
            true => self.normal(node, shift).solve(factor, b, work),
            false => b.iter_mut().for_each(|b| *b /= shift),
        }
    }

    /// The smallest and the largest of twice the ridge.
    pub fn twice_ridge_extremes(&self) -> (f64, f64) {
        let fold = |(low, high): (f64, f64), q: &f64| (low.min(*q), high.max(*q));
        self.twice_ridge.iter().fold((f64::INFINITY, 0.0), fold)
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

    /// Extreme eigenvalues of `sum_r a_r x_r x_r'`, widened by the rounding of their computation.
    pub fn gram_extremes(&self, node: usize) -> (f64, f64) {
        let (m, d) = (self.data.rows(node).len(), self.data.dim());
        let start = self.data.rows(node).start;
        // One thread: the result must not depend on their number.
        faer::set_global_parallelism(faer::Par::Seq);
        let mut scaled = faer::Mat::<f64>::zeros(m, d);
        for r in 0..m {
            let root = self.share[start + r].sqrt();
            self.data.row(start + r).for_each(|j, x| scaled[(r, j)] = root * x);
        }
        let gram = if m < d { &scaled * scaled.transpose() } else { scaled.transpose() * &scaled };
        let Ok(values) = gram.self_adjoint_eigenvalues(faer::Side::Lower) else { return (0.0, f64::INFINITY) };
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
        // A share whose products underflow is none.
        let share_of = |w: &f64| if w * unit < 1e-200 { 0.0 } else { w * unit };
        share.extend(data.weights(node).iter().map(share_of));
    }
    share
}

fn check_scale(data: &Dataset) -> Result<()> {
    let mut size = vec![0.0f64; data.dim()];
    for row in 0..data.len() {
        data.row(row).for_each(|j, v| size[j] = size[j].max(v.abs()));
    }
    size.push(data.y().iter().fold(0.0, |s, v| s.max(v.abs())));
    match size.iter().position(|s| *s > SCALE_MAX || (*s > 0.0 && *s < 1.0 / SCALE_MAX)) {
        Some(column) => Err(Error::Scale { column, size: size[column] }),
        None => Ok(()),
    }
}
