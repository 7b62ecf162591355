//! Do samples have the distribution that they should have?

/// Cells are joined until so many samples are expected in each.
const EXPECTED_MIN: f64 = 20.0;

/// Pearson's statistic of whole numbers against weights, as a standard normal number (Wilson and Hilferty): above 4 something is wrong. `weight` need not
/// add up to one; it must be negligible four times as far out as any of the numbers.
pub fn misfit(draws: &[i64], weight: impl Fn(i64) -> f64) -> f64 {
    let reach = draws.iter().map(|k| k.abs()).max().unwrap_or(0);
    let total: f64 = (-4 * reach..=4 * reach).map(&weight).sum();
    let mut counts = vec![0.0; (2 * reach + 1) as usize];
    draws.iter().for_each(|k| counts[(k + reach) as usize] += 1.0);
    let (mut chi, mut freedom, mut found, mut expected) = (0.0, -1.0, 0.0, 0.0);
    for k in -reach..=reach {
        found += counts[(k + reach) as usize];
        expected += draws.len() as f64 * weight(k) / total;
        if expected > EXPECTED_MIN {
            chi += (found - expected) * (found - expected) / expected;
            (freedom, found, expected) = (freedom + 1.0, 0.0, 0.0);
        }
    }
    let small: f64 = 2.0 / (9.0 * freedom);
    ((chi / freedom).cbrt() - (1.0 - small)) / small.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn a_die_fits_and_a_loaded_one_does_not() {
        let mut rng = stream(4, Purpose::Canaries, 0);
        let fair: Vec<i64> = (0..60_000).map(|_| rng.random_range(-3..=3)).collect();
        let weight = |k: i64| f64::from(u8::from(k.abs() <= 3));
        assert!(misfit(&fair, weight).abs() < 4.0);
        assert!(misfit(&fair, |k| weight(k) * (1.0 + 0.02 * k as f64)) > 4.0);
    }
}
