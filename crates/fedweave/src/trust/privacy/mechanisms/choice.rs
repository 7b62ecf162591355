//! The exponential mechanism (McSherry and Talwar 2007), exactly: choices are drawn with equal probability and kept with `e^{-rate score}`
//! until one is kept, by comparing random bits with ratios of whole numbers.

use rand::Rng;

use super::discrete::bernoulli_exp;

/// The place of one of the `scores`, each with probability proportional to `e^{-score above / below}`.
///
/// If one row moves every score by at most `D`, this is `2 D above / below`-private (for any number of scores). Panics without scores.
pub fn choose(scores: &[u32], above: u32, below: u32, rng: &mut impl Rng) -> usize {
    let least = *scores.iter().min().expect("something to choose from");
    loop {
        let place = super::discrete::below(scores.len() as u128, rng) as usize;
        let worse = u128::from(scores[place] - least);
        if bernoulli_exp(worse * u128::from(above), u128::from(below), rng) {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn choices_have_their_probabilities() {
        let (scores, mut rng) = ([7, 3, 4, 1_000_000], stream(3, Purpose::Noise, 0));
        let mut counts = [0.0; 4];
        let draws = 200_000;
        (0..draws).for_each(|_| counts[choose(&scores, 2, 5, &mut rng)] += 1.0);
        let weights = scores.map(|s| (-0.4 * f64::from(s - 3)).exp());
        let total: f64 = weights.iter().sum();
        for k in 0..3 {
            let expected = draws as f64 * weights[k] / total;
            assert!((counts[k] - expected).abs() < 5.0 * expected.sqrt(), "{k}: {} {expected}", counts[k]);
        }
        assert_eq!(counts[3], 0.0);
    }
}
