//! What the likelihood needs of the rows: `X_i'X_i`, `X_i'y_i` and `y_i'y_i` of every node, on a common scale.
//!
//! Features have mean 0 and deviation 1 over all rows; of the target, what one model for all leaves over, in units of its
//! deviation. So the answer does not depend on units, and nothing is lost to cancellation.

use super::dense::{eigen, product, sandwich};
use crate::dataset::Dataset;
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::ordered_map;
use crate::scaling::Scaling;

/// Directions of the features with less than this share of the largest sum of squares are not there.
const RANK: f64 = 1e-11;

/// Sums over the rows of all nodes.
#[derive(Clone)]
pub struct Moments {
    /// Number of parameters of a node.
    pub d: usize,
    /// `X_i'X_i`, `d x d`, node after node.
    pub a: Vec<f64>,
    /// `X_i'y_i`, node after node.
    pub c: Vec<f64>,
    /// `y_i'y_i`.
    pub yy: Vec<f64>,
    /// Rows that count, of every node.
    pub rows: Vec<f64>,
    /// Rank of all rows together.
    pub rank: f64,
    /// Logarithm of the determinant of what the rows were divided by, because of their noise.
    pub log_weights: f64,
    /// Units of the target.
    unit: f64,
    /// The model of all rows, in scaled features.
    pooled: Vec<f64>,
    /// Models in scaled features times this are models in the features as given.
    map: Vec<f64>,
    /// The inverse of the map.
    back: Vec<f64>,
}

/// Shares of the rows of a node: their weights, with mean 1 over those that are positive.
pub fn row_shares(weights: &[f64]) -> (f64, f64) {
    let total: f64 = weights.iter().sum();
    let count = weights.iter().filter(|w| **w > 0.0).count() as f64;
    (count, if total > 0.0 { count / total } else { 0.0 })
}

impl Moments {
    /// The sums of a dataset; with `intercept`, its last column is one of ones.
    pub fn new(data: &Dataset, intercept: bool) -> Self {
        let mut moments = Self::bare(data, intercept);
        moments.subtract_pooled(&Scaling::of(data, intercept).apply(data));
        moments
    }

    /// The sums with the target as it is.
    pub fn bare(data: &Dataset, intercept: bool) -> Self {
        let scaling = Scaling::of(data, intercept);
        let mut moments = Self::sums(&scaling.apply(data), maps(&scaling, intercept));
        moments.rank = pooled_model(&moments.total_form(), &[], data.dim()).1;
        moments
    }

    /// The sums of rows on a common scale, from whose models the maps lead to those of the features as given and back.
    fn sums(scaled: &Dataset, (map, back): (Vec<f64>, Vec<f64>)) -> Self {
        let d = scaled.dim();
        let sums = ordered_map(scaled.nodes(), |i| node_sums(scaled, i));
        Moments {
            d,
            a: sums.iter().flat_map(|s| s.a.iter().copied()).collect(),
            c: sums.iter().flat_map(|s| s.c.iter().copied()).collect(),
            yy: sums.iter().map(|s| s.yy).collect(),
            rows: sums.iter().map(|s| s.rows).collect(),
            rank: 0.0,
            log_weights: 0.0,
            unit: 1.0,
            pooled: vec![0.0; d],
            map,
            back,
        }
    }

    /// The sums of some nodes of a network, in scaled features, less a model of the rows of all nodes, in units of what that
    /// leaves over.
    pub fn of_part(scaled: &Dataset, pooled: &[f64], unit: f64) -> Self {
        let d = scaled.dim();
        let identity: Vec<f64> = (0..d * d).map(|k| if k / d == k % d { 1.0 } else { 0.0 }).collect();
        let mut moments = Self::sums(scaled, (identity.clone(), identity));
        (moments.pooled, moments.unit) = (pooled.to_vec(), unit);
        moments.subtract(&left_over(scaled, pooled));
        moments
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.yy.len()
    }

    /// Number of rows that count.
    pub fn total_rows(&self) -> f64 {
        self.rows.iter().sum()
    }

    /// Rows of an average node that has some.
    pub fn mean_rows(&self) -> f64 {
        self.total_rows() / (self.rows.iter().filter(|m| **m > 0.0).count().max(1) as f64)
    }

    /// `X_i'X_i`.
    pub fn form(&self, node: usize) -> &[f64] {
        &self.a[node * self.d * self.d..(node + 1) * self.d * self.d]
    }

    /// `X_i'y_i`.
    pub fn right(&self, node: usize) -> &[f64] {
        &self.c[node * self.d..(node + 1) * self.d]
    }

    /// `sum_i X_i'X_i`.
    pub fn total_form(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.d * self.d];
        (0..self.nodes()).for_each(|i| axpy(1.0, self.form(i), &mut sum));
        sum
    }

    /// `sum_i X_i'y_i`.
    pub fn total_right(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.d];
        (0..self.nodes()).for_each(|i| axpy(1.0, self.right(i), &mut sum));
        sum
    }

    /// Fits one model to all rows, keeps it, and replaces the target by what it leaves over.
    fn subtract_pooled(&mut self, scaled: &Dataset) {
        let form = self.total_form();
        if !form.iter().all(|v| v.is_finite()) {
            return;
        }
        let (pooled, _) = pooled_model(&form, &self.total_right(), self.d);
        let left = left_over(scaled, &pooled);
        self.pooled = pooled;
        self.unit = unit_of(left.iter().sum(), self.yy.iter().sum(), self.total_rows());
        self.subtract(&left);
    }

    /// Replaces the target by what the pooled model leaves over: its squares are `left`.
    fn subtract(&mut self, left: &[f64]) {
        let (d, unit) = (self.d, self.unit);
        for (i, left) in left.iter().enumerate() {
            let fitted = product(self.form(i), &self.pooled, d, d, 1);
            let c = &mut self.c[i * d..(i + 1) * d];
            c.iter_mut().zip(&fitted).for_each(|(c, f)| *c = (*c - f) / unit);
            self.yy[i] = left / (unit * unit);
        }
    }

    /// Sums of rows divided by the deviation of their noise: `noise[i]` is its variance at node `i`, relative to that of all.
    pub fn weighted(&self, noise: &[f64]) -> Moments {
        let (mut weighted, d) = (self.clone(), self.d);
        for (i, v) in noise.iter().enumerate() {
            weighted.a[i * d * d..(i + 1) * d * d].iter_mut().for_each(|a| *a /= v);
            weighted.c[i * d..(i + 1) * d].iter_mut().for_each(|c| *c /= v);
            weighted.yy[i] /= v;
        }
        weighted.log_weights = self.rows.iter().zip(noise).map(|(m, v)| m * v.ln()).sum();
        weighted
    }

    /// A model in the units and features as given.
    pub fn restore(&self, w: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = w.iter().zip(&self.pooled).map(|(w, p)| self.unit * w + p).collect();
        product(&self.map, &scaled, self.d, self.d, 1)
    }

    /// A covariance of models in the units and features as given.
    pub fn restore_covariance(&self, c: &[f64]) -> Vec<f64> {
        let square = self.unit * self.unit;
        sandwich(&self.map, c, self.d, self.d).iter().map(|v| v * square).collect()
    }

    /// The reverse of [`restore_covariance`](Moments::restore_covariance).
    pub fn scaled_covariance(&self, c: &[f64]) -> Vec<f64> {
        let square = self.unit * self.unit;
        sandwich(&self.back, c, self.d, self.d).iter().map(|v| v / square).collect()
    }

    /// The square of the unit of the target.
    pub fn variance_unit(&self) -> f64 {
        self.unit * self.unit
    }

    /// What the likelihood of the target as given has more than that of the scaled one: `-log` of the change of units, where
    /// `fixed` parameters are integrated over.
    pub fn log_units(&self, fixed: f64) -> f64 {
        let scales: f64 = (0..self.d).map(|j| self.map[j * self.d + j].abs().ln()).sum();
        let share = if fixed > 0.0 { 1.0 } else { 0.0 };
        -(self.total_rows() - fixed) * self.unit.ln() + share * scales
    }
}

/// The model of all rows, from sums over them, and their rank. Without right-hand sides, only the rank.
pub fn pooled_model(form: &[f64], right: &[f64], d: usize) -> (Vec<f64>, f64) {
    let (mut pooled, mut rank) = (vec![0.0; d], 0.0);
    let Some((values, vectors)) = eigen(form, d) else { return (pooled, rank) };
    let largest = values.iter().copied().fold(0.0, f64::max);
    for (value, v) in values.iter().zip(vectors.chunks_exact(d)).filter(|(value, _)| **value > RANK * largest) {
        rank += 1.0;
        if !right.is_empty() {
            axpy(dot(v, right) / value, v, &mut pooled);
        }
    }
    (pooled, rank)
}

/// Sums of squares of what a model leaves over, node after node.
pub fn left_over(scaled: &Dataset, model: &[f64]) -> Vec<f64> {
    ordered_map(scaled.nodes(), |i| {
        let (_, share) = row_shares(scaled.weights(i));
        let rows = scaled.rows(i).zip(scaled.weights(i));
        rows.map(|(r, w)| w * share * (scaled.y()[r] - dot(scaled.x(r), model)).powi(2)).sum::<f64>()
    })
}

/// The unit of the target: the deviation of what the pooled model leaves over, or of the target if that is rounding.
pub fn unit_of(left: f64, squares: f64, rows: f64) -> f64 {
    let unit = (left / rows.max(1.0)).sqrt();
    let size = (squares / rows.max(1.0)).sqrt();
    if unit > 1e-12 * size && unit > 0.0 { unit } else { size.max(1e-150) }
}

/// The sums of a node.
pub(super) struct Sums {
    pub(super) a: Vec<f64>,
    pub(super) c: Vec<f64>,
    yy: f64,
    rows: f64,
}

/// The sums over the rows of a node.
pub(super) fn node_sums(data: &Dataset, node: usize) -> Sums {
    let d = data.dim();
    let (rows, share) = row_shares(data.weights(node));
    let mut sums = Sums { a: vec![0.0; d * d], c: vec![0.0; d], yy: 0.0, rows };
    for (r, w) in data.rows(node).zip(data.weights(node)) {
        let (x, y, w) = (data.x(r), data.y()[r], w * share);
        for (x_j, row) in x.iter().zip(sums.a.chunks_exact_mut(d)) {
            axpy(w * x_j, x, row);
        }
        axpy(w * y, x, &mut sums.c);
        sums.yy += w * y * y;
    }
    sums
}

/// The matrix that takes models in scaled features to models in the features as given, and its inverse.
fn maps(scaling: &Scaling, intercept: bool) -> (Vec<f64>, Vec<f64>) {
    let d = scaling.dim();
    let (mut map, mut back) = (Matrix::zeros(d, d), Matrix::zeros(d, d));
    for j in 0..d {
        map.row_mut(j)[j] = 1.0 / scaling.scale()[j];
        back.row_mut(j)[j] = scaling.scale()[j];
        if intercept && j + 1 < d {
            map.row_mut(d - 1)[j] = -scaling.mean()[j] / scaling.scale()[j];
            back.row_mut(d - 1)[j] = scaling.mean()[j];
        }
    }
    (map.as_slice().to_vec(), back.as_slice().to_vec())
}
