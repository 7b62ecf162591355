//! Products of small dense matrices, row after row.

use faer::{Mat, Side};

/// `out <- out + A B` with `A` of `m x k` and `B` of `k x n`.
pub fn add_product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize, out: &mut [f64]) {
    for i in 0..m {
        let row = &mut out[i * n..(i + 1) * n];
        for (a, b) in a[i * k..(i + 1) * k].iter().zip(b.chunks_exact(n)) {
            row.iter_mut().zip(b).for_each(|(o, b)| *o += a * b);
        }
    }
}

/// `A B`.
pub fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    add_product(a, b, m, k, n, &mut out);
    out
}

/// `A'` of an `m x n` matrix.
pub fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|k| a[(k % m) * n + k / m]).collect()
}

/// `B A B'` with `B` of `m x k` and `A` of `k x k`.
pub fn sandwich(b: &[f64], a: &[f64], m: usize, k: usize) -> Vec<f64> {
    let left = product(b, a, m, k, k);
    product(&left, &transposed(b, m, k), m, k, m)
}

/// Lower Cholesky factor of a positive semidefinite matrix. Pivots that are zero up to rounding become zero, with their
/// columns.
pub fn semi_cholesky(a: &[f64], d: usize) -> Vec<f64> {
    let mut l = vec![0.0; d * d];
    for j in 0..d {
        let pivot = a[j * d + j] - (0..j).map(|k| l[j * d + k] * l[j * d + k]).sum::<f64>();
        if pivot.is_nan() || pivot <= 1e-13 * a[j * d + j] {
            continue;
        }
        let root = pivot.sqrt();
        l[j * d + j] = root;
        for i in j + 1..d {
            let inner: f64 = (0..j).map(|k| l[i * d + k] * l[j * d + k]).sum();
            l[i * d + j] = (a[i * d + j] - inner) / root;
        }
    }
    l
}

/// Eigenvalues, increasing, and eigenvectors (one per row) of a symmetric matrix; `None` if it is not finite.
pub fn eigen(a: &[f64], d: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    if !a.iter().all(|v| v.is_finite()) {
        return None;
    }
    // One thread: the result must not depend on their number.
    faer::set_global_parallelism(faer::Par::Seq);
    let matrix = Mat::from_fn(d, d, |i, j| 0.5 * (a[i * d + j] + a[j * d + i]));
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let vectors = (0..d * d).map(|k| eigen.U()[(k % d, k / d)]).collect();
    Some(((0..d).map(|k| eigen.S()[k]).collect(), vectors))
}

/// `V f(e) V'` of a symmetric matrix; zero if it is not finite.
pub fn spectral(a: &[f64], d: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    let Some((values, vectors)) = eigen(a, d) else { return out };
    for (value, v) in values.iter().zip(vectors.chunks_exact(d)) {
        let value = f(*value);
        for i in 0..d {
            for j in 0..d {
                out[i * d + j] += value * v[i] * v[j];
            }
        }
    }
    out
}

/// Pseudo-inverse of a positive semidefinite matrix, and the log-determinant of what is not zero up to rounding.
pub fn inverse_and_log_determinant(a: &[f64], d: usize) -> (Vec<f64>, f64) {
    let size = (0..d).map(|j| a[j * d + j]).fold(f64::MIN_POSITIVE, f64::max);
    let log = std::cell::Cell::new(0.0);
    let inverse = spectral(a, d, |e| {
        if e <= 1e-11 * size {
            return 0.0;
        }
        log.set(log.get() + e.ln());
        1.0 / e
    });
    (inverse, log.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_spectra_give_the_matrix_back() {
        // Rank 2 of 3.
        let b = [1.0, 0.5, -0.3, 2.0, 0.7, 1.5];
        let a = product(&b, &transposed(&b, 3, 2), 3, 2, 3);
        let l = semi_cholesky(&a, 3);
        let again = product(&l, &transposed(&l, 3, 3), 3, 3, 3);
        assert!(a.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(l[8], 0.0);
        let again = spectral(&a, 3, |e| e);
        assert!(a.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
