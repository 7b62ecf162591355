//! `(X' C X + diag(q) + s I)^-1` for one node: `C` holds row curvatures `c_r >= 0`, `q >= 0` the ridge, `s > 0` a shift.
//!
//! With at least as many rows as columns the `d x d` matrix itself is factored. With fewer rows, Woodbury's identity
//! needs only the `m x m` kernel `K = I + S Q^-1 S'`, where `S = C^(1/2) X` and `Q = diag(q) + s I`:
//!
//! ```text
//! (S'S + Q)^-1 b = Q^-1 b - Q^-1 S' K^-1 S Q^-1 b
//! ```

use super::cholesky;
use crate::features::{Block, Row};
use crate::matrix::axpy;

/// The rows of one node and the diagonal they are regularised with.
#[derive(Clone, Copy)]
pub struct Normal<'a> {
    /// Features, row after row.
    pub x: Block<'a>,
    /// `q`: twice the ridge of each coordinate.
    pub ridge: &'a [f64],
    /// `s`.
    pub shift: f64,
}

/// Length of the Hessian of a node with `m` rows and `d` columns: the lower triangle of `X' C X + diag(q)`, or `C` alone.
pub fn hessian_len(m: usize, d: usize) -> usize {
    if m < d { m } else { cholesky::packed_len(d) }
}

/// Length of the factor of a node with `m` rows and `d` columns.
pub fn factor_len(m: usize, d: usize) -> usize {
    if m < d { cholesky::packed_len(m) + m } else { cholesky::packed_len(d) }
}

impl Normal<'_> {
    fn dim(&self) -> usize {
        self.ridge.len()
    }

    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn row(&self, r: usize) -> Row<'_> {
        self.x.row(r)
    }

    /// Writes the Hessian for row curvatures `c`, of length [`hessian_len`].
    pub fn hessian(&self, c: &[f64], out: &mut [f64]) {
        if self.rows() < self.dim() { out.copy_from_slice(c) } else { self.gram(c, out) }
    }

    /// `out <- (X' C X + diag(q)) v`.
    pub fn product(&self, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        if self.rows() >= self.dim() {
            return cholesky::symmetric_product(hessian, v, out);
        }
        out.iter_mut().zip(self.ridge).zip(v).for_each(|((o, q), v)| *o = q * v);
        for (r, c) in hessian.iter().enumerate() {
            self.row(r).add_to(c * self.row(r).dot(v), out);
        }
    }

    /// `sum <- sum + X' C X + diag(q)`, lower triangles row after row.
    pub fn add_to(&self, hessian: &[f64], sum: &mut [f64]) {
        if self.rows() >= self.dim() {
            return axpy(1.0, hessian, sum);
        }
        self.add_rows(hessian, sum);
        self.add_ridge(sum);
    }

    /// `sum <- sum +` the diagonal of `X' C X + diag(q)`.
    pub fn add_diagonal_to(&self, hessian: &[f64], sum: &mut [f64]) {
        if self.rows() >= self.dim() {
            return sum.iter_mut().enumerate().for_each(|(j, s)| *s += hessian[cholesky::packed_len(j) + j]);
        }
        for (r, c) in hessian.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            self.row(r).for_each(|j, x| sum[j] += c * x * x);
        }
        axpy(1.0, self.ridge, sum);
    }

    /// Factors [`hessian`](Normal::hessian)` + s I` into `out`, of length [`factor_len`].
    pub fn factor(&self, hessian: &[f64], out: &mut [f64]) {
        if self.rows() < self.dim() {
            return self.factor_kernel(hessian, out);
        }
        out.copy_from_slice(hessian);
        self.shift_and_factor(out);
    }

    /// Factors for row curvatures `c`, without keeping the Hessian.
    pub fn factor_rows(&self, c: &[f64], out: &mut [f64]) {
        if self.rows() < self.dim() {
            return self.factor_kernel(c, out);
        }
        self.gram(c, out);
        self.shift_and_factor(out);
    }

    fn shift_and_factor(&self, matrix: &mut [f64]) {
        let d = self.dim();
        (0..d).for_each(|i| matrix[cholesky::packed_len(i) + i] += self.shift);
        cholesky::factor(matrix, d);
    }

    /// `b <- (X' C X + diag(q) + s I)^-1 b`; `work` holds at least `m` entries.
    pub fn solve(&self, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        if self.rows() < self.dim() { self.solve_kernel(factor, b, work) } else { cholesky::solve(factor, b) }
    }

    fn gram(&self, c: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.add_rows(c, out);
        self.add_ridge(out);
    }

    fn add_rows(&self, c: &[f64], sum: &mut [f64]) {
        for (r, &cr) in c.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            self.row(r).add_outer(cr, sum);
        }
    }

    fn add_ridge(&self, sum: &mut [f64]) {
        for (i, q) in self.ridge.iter().enumerate() {
            sum[cholesky::packed_len(i) + i] += q;
        }
    }

    fn factor_kernel(&self, c: &[f64], out: &mut [f64]) {
        let m = self.rows();
        let (kernel, root) = out.split_at_mut(cholesky::packed_len(m));
        for r in 0..m {
            root[r] = c[r].sqrt();
            for s in 0..=r {
                let inner = self.row(r).inner(self.row(s), |j| self.ridge[j] + self.shift);
                kernel[cholesky::packed_len(r) + s] = root[r] * root[s] * inner + f64::from(u8::from(r == s));
            }
        }
        cholesky::factor(kernel, m);
    }

    fn solve_kernel(&self, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        let m = self.rows();
        let (kernel, root) = factor.split_at(cholesky::packed_len(m));
        for (bj, q) in b.iter_mut().zip(self.ridge) {
            *bj /= q + self.shift;
        }
        let y = &mut work[..m];
        for r in 0..m {
            y[r] = root[r] * self.row(r).dot(b);
        }
        cholesky::solve(kernel, y);
        // Q^-1 (b - S'y): whole rows at a time.
        b.iter_mut().zip(self.ridge).for_each(|(b, q)| *b *= q + self.shift);
        for r in 0..m {
            self.row(r).add_to(-root[r] * y[r], b);
        }
        b.iter_mut().zip(self.ridge).for_each(|(b, q)| *b /= q + self.shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both routes against the definition: apply the matrix to the solution and compare with the right-hand side.
    #[test]
    fn gram_and_kernel_invert_the_same_matrix() {
        for (m, d) in [(3, 5), (5, 5), (9, 4), (1, 6), (0, 2)] {
            let x: Vec<f64> = (0..m * d).map(|k| ((k * 7 + 3) % 11) as f64 / 5.0 - 1.0).collect();
            let c: Vec<f64> = (0..m).map(|r| r as f64 * 0.5).collect();
            let ridge: Vec<f64> = (0..d).map(|j| j as f64 * 0.1).collect();
            let normal = Normal { x: Block::Dense { cols: d, x: &x }, ridge: &ridge, shift: 0.3 };
            let b: Vec<f64> = (0..d).map(|j| (j as f64).cos()).collect();
            let (mut factor, mut z, mut work) = (vec![0.0; factor_len(m, d)], b.clone(), vec![0.0; m]);
            let mut hessian = vec![0.0; hessian_len(m, d)];
            normal.hessian(&c, &mut hessian);
            normal.factor(&hessian, &mut factor);
            normal.solve(&factor, &mut z, &mut work);
            let mut back: Vec<f64> = (0..d).map(|j| (ridge[j] + 0.3) * z[j]).collect();
            for r in 0..m {
                normal.row(r).add_to(c[r] * normal.row(r).dot(&z), &mut back);
            }
            let (mut diagonal, mut wanted) = (vec![0.0; d], ridge.clone());
            normal.add_diagonal_to(&hessian, &mut diagonal);
            (0..m).for_each(|r| normal.row(r).for_each(|j, x| wanted[j] += c[r] * x * x));
            assert!(diagonal.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12), "m {m} d {d}");
            let mut product = vec![0.0; d];
            normal.product(&hessian, &z, &mut product);
            axpy(0.3, &z, &mut product);
            let mut sum = vec![0.0; cholesky::packed_len(d)];
            normal.add_to(&hessian, &mut sum);
            let mut summed = vec![0.0; d];
            cholesky::symmetric_product(&sum, &z, &mut summed);
            axpy(0.3, &z, &mut summed);
            for (other, wanted) in product.iter().zip(&back).chain(summed.iter().zip(&back)) {
                assert!((other - wanted).abs() < 1e-11, "m {m} d {d}: {other} {wanted}");
            }
            for (found, wanted) in back.iter().zip(&b) {
                assert!((found - wanted).abs() < 1e-11, "m {m} d {d}: {found} {wanted}");
            }
        }
    }
}
