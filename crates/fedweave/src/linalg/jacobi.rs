//! Eigenvalues and eigenvectors of small symmetric matrices by Jacobi's rotations.

/// Sweeps after which rounding is all that is left.
const SWEEPS: usize = 30;

/// Turns the symmetric `a` (`n` rows, one after another) into its eigenvalues on the diagonal; returns the eigenvectors, one a row.
pub fn eigen(a: &mut [f64], n: usize) -> Vec<f64> {
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|k| vectors[k * n + k] = 1.0);
    let size: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        if off <= 1e-32 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(a, &mut vectors, n, p, q);
            }
        }
    }
    vectors
}

/// The rotation of rows and columns `p`, `q` that makes entry `(p, q)` zero.
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = 1.0f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    for k in 0..n {
        let (mut x, mut y) = (a[k * n + p], a[k * n + q]);
        turn(&mut x, &mut y);
        (a[k * n + p], a[k * n + q]) = (x, y);
    }
    for k in 0..n {
        let (mut x, mut y) = (a[p * n + k], a[q * n + k]);
        turn(&mut x, &mut y);
        (a[p * n + k], a[q * n + k]) = (x, y);
        let (mut x, mut y) = (vectors[p * n + k], vectors[q * n + k]);
        turn(&mut x, &mut y);
        (vectors[p * n + k], vectors[q * n + k]) = (x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let n = 7;
        let mut rng = stream(3, Purpose::StartVector, 0);
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                matrix[i * n + j] = rng.random::<f64>() - 0.5;
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        let mut values = matrix.clone();
        let vectors = eigen(&mut values, n);
        for i in 0..n {
            for j in 0..n {
                let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
                let rebuilt = sum(&|k| values[k * n + k] * vectors[k * n + i] * vectors[k * n + j]);
                assert!((rebuilt - matrix[i * n + j]).abs() < 1e-13);
                let product = sum(&|k| vectors[i * n + k] * vectors[j * n + k]);
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-13);
            }
        }
    }
}
