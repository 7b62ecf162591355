//! How often something happens, at most: Clopper and Pearson's bound.

/// The largest probability at which `successes` or fewer of `trials` are still as likely as `error`.
pub fn upper_bound(successes: usize, trials: usize, error: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    let (k, n) = (successes as f64, trials as f64);
    let (mut low, mut high) = (k / n, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        // P(X <= k) = 1 - I_p(k + 1, n - k).
        if 1.0 - incomplete_beta(k + 1.0, n - k, middle) > error { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function `I_x(a, b)`, by its continued fraction (Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        (front - a.ln()).exp() * fraction(a, b, x)
    } else {
        1.0 - (front - b.ln()).exp() * fraction(b, a, 1.0 - x)
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            h *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_match_sums_of_binomials() {
        for (k, n, error) in [(0, 10, 0.05), (3, 20, 0.01), (40, 100, 0.025)] {
            let p = upper_bound(k, n, error);
            let mut term = (1.0 - p).powi(n as i32);
            let mut sum = term;
            for i in 0..k {
                term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
                sum += term;
            }
            assert!((sum / error - 1.0).abs() < 1e-9, "{k} of {n}: {sum}");
        }
        // Nothing in n trials: 1 - error^(1/n).
        assert!((upper_bound(0, 1000, 0.05) - (1.0 - 0.05f64.powf(1e-3))).abs() < 1e-12);
        assert_eq!(upper_bound(5, 5, 0.05), 1.0);
        let large = upper_bound(3_000, 1_000_000, 0.01);
        assert!(large > 0.0031 && large < 0.00315, "{large}");
    }
}
