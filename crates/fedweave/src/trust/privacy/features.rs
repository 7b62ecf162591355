//! Features that hide something (section 9.4 of the book): `z = F x` with `F` orthogonal to the covariances of `x` with private
//! attributes, (9.10) to (9.13). What is needed of the rows are sums, which nodes can add up among themselves.
//!
//! It hides from *linear* guesses alone: whoever knows how the attribute bends the features may still see it. Probes tell.

use crate::linalg::jacobi::eigen;
use crate::matrix::{Matrix, axpy, dot};

/// Sums over rows of features and attributes; sums of several nodes add up.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    width: usize,
    count: f64,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    /// No rows yet, of `width` numbers.
    pub fn new(width: usize) -> Self {
        Sums { width, count: 0.0, first: vec![0.0; width], second: vec![0.0; width * width] }
    }

    /// One more row.
    pub fn add(&mut self, row: &[f64]) {
        self.count += 1.0;
        axpy(1.0, row, &mut self.first);
        for (i, x) in row.iter().enumerate() {
            axpy(*x, row, &mut self.second[i * self.width..(i + 1) * self.width]);
        }
    }

    /// The rows of another node.
    pub fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        axpy(1.0, &other.first, &mut self.first);
        axpy(1.0, &other.second, &mut self.second);
    }

    /// Mean of a column.
    pub fn mean(&self, column: usize) -> f64 {
        self.first[column] / self.count.max(1.0)
    }

    /// Covariance of two columns (9.13).
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        self.second[i * self.width + j] / self.count.max(1.0) - self.mean(i) * self.mean(j)
    }
}

/// A projection that removes directions from features.
#[derive(Debug, Clone, PartialEq)]
pub struct Hiding {
    /// Orthonormal directions that are removed, one a row.
    directions: Matrix,
}

impl Hiding {
    /// Removes from `features` what is linearly related to each of the `private` columns (9.10).
    pub fn new(sums: &Sums, features: &[usize], private: &[usize]) -> Hiding {
        let d = features.len();
        let mut kept: Vec<Vec<f64>> = Vec::new();
        for s in private {
            let mut c: Vec<f64> = features.iter().map(|x| sums.covariance(*x, *s)).collect();
            let size = dot(&c, &c).sqrt();
            // Twice, so that rounding leaves nothing of the others.
            for _ in 0..2 {
                for q in &kept {
                    let along = dot(q, &c);
                    axpy(-along, q, &mut c);
                }
            }
            let rest = dot(&c, &c).sqrt();
            if rest > 1e-10 * size && rest > 0.0 {
                kept.push(c.iter().map(|x| x / rest).collect());
            }
        }
        Hiding { directions: Matrix::from_rows(d.max(1), kept.concat()) }
    }

    /// Number of directions that are removed.
    pub fn removed(&self) -> usize {
        self.directions.rows()
    }

    /// `x <- F x`.
    pub fn apply(&self, x: &mut [f64]) {
        for k in 0..self.directions.rows() {
            let along = dot(self.directions.row(k), x);
            axpy(-along, self.directions.row(k), x);
        }
    }
}

/// Share of the variance of column `target` that the best linear function of other columns explains.
pub fn linear_r2(sums: &Sums, columns: &[usize], target: usize) -> f64 {
    let n = columns.len();
    let variance = sums.covariance(target, target);
    if n == 0 || variance <= 0.0 {
        return 0.0;
    }
    let mut matrix: Vec<f64> = columns.iter().flat_map(|i| columns.iter().map(|j| sums.covariance(*i, *j))).collect();
    let cross: Vec<f64> = columns.iter().map(|i| sums.covariance(*i, target)).collect();
    let vectors = eigen(&mut matrix, n);
    let largest = (0..n).map(|k| matrix[k * n + k]).fold(0.0, f64::max);
    let explained = |k: usize| {
        let value = matrix[k * n + k];
        // Directions without variance tell nothing.
        if value > 1e-10 * largest { dot(&vectors[k * n..(k + 1) * n], &cross).powi(2) / value } else { 0.0 }
    };
    ((0..n).map(explained).sum::<f64>() / variance).clamp(0.0, 1.0)
}

/// Mutual information of two jointly normal variables of which one explains this share of the other.
pub fn information(r2: f64) -> f64 {
    -0.5 * (1.0 - r2.min(1.0 - 1e-12)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    /// Columns: three features, an attribute that is a linear function of them and some noise.
    fn rows() -> Vec<[f64; 4]> {
        let mut rng = stream(1, Purpose::LocalData, 5);
        let mut draw = || rng.random::<f64>() - 0.5;
        (0..500)
            .map(|_| {
                let x = [draw(), draw(), 2.0 * draw()];
                [x[0], x[1], x[2], x[0] - 0.5 * x[2] + 0.1 * draw()]
            })
            .collect()
    }

    #[test]
    fn nothing_linear_is_left_and_sums_of_nodes_add_up() {
        let rows = rows();
        let mut all = Sums::new(4);
        rows.iter().for_each(|row| all.add(row));
        let (mut a, mut b) = (Sums::new(4), Sums::new(4));
        rows[..200].iter().for_each(|row| a.add(row));
        rows[200..].iter().for_each(|row| b.add(row));
        a.merge(&b);
        assert!((a.covariance(0, 3) - all.covariance(0, 3)).abs() < 1e-14);
        assert!(linear_r2(&all, &[0, 1, 2], 3) > 0.9);
        let hiding = Hiding::new(&all, &[0, 1, 2], &[3]);
        let mut hidden = Sums::new(4);
        for row in &rows {
            let mut z = *row;
            hiding.apply(&mut z[..3]);
            hidden.add(&z);
        }
        assert_eq!(hiding.removed(), 1);
        assert!(linear_r2(&hidden, &[0, 1, 2], 3) < 1e-12);
    }

    #[test]
    fn the_projection_is_that_of_the_book() {
        // (9.10): F = I - c c' / |c|^2.
        let mut sums = Sums::new(3);
        [[1.0, 0.0, 2.0], [-1.0, 0.5, -2.0], [0.3, -0.5, 0.1]].iter().for_each(|row| sums.add(row));
        let c = [sums.covariance(0, 2), sums.covariance(1, 2)];
        let size = c[0] * c[0] + c[1] * c[1];
        let mut x = [0.7, -1.3];
        let along = (c[0] * x[0] + c[1] * x[1]) / size;
        let expected = [x[0] - along * c[0], x[1] - along * c[1]];
        Hiding::new(&sums, &[0, 1], &[2]).apply(&mut x);
        assert!((x[0] - expected[0]).abs() < 1e-14 && (x[1] - expected[1]).abs() < 1e-14);
    }
}
