//! Nodes with fewer rows than features: Hessians kept as the probabilities of the rows, and solved through a kernel between rows.
//!
//! With `R_r = diag(sqrt p_r) - p_r sqrt(p_r)'` the Hessian of a node is `sum_r a_r (R_r R_r') (x) x_r x_r' + 2 ridge`, of rank at
//! most rows times classes. Woodbury's identity, as in `linalg::normal`, needs the matrix of
//!
//! ```text
//! delta + sqrt(a_r a_s p_rk p_sl) (delta_kl - p_sk - p_rl + p_r'p_s) x_r' Q^-1 x_s,      Q = 2 ridge + shift
//! ```
//!
//! over pairs of rows and classes, and nothing as large as the square of the features.

use super::Multinomial;
use crate::linalg::cholesky::{self, packed_len};
use crate::matrix::dot;

impl Multinomial {
    /// True for a node that has rows, fewer than features.
    pub(super) fn is_wide(&self, node: usize) -> bool {
        self.rows.data.rows(node).len() < self.features() && self.rows.has_rows(node)
    }

    /// A probability per row and class.
    pub(super) fn probabilities_len(&self, node: usize) -> usize {
        self.rows.data.rows(node).len() * self.classes
    }

    pub(super) fn kernel_len(&self, node: usize) -> usize {
        packed_len(self.probabilities_len(node))
    }

    pub(super) fn all_probabilities(&self, node: usize, w: &[f64], out: &mut [f64]) {
        for ((x, y, _), probability) in self.rows.iter(node).zip(out.chunks_exact_mut(self.classes)) {
            self.predict(x, y, w, probability);
        }
    }

    /// `out <- L_i'' v`.
    pub(super) fn product_by_rows(&self, node: usize, probabilities: &[f64], v: &[f64], out: &mut [f64]) {
        let p = self.features();
        for (o, v) in out.chunks_exact_mut(p).zip(v.chunks_exact(p)) {
            o.iter_mut().zip(v).zip(&self.rows.twice_ridge).for_each(|((o, v), q)| *o = q * v);
        }
        self.with_classes(|score| {
            for ((x, _, a), probability) in self.rows.iter(node).zip(probabilities.chunks_exact(self.classes)) {
                score.iter_mut().enumerate().for_each(|(k, s)| *s = x.dot(self.block(v, k)));
                let mean = dot(probability, score);
                for (k, o) in out.chunks_exact_mut(p).enumerate() {
                    x.add_to(a * probability[k] * (score[k] - mean), o);
                }
            }
        });
    }

    pub(super) fn add_diagonal_by_rows(&self, node: usize, probabilities: &[f64], sum: &mut [f64]) {
        let p = self.features();
        for ((x, _, a), probability) in self.rows.iter(node).zip(probabilities.chunks_exact(self.classes)) {
            for (sum, q) in sum.chunks_exact_mut(p).zip(probability) {
                x.for_each(|j, value| sum[j] += a * q * (1.0 - q) * value * value);
            }
        }
        sum.iter_mut().enumerate().for_each(|(i, s)| *s += self.rows.twice_ridge[i % p]);
    }

    /// The factor of the kernel, then the probabilities.
    pub(super) fn factor_kernel(&self, node: usize, probabilities: &[f64], shift: f64, out: &mut [f64]) {
        let (k_max, first) = (self.classes, self.rows.data.rows(node).start);
        let (kernel, kept) = out.split_at_mut(self.kernel_len(node));
        kept.copy_from_slice(probabilities);
        let ridge = &self.rows.twice_ridge;
        for (r, p) in kept.chunks_exact(k_max).enumerate() {
            for (s, q) in kept.chunks_exact(k_max).enumerate().take(r + 1) {
                let (x, z) = (self.rows.data.row(first + r), self.rows.data.row(first + s));
                let share = self.rows.share[first + r] * self.rows.share[first + s];
                let inner = share.sqrt() * x.inner(z, |j| ridge[j] + shift);
                let both = dot(p, q);
                for k in 0..k_max {
                    let start = packed_len(r * k_max + k) + s * k_max;
                    for l in 0..if r == s { k + 1 } else { k_max } {
                        let (same, one) = (k == l, r == s && k == l);
                        let turned = f64::from(u8::from(same)) - q[k] - p[l] + both;
                        kernel[start + l] = (p[k] * q[l]).sqrt() * turned * inner + f64::from(u8::from(one));
                    }
                }
            }
        }
        cholesky::factor(kernel, kept.len());
    }

    /// `b <- (L_i'' + shift)^-1 b`.
    pub(super) fn solve_kernel(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        let (p, k_max) = (self.features(), self.classes);
        let (kernel, probabilities) = factor.split_at(self.kernel_len(node));
        let (y, work) = work.split_at_mut(probabilities.len());
        let score = &mut work[..k_max];
        let by_diagonal = |b: &mut [f64]| {
            b.iter_mut().enumerate().for_each(|(i, b)| *b /= self.rows.twice_ridge[i % p] + shift);
        };
        by_diagonal(b);
        let rows = || self.rows.iter(node).zip(probabilities.chunks_exact(k_max));
        for (((x, _, a), q), y) in rows().zip(y.chunks_exact_mut(k_max)) {
            score.iter_mut().enumerate().for_each(|(k, s)| *s = x.dot(self.block(b, k)));
            let mean = dot(q, score);
            y.iter_mut().enumerate().for_each(|(k, y)| *y = (a * q[k]).sqrt() * (score[k] - mean));
        }
        cholesky::solve(kernel, y);
        for (((x, _, a), q), y) in rows().zip(y.chunks_exact(k_max)) {
            let mean: f64 = q.iter().zip(y).map(|(q, y)| q.sqrt() * y).sum();
            for (l, b) in b.chunks_exact_mut(p).enumerate() {
                // Q^-1 S'y, entry by entry of the row.
                let c = a.sqrt() * (q[l].sqrt() * y[l] - q[l] * mean);
                x.for_each(|j, value| b[j] -= c * value / (self.rows.twice_ridge[j] + shift));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::Dataset;
    use crate::features::SparseMatrix;
    use crate::laws::{Draw, check_loss};
    use crate::linalg::cholesky::{packed_len, symmetric_product};
    use crate::loss::{Family, Loss, LossOptions};
    use crate::matrix::axpy;

    /// Fewer rows than features, half of them zero, with a share that is zero.
    fn wide(seed: u64) -> Box<dyn Loss> {
        let mut draw = Draw::new(seed);
        let (features, classes, rows) = (4 + draw.below(5), 2 + draw.below(3), 1 + draw.below(3));
        let mut x = SparseMatrix::new(features);
        for _ in 0..rows {
            let row = draw.normal(features, 1.0);
            x.push(row.into_iter().enumerate().filter(|(_, v)| *v > 0.0));
        }
        let y = (0..rows).map(|_| draw.below(classes) as f64).collect();
        let weight = (0..rows).map(|r| if r == 1 { 0.0 } else { 1.0 }).collect();
        let data = Dataset::new(vec![0, rows], x, y, weight).unwrap();
        let options = LossOptions { ridge: [0.0, 0.1][draw.below(2)], ..Default::default() };
        Family::Multinomial { classes }.build(data, &options).unwrap()
    }

    #[test]
    fn wide_nodes_obey_the_laws() {
        for seed in 0..100 {
            check_loss(&*wide(seed), seed).unwrap_or_else(|v| panic!("seed {seed}: {v}"));
        }
    }

    /// The kernel inverts what products and the whole matrix say.
    #[test]
    fn the_kernel_solves_the_system() {
        for seed in 0..100 {
            let loss = wide(seed);
            let (second, d, mut draw) = (loss.second_order().unwrap(), loss.dim(), Draw::new(seed + 1000));
            let (w, b, shift) = (draw.normal(d, 1.0), draw.normal(d, 1.0), 0.3);
            let mut work = vec![0.0; loss.work_len()];
            let (mut hessian, mut factor) = (vec![0.0; second.hessian_len(0)], vec![0.0; second.factor_len(0)]);
            second.hessian(0, &w, &mut hessian, &mut work);
            second.factor(0, &hessian, shift, &mut factor, &mut work);
            let mut z = b.clone();
            second.factor_solve(0, shift, &factor, &mut z, &mut work);
            let (mut by_rows, mut whole) = (vec![0.0; d], vec![0.0; packed_len(d)]);
            second.hessian_product(0, &hessian, &z, &mut by_rows);
            second.add_hessian(0, &hessian, &mut whole);
            let mut by_matrix = vec![0.0; d];
            symmetric_product(&whole, &z, &mut by_matrix);
            let mut diagonal = vec![0.0; d];
            second.add_hessian_diagonal(0, &hessian, &mut diagonal);
            for j in 0..d {
                assert!((diagonal[j] - whole[packed_len(j) + j]).abs() < 1e-12, "seed {seed}");
            }
            for mut product in [by_rows, by_matrix] {
                axpy(shift, &z, &mut product);
                assert!(product.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9), "seed {seed}");
            }
        }
    }
}
