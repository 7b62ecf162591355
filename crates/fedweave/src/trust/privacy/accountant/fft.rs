//! The discrete Fourier transform of `2^k` real numbers and back, and how far rounding can move its result.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    /// The square of its size.
    pub fn norm_squared(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    /// The product.
    fn times(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }

    /// `self^n`, by size and angle.
    pub fn power(self, n: f64) -> Complex {
        let size = (0.5 * n * self.norm_squared().ln()).exp();
        let (sin, cos) = (n * self.im.atan2(self.re)).sin_cos();
        Complex { re: size * cos, im: size * sin }
    }
}

/// `e^{-pi i k / half}` for `k < half`, a power of two; computed once in the life of a program.
fn roots(half: usize) -> &'static [Complex] {
    static STAGES: [OnceLock<Vec<Complex>>; usize::BITS as usize] = [const { OnceLock::new() }; usize::BITS as usize];
    let root = |k: usize| {
        let (sin, cos) = (-PI * k as f64 / half as f64).sin_cos();
        Complex { re: cos, im: sin }
    };
    STAGES[half.ilog2() as usize].get_or_init(|| (0..half).map(root).collect())
}

/// `X_j = sum_k x_k e^{-2 pi i j k / n}` for `j <= n / 2`; the others are the conjugates of these. `n` must be a power of two, at least 2.
pub fn of_real(x: &[f64]) -> Vec<Complex> {
    let half = x.len() / 2;
    let mut z: Vec<Complex> = x.chunks_exact(2).map(|pair| Complex { re: pair[0], im: pair[1] }).collect();
    forward(&mut z);
    let at = |j: usize| {
        let (a, b) = (z[j % half], z[(half - j) % half]);
        let (even, odd) = (
            Complex { re: 0.5 * (a.re + b.re), im: 0.5 * (a.im - b.im) },
            Complex { re: 0.5 * (a.im + b.im), im: 0.5 * (b.re - a.re) },
        );
        let turned = if j == half { Complex { re: -odd.re, im: -odd.im } } else { odd.times(roots(half)[j]) };
        Complex { re: even.re + turned.re, im: even.im + turned.im }
    };
    (0..=half).map(at).collect()
}

/// `x_j = sum_k X_k e^{-2 pi i j k / n}` of numbers of which `X_{n - k}` is the conjugate of `X_k`, given those up to `n / 2`.
pub fn to_real(spectrum: &[Complex]) -> Vec<f64> {
    let half = spectrum.len() - 1;
    let fold = |k: usize| {
        let (a, b) = (spectrum[k], spectrum[half - k]);
        let turned = Complex { re: a.re - b.re, im: a.im + b.im }.times(roots(half)[k]);
        Complex { re: a.re + b.re - turned.im, im: a.im - b.im + turned.re }
    };
    let mut z: Vec<Complex> = (0..half).map(fold).collect();
    forward(&mut z);
    z.into_iter().flat_map(|c| [c.re, c.im]).collect()
}

/// The transform of complex numbers, in place.
fn forward(x: &mut [Complex]) {
    let n = x.len();
    reverse_bits(x);
    let mut half = 1;
    while half < n {
        let roots = roots(half);
        for block in x.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for ((a, b), root) in left.iter_mut().zip(right).zip(roots) {
                let turned = b.times(*root);
                (a.re, b.re) = (a.re + turned.re, a.re - turned.re);
                (a.im, b.im) = (a.im + turned.im, a.im - turned.im);
            }
        }
        half *= 2;
    }
}

/// Bounds the Euclidean norm of the error of a transform of length `n`, as a multiple of the norm of its result (Higham, Accuracy and
/// Stability, theorem 24.2, with roots good to an ulp; packing two real numbers into one takes the place of a stage).
pub fn relative_error(n: usize) -> f64 {
    8.0 * f64::EPSILON * (n.ilog2() + 1) as f64
}

fn reverse_bits(x: &mut [Complex]) {
    let shift = usize::BITS - x.len().ilog2();
    if x.len() < 2 {
        return;
    }
    for k in 0..x.len() {
        let other = k.reverse_bits() >> shift;
        if k < other {
            x.swap(k, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_match_their_sums_and_return() {
        for n in [2usize, 4, 64] {
            let x: Vec<f64> = (0..n).map(|k| ((k * k + 3 * k) % 7) as f64 - 2.5).collect();
            let spectrum = of_real(&x);
            assert_eq!(spectrum.len(), n / 2 + 1);
            for (j, found) in spectrum.iter().enumerate() {
                let angle = |k: usize| -2.0 * PI * ((j * k) % n) as f64 / n as f64;
                let re: f64 = (0..n).map(|k| x[k] * angle(k).cos()).sum();
                let im: f64 = (0..n).map(|k| x[k] * angle(k).sin()).sum();
                assert!((found.re - re).abs() + (found.im - im).abs() < 1e-11, "{n} {j}: {found:?} {re} {im}");
            }
            // Twice the transform is the sequence backwards, n times.
            for (k, found) in to_real(&spectrum).iter().enumerate() {
                assert!((found / n as f64 - x[(n - k) % n]).abs() < 1e-12, "{n} {k}: {found}");
            }
        }
    }
}
