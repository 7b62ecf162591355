//! Gauss-Legendre quadrature: nodes and weights on `[-1, 1]`.

use std::f64::consts::PI;

/// Nodes and weights of order `N`, by Newton's method on the Legendre polynomial.
pub fn gauss_legendre<const N: usize>() -> [(f64, f64); N] {
    std::array::from_fn(|k| {
        let mut x = (PI * (k as f64 + 0.75) / (N as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..20 {
            let (value, derivative) = legendre(N, x);
            slope = derivative;
            x -= value / derivative;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

/// `P_n(x)` and its derivative.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, n as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_exact() {
        let rule = gauss_legendre::<5>();
        for power in 0..10 {
            let exact = if power % 2 == 0 { 2.0 / (power as f64 + 1.0) } else { 0.0 };
            let found: f64 = rule.iter().map(|(x, w)| w * x.powi(power)).sum();
            assert!((found - exact).abs() < 1e-14, "{power}: {found} {exact}");
        }
    }
}
