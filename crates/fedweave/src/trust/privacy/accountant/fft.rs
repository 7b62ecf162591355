//! The discrete Fourier transform of `2^k` complex numbers, in place, and how far rounding can move its result.

use std::f64::consts::PI;

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

    /// `self^n`, by size and angle.
    pub fn power(self, n: f64) -> Complex {
        let size = (0.5 * n * self.norm_squared().ln()).exp();
        let (sin, cos) = (n * self.im.atan2(self.re)).sin_cos();
        Complex { re: size * cos, im: size * sin }
    }
}

/// Roots of unity for transforms of `n` numbers: those of every stage, one stage after another.
pub struct Fft {
    roots: Vec<Complex>,
}

impl Fft {
    /// `n` must be a power of two.
    pub fn new(n: usize) -> Self {
        assert!(n.is_power_of_two(), "a power of two");
        let root = |half: usize, k: usize| {
            let (sin, cos) = (-PI * k as f64 / half as f64).sin_cos();
            Complex { re: cos, im: sin }
        };
        let mut roots = Vec::with_capacity(n);
        let mut half = 1;
        while half < n {
            roots.extend((0..half).map(|k| root(half, k)));
            half *= 2;
        }
        Fft { roots }
    }

    /// `X_j = sum_k x_k e^{-2 pi i j k / n}`.
    pub fn forward(&self, x: &mut [Complex]) {
        let n = x.len();
        reverse_bits(x);
        let mut half = 1;
        while half < n {
            let roots = &self.roots[half - 1..2 * half - 1];
            for block in x.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for ((a, b), root) in left.iter_mut().zip(right).zip(roots) {
                    let re = b.re * root.re - b.im * root.im;
                    let im = b.re * root.im + b.im * root.re;
                    (a.re, b.re) = (a.re + re, a.re - re);
                    (a.im, b.im) = (a.im + im, a.im - im);
                }
            }
            half *= 2;
        }
    }

    /// Bounds the Euclidean norm of the error of a transform, as a multiple of the norm of its result (Higham, Accuracy and
    /// Stability, theorem 24.2, with roots good to an ulp).
    pub fn relative_error(n: usize) -> f64 {
        8.0 * f64::EPSILON * (n.ilog2() + 1) as f64
    }
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
