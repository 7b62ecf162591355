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

/// `n` real numbers, two in each entry.
pub fn pack(x: &[f64]) -> Vec<Complex> {
    x.chunks_exact(2).map(|pair| Complex { re: pair[0], im: pair[1] }).collect()
}

/// In place, `X_j = sum_k x_k e^{-2 pi i j k / n}` for `j <= n / 2` of packed numbers; the others are the conjugates of these. `n` must be a power of two, at
/// least 2.
pub fn of_real(x: &mut Vec<Complex>) {
    let half = x.len();
    forward(x);
    x.push(x[0]);
    for j in 0..=half / 2 {
        let (a, b) = (x[j], x[half - j]);
        (x[j], x[half - j]) = (untangled(a, b, root_of(half, j)), untangled(b, a, root_of(half, half - j)));
    }
}

/// One of two real transforms that were done as one.
fn untangled(a: Complex, b: Complex, root: Complex) -> Complex {
    let even = Complex { re: 0.5 * (a.re + b.re), im: 0.5 * (a.im - b.im) };
    let odd = Complex { re: 0.5 * (a.im + b.im), im: 0.5 * (b.re - a.re) }.times(root);
    Complex { re: even.re + odd.re, im: even.im + odd.im }
}

/// In place and packed, `x_j = sum_k X_k e^{-2 pi i j k / n}` of numbers of which `X_{n - k}` is the conjugate of `X_k`, given those up to `n / 2`.
pub fn to_real(x: &mut Vec<Complex>) {
    let half = x.len() - 1;
    for k in 0..=half / 2 {
        let (a, b) = (x[k], x[half - k]);
        (x[k], x[half - k]) = (folded(a, b, root_of(half, k)), folded(b, a, root_of(half, half - k)));
    }
    x.pop();
    forward(x);
}

/// Even places as real parts, odd ones as imaginary parts.
fn folded(a: Complex, b: Complex, root: Complex) -> Complex {
    let turned = Complex { re: a.re - b.re, im: a.im + b.im }.times(root);
    Complex { re: a.re + b.re - turned.im, im: a.im - b.im + turned.re }
}

/// `e^{-pi i k / half}` for `k <= half`.
fn root_of(half: usize, k: usize) -> Complex {
    if k == half { Complex { re: -1.0, im: 0.0 } } else { roots(half)[k] }
}

/// The transform of complex numbers, in place.
fn forward(x: &mut [Complex]) {
    let n = x.len();
    reverse_bits(x);
    let mut half = first_stages(x);
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

/// The first two stages together, whose roots are 1 and -i; returns half of the length of the next one.
fn first_stages(x: &mut [Complex]) -> usize {
    if x.len() < 4 {
        return 1;
    }
    for block in x.chunks_exact_mut(4) {
        let sum = |a: Complex, b: Complex| Complex { re: a.re + b.re, im: a.im + b.im };
        let difference = |a: Complex, b: Complex| Complex { re: a.re - b.re, im: a.im - b.im };
        let (even, odd) = (sum(block[0], block[1]), sum(block[2], block[3]));
        let (left, right) = (difference(block[0], block[1]), difference(block[2], block[3]));
        let turned = Complex { re: right.im, im: -right.re };
        block.copy_from_slice(&[sum(even, odd), sum(left, turned), difference(even, odd), difference(left, turned)]);
    }
    4
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
            let mut spectrum = pack(&x);
            of_real(&mut spectrum);
            assert_eq!(spectrum.len(), n / 2 + 1);
            for (j, found) in spectrum.iter().enumerate() {
                let angle = |k: usize| -2.0 * PI * ((j * k) % n) as f64 / n as f64;
                let re: f64 = (0..n).map(|k| x[k] * angle(k).cos()).sum();
                let im: f64 = (0..n).map(|k| x[k] * angle(k).sin()).sum();
                assert!((found.re - re).abs() + (found.im - im).abs() < 1e-11, "{n} {j}: {found:?} {re} {im}");
            }
            // Twice the transform is the sequence backwards, n times.
            to_real(&mut spectrum);
            let back = spectrum.iter().flat_map(|pair| [pair.re, pair.im]);
            for (k, found) in back.enumerate() {
                assert!((found / n as f64 - x[(n - k) % n]).abs() < 1e-12, "{n} {k}: {found}");
            }
        }
    }
}
