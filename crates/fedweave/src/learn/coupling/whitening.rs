//! The learnt metric as a change of variables.

use super::Coupling;
use super::dense::{inverse_and_log_determinant, semi_cholesky};
use crate::dataset::Dataset;
use crate::matrix::{Matrix, axpy, dot, norm2};

/// The change of variables `w = C v` with `C C' = D`: in `v` the learnt metric is the Euclidean one.
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    /// `C`, lower triangular.
    root: Matrix,
}

impl Whitening {
    /// That of a coupling.
    pub fn of(coupling: &Coupling) -> Whitening {
        let d = coupling.mu.len();
        Whitening { root: Matrix::from_rows(d, semi_cholesky(coupling.covariance.as_slice(), d)) }
    }

    /// The change of variables after which features have variance 1 and nothing in common over all rows; a column of ones stays as it
    /// is. A search for `D` that takes coefficients one by one has an easier way there.
    pub(super) fn of_features(data: &Dataset, intercept: bool) -> Whitening {
        let d = data.dim();
        let own = d - usize::from(intercept);
        let mut form = vec![0.0; own * own];
        for r in 0..data.len() {
            let x = &data.x(r)[..own];
            x.iter().zip(form.chunks_exact_mut(own.max(1))).for_each(|(a, row)| axpy(a / data.len() as f64, x, row));
        }
        let (inverse, _) = inverse_and_log_determinant(&form, own);
        let lower = semi_cholesky(&inverse, own);
        let entry = |k: usize| match (k / d, k % d) {
            (i, j) if i < own && j < own => lower[i * own + j],
            (i, j) => f64::from(u8::from(i == j)),
        };
        Whitening { root: Matrix::from_rows(d, (0..d * d).map(entry).collect()) }
    }

    /// The rows whose scores are `x'v`.
    pub fn apply(&self, data: &Dataset) -> Dataset {
        let d = data.dim();
        let entry = |x: &[f64], k: usize| (k..d).map(|j| x[j] * self.root.row(j)[k]).sum::<f64>();
        data.map_rows(|x| (0..d).map(|k| entry(x, k)).collect())
    }

    /// `w` of every `v`, in place.
    pub fn restore(&self, v: &mut Matrix) {
        let d = self.root.cols();
        for row in v.as_mut_slice().chunks_exact_mut(d) {
            // Downwards: an entry needs those above it.
            for j in (0..d).rev() {
                row[j] = dot(&self.root.row(j)[..=j], &row[..=j]);
            }
        }
    }

    /// The flows of `w` from those of `v`, in place: `C'^-1 u`, so that they do the same work.
    pub fn restore_flows(&self, u: &mut Matrix) {
        let d = self.root.cols();
        for flow in u.as_mut_slice().chunks_exact_mut(d) {
            for j in (0..d).rev() {
                let later: f64 = (j + 1..d).map(|k| self.root.row(k)[j] * flow[k]).sum();
                let pivot = self.root.row(j)[j];
                flow[j] = if pivot > 0.0 { (flow[j] - later) / pivot } else { 0.0 };
            }
        }
    }

    /// `v` of a difference of models.
    pub(super) fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut v: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        for j in 0..v.len() {
            let (above, rest) = v.split_at_mut(j);
            let pivot = self.root.row(j)[j];
            rest[0] = if pivot > 0.0 { (rest[0] - dot(&self.root.row(j)[..j], above)) / pivot } else { 0.0 };
        }
        norm2(&v)
    }
}
