//! Symmetric Kullback-Leibler divergence of the rows of two nodes, features and label together, by distances to nearest
//! neighbours (Wang, Kulkarni and Verdu 2009): with `r` the distance of a row to its `k`-th nearest among the `m` rows of its
//! own node and `s` that among the `n` rows of the other,
//!
//! ```text
//! KL = (c / m) sum log(s / r) + log(n / (m - 1))      in c columns
//! ```

use super::columns::columns;
use super::{Discrepancy, NodeRows, points};
use crate::dataset::Dataset;
use crate::matrix::Matrix;
use crate::parallel::ordered_map;

/// Neighbours that are looked for, where there are as many.
const K: usize = 3;
/// Distances below this count as this: repeated rows are no proof of infinite density.
const NEAREST: f64 = 1e-3;

/// Rows, and what is the same for all pairs.
pub struct Divergence {
    rows: Matrix,
    data: Dataset,
    points: Matrix,
    /// `sum log r` of every node.
    own: Vec<f64>,
}

impl Divergence {
    pub fn of(rows: &NodeRows) -> Self {
        let (all, data) = (columns(rows), rows.data.clone());
        let mut divergence = Divergence { rows: all, points: points::moments(rows), own: Vec::new(), data };
        divergence.own = ordered_map(rows.data.nodes(), |i| divergence.log_distances(i, i, &mut Vec::new()));
        divergence
    }

    /// Neighbours that both of two nodes have.
    fn k(&self, i: usize, j: usize) -> usize {
        let own = self.data.rows(i).len() - usize::from(i == j);
        K.min(own).min(self.data.rows(j).len())
    }

    /// `sum log` of the distances of the rows of `i` to their `K`-th nearest among those of `j`.
    fn log_distances(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        let k = self.k(i, j);
        if k == 0 {
            return f64::NAN;
        }
        let of_row = |row: usize, work: &mut Vec<f64>| {
            work.clear();
            work.extend(self.data.rows(j).filter(|other| *other != row).map(|other| self.squared(row, other)));
            let (_, squared, _) = work.select_nth_unstable_by(k - 1, f64::total_cmp);
            0.5 * squared.max(NEAREST * NEAREST).ln()
        };
        self.data.rows(i).map(|row| of_row(row, work)).sum()
    }

    fn squared(&self, a: usize, b: usize) -> f64 {
        self.rows.row(a).iter().zip(self.rows.row(b)).map(|(x, y)| (x - y) * (x - y)).sum()
    }

    fn directed(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        let (m, n) = (self.data.rows(i).len() as f64, self.data.rows(j).len() as f64);
        let spread = self.log_distances(i, j, work) - self.own[i];
        self.rows.cols() as f64 / m * spread + (n / (m - 1.0)).ln()
    }
}

impl Discrepancy for Divergence {
    fn points(&self) -> &Matrix {
        &self.points
    }

    /// The root of the mean of both directions, as divergences grow with the square of a shift. A node with a single row, which
    /// has no spread, is compared by its moments.
    fn between(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        // Both directions need the same number of neighbours to be comparable.
        let both = 0.5 * (self.directed(i, j, work) + self.directed(j, i, work));
        match both.is_nan() {
            true => (0..self.points.cols())
                .map(|c| (self.points.row(i)[c] - self.points.row(j)[c]).powi(2))
                .sum::<f64>()
                .sqrt(),
            false => both.max(0.0).sqrt(),
        }
    }

    fn is_euclidean(&self) -> bool {
        false
    }
}
