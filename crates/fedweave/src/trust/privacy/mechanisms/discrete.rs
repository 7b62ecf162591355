//! Exact samples of the discrete Laplace and the discrete Gaussian distribution (Canonne, Kamath and Steinke 2020, algorithms 1 to
//! 3): comparisons of random bits with ratios of whole numbers, no rounding anywhere.

use rand::Rng;

/// The deviation of noise, as a ratio of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Above.
    pub above: u64,
    /// Below.
    pub below: u64,
}

/// Larger deviations overflow 128 bits.
const DEVIATION_MAX: u64 = 1 << 28;
/// Larger numbers do.
const ABOVE_MAX: u64 = 1 << 31;
const BELOW_MAX: u64 = 1 << 6;

impl Ratio {
    /// A ratio that the samplers can take; `None` if it is zero, too large or too fine.
    pub fn new(above: u64, below: u64) -> Option<Ratio> {
        let fits =
            above > 0 && above <= ABOVE_MAX && (1..=BELOW_MAX).contains(&below) && above / below <= DEVIATION_MAX;
        fits.then_some(Ratio { above, below })
    }
}

/// A whole number below `bound`, every one equally likely.
pub(super) fn below(bound: u128, rng: &mut impl Rng) -> u128 {
    let bits = u128::BITS - (bound - 1).leading_zeros();
    if bits == 0 {
        return 0;
    }
    loop {
        let high = if bits > 64 { u128::from(rng.next_u64()) << 64 } else { 0 };
        let drawn = (high | u128::from(rng.next_u64())) >> if bits > 64 { 128 - bits } else { 64 - bits };
        if drawn < bound {
            return drawn;
        }
    }
}

/// True with probability `exp(-above / below)`.
pub(super) fn bernoulli_exp(mut above: u128, under: u128, rng: &mut impl Rng) -> bool {
    // e^-x = (e^-1)^floor(x) e^-(x - floor(x)).
    while above > under {
        if !bernoulli_exp_small(1, 1, rng) {
            return false;
        }
        above -= under;
    }
    bernoulli_exp_small(above, under, rng)
}

/// The same for `above <= under`: the first k at which a coin of probability `x / k` fails is odd with probability `e^-x`.
fn bernoulli_exp_small(above: u128, under: u128, rng: &mut impl Rng) -> bool {
    let mut k: u128 = 1;
    // A coin of probability x / k: two independent ones of x and 1 / k, whose numbers stay small.
    while below(under, rng) < above && below(k, rng) == 0 {
        k += 1;
    }
    k % 2 == 1
}

/// A whole number `k` with probability proportional to `exp(-|k| / scale)`.
pub fn laplace(scale: u64, rng: &mut impl Rng) -> i64 {
    let t = u128::from(scale);
    loop {
        let rest = below(t, rng);
        if !bernoulli_exp(rest, t, rng) {
            continue;
        }
        let mut turns: u128 = 0;
        while bernoulli_exp(1, 1, rng) {
            turns += 1;
        }
        let size = (rest + t * turns) as i64;
        match rng.next_u64() >> 63 == 1 {
            // Zero has one sign.
            true if size == 0 => {}
            true => return -size,
            false => return size,
        }
    }
}

/// A whole number `k` with probability proportional to `exp(-k^2 / (2 sigma^2))`.
pub fn gaussian(sigma: Ratio, rng: &mut impl Rng) -> i64 {
    let (a, b) = (u128::from(sigma.above), u128::from(sigma.below));
    let t = sigma.above / sigma.below + 1;
    let wide = u128::from(t);
    loop {
        let drawn = laplace(t, rng);
        // (|k| - sigma^2 / t)^2 / (2 sigma^2), with both sides multiplied by (t b^2)^2.
        let off = (u128::from(drawn.unsigned_abs()) * wide * b * b).abs_diff(a * a);
        let (Some(above), under) = (off.checked_mul(off), 2 * a * a * b * b * wide * wide) else {
            // More than 2^20 deviations away: the probability of keeping it is below the smallest number there is.
            continue;
        };
        if bernoulli_exp(above, under, rng) {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use crate::trust::privacy::audit::misfit;

    #[test]
    fn distributions_are_exact() {
        let mut rng = stream(5, Purpose::Noise, 0);
        for (above, below) in [(1, 2), (1, 1), (7, 3), (10, 1), (101, 4)] {
            let (sigma, s) = (Ratio::new(above, below).unwrap(), above as f64 / below as f64);
            let draws: Vec<i64> = (0..400_000).map(|_| gaussian(sigma, &mut rng)).collect();
            let z = misfit(&draws, |k| (-(k as f64).powi(2) / (2.0 * s * s)).exp());
            assert!(z < 4.0, "gaussian {s}: {z}");
        }
        for scale in [1, 3, 20] {
            let draws: Vec<i64> = (0..400_000).map(|_| laplace(scale, &mut rng)).collect();
            let z = misfit(&draws, |k| (-(k.abs() as f64) / scale as f64).exp());
            assert!(z < 4.0, "laplace {scale}: {z}");
        }
    }

    #[test]
    fn large_deviations_do_not_overflow() {
        let mut rng = stream(5, Purpose::Noise, 1);
        let sigma = Ratio::new(1 << 28, 1).unwrap();
        let square = |_| (gaussian(sigma, &mut rng) as f64 / (1u64 << 28) as f64).powi(2);
        let variance = (0..20_000).map(square).sum::<f64>() / 20_000.0;
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        assert!(Ratio::new(1 << 40, 1).is_none() && Ratio::new(0, 1).is_none() && Ratio::new(1, 100).is_none());
    }
}
