//! Cholesky factors of small symmetric positive definite matrices, in packed rows: entry `(i, j)`, `j <= i`, is at
//! `i (i + 1) / 2 + j`. The factor keeps reciprocals on its diagonal, so that a solve does not divide.

use crate::matrix::{axpy, dot};
use crate::unroll::{by_dim, known};

/// Number of entries of a packed lower triangle of order `k`.
pub const fn packed_len(k: usize) -> usize {
    k * (k + 1) / 2
}

/// Row `i` of a packed lower triangle, diagonal included.
pub fn row(a: &[f64], i: usize) -> &[f64] {
    &a[packed_len(i)..packed_len(i) + i + 1]
}

/// Replaces the lower triangle of a matrix by its Cholesky factor. Pivots that rounding makes non-positive are
/// lifted to a tiny positive number: every caller factors a matrix that is positive definite in exact arithmetic.
pub fn factor(a: &mut [f64], k: usize) {
    by_dim!(k, factor_of(a, k));
}

#[inline(always)]
fn factor_of<const K: usize>(a: &mut [f64], k: usize) {
    for i in 0..known::<K>(k) {
        let (above, rest) = a.split_at_mut(packed_len(i));
        let current = &mut rest[..i + 1];
        for j in 0..i {
            let pivot_row = row(above, j);
            current[j] = (current[j] - dot(&current[..j], &pivot_row[..j])) * pivot_row[j];
        }
        let size = current[i].abs();
        let pivot = current[i] - dot(&current[..i], &current[..i]);
        let floor = (size * 1e-16).max(f64::MIN_POSITIVE);
        current[i] = 1.0 / pivot.max(floor).sqrt();
    }
}

/// Solves `L L' x = b` in place, with the factor of [`factor`].
pub fn solve(l: &[f64], b: &mut [f64]) {
    by_dim!(b.len(), solve_of(l, b));
}

#[inline(always)]
fn solve_of<const K: usize>(l: &[f64], b: &mut [f64]) {
    let k = known::<K>(b.len());
    for i in 0..k {
        let r = row(l, i);
        b[i] = (b[i] - dot(&r[..i], &b[..i])) * r[i];
    }
    for i in (0..k).rev() {
        let r = row(l, i);
        let x = b[i] * r[i];
        b[i] = x;
        axpy(-x, &r[..i], &mut b[..i]);
    }
}

/// Up to this order an inverse beats a factor: a product with it has no chain of dependent steps.
pub const INVERSE_MAX: usize = 24;

/// `out <- A b` for a symmetric `A` given by all its entries.
pub fn dense_product(a: &[f64], b: &[f64], out: &mut [f64]) {
    by_dim!(b.len(), product(a, b, out));
}

#[inline(always)]
fn product<const D: usize>(a: &[f64], b: &[f64], out: &mut [f64]) {
    if D == 0 {
        out.fill(0.0);
        return a.chunks_exact(b.len()).zip(b).for_each(|(column, b)| axpy(*b, column, out));
    }
    let mut sum = [0.0; D];
    for (column, b) in a.chunks_exact(D.max(1)).zip(b) {
        for k in 0..D {
            sum[k] += b * column[k];
        }
    }
    out.copy_from_slice(&sum);
}

/// `out <- (A + shift)^-1`, all entries, for a symmetric `A` given by its lower triangle.
pub fn shifted_inverse(packed: &[f64], k: usize, shift: f64, out: &mut [f64], row: &mut [f64]) {
    unpack(packed, k, out);
    (0..k).for_each(|j| out[j * (k + 1)] += shift);
    invert(out, k, row);
}

/// Replaces a symmetric positive definite matrix, all its `k x k` entries row after row, by its inverse (Gauss-Jordan,
/// which vectorises over whole rows and needs no pivoting here).
pub fn invert(a: &mut [f64], k: usize, row: &mut [f64]) {
    by_dim!(k, invert_of(a, k, row));
}

#[inline(always)]
fn invert_of<const K: usize>(a: &mut [f64], k: usize, row: &mut [f64]) {
    let k = known::<K>(k);
    // Slices whose length the compiler knows.
    let (a, row) = (&mut a[..k * k], &mut row[..k]);
    for p in 0..k {
        row.copy_from_slice(&a[p * k..][..k]);
        let pivot = 1.0 / row[p].max(f64::MIN_POSITIVE);
        row[p] = 1.0;
        for i in (0..k).filter(|i| *i != p) {
            let current = &mut a[i * k..][..k];
            let along = -current[p] * pivot;
            current[p] = 0.0;
            (0..k).for_each(|j| current[j] += along * row[j]);
        }
        let current = &mut a[p * k..][..k];
        (0..k).for_each(|j| current[j] = row[j] * pivot);
    }
}

/// All entries of a symmetric matrix from its lower triangle.
pub fn unpack(packed: &[f64], k: usize, out: &mut [f64]) {
    for i in 0..k {
        for (j, v) in row(packed, i).iter().enumerate() {
            out[i * k + j] = *v;
            out[j * k + i] = *v;
        }
    }
}

/// `out <- A v` for a symmetric `A` given by its lower triangle.
pub fn symmetric_product(a: &[f64], v: &[f64], out: &mut [f64]) {
    by_dim!(v.len(), symmetric_product_of(a, v, out));
}

#[inline(always)]
fn symmetric_product_of<const K: usize>(a: &[f64], v: &[f64], out: &mut [f64]) {
    for i in 0..known::<K>(v.len()) {
        let r = row(a, i);
        out[i] = dot(r, &v[..=i]);
        axpy(v[i], &r[..i], &mut out[..i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_positive_definite_system() {
        // Also beyond the lengths with code of their own.
        (1..16).for_each(solves);
    }

    fn solves(k: usize) {
        // A = B B' + I for a fixed B.
        let b = |i: usize, j: usize| ((i * 5 + j * 3) % 7) as f64 / 3.0 - 1.0;
        let a = |i, j| (0..k).map(|l| b(i, l) * b(j, l)).sum::<f64>() + f64::from(u8::from(i == j));
        let mut packed: Vec<f64> = (0..k).flat_map(|i| (0..=i).map(move |j| a(i, j))).collect();
        let x: Vec<f64> = (0..k).map(|i| i as f64 - 2.5).collect();
        let mut rhs: Vec<f64> = (0..k).map(|i| (0..k).map(|j| a(i, j) * x[j]).sum()).collect();
        let mut inverse = vec![0.0; k * k];
        unpack(&packed, k, &mut inverse);
        invert(&mut inverse, k, &mut vec![0.0; k]);
        let inverted: Vec<f64> = inverse.chunks_exact(k).map(|row| dot(row, &rhs)).collect();
        factor(&mut packed, k);
        solve(&packed, &mut rhs);
        for (found, wanted) in inverted.iter().zip(&x) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
        for (found, wanted) in rhs.iter().zip(&x) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
    }
}
