//! Do new rows look like those that models were judged by? Tests of one node, and what remains of many.
//!
//! Both tests compare new rows with earlier rows of the same node that the models had not seen either, so that a node that was
//! always hard to predict is not found to have changed. They are exact where rows are exchangeable: independent of each other, or
//! at least in random order. Rows in a row of time that resemble each other make small probabilities too small.

mod rank;

pub use rank::rank_test;

use crate::learn::coupling::ln_gamma;

/// The probability that at most `new_inside` of `new_rows` rows are inside, if each of all rows is as likely to be one of the
/// `inside` (hypergeometric, given how many are inside in all). `inside` and `rows` are those known before.
pub fn coverage_test(inside: usize, rows: usize, new_inside: usize, new_rows: usize) -> f64 {
    let (all_inside, all) = (inside + new_inside, rows + new_rows);
    let choose = |n: usize, k: usize| -> f64 {
        ln_gamma((n + 1) as f64) - ln_gamma((k + 1) as f64) - ln_gamma((n - k + 1) as f64)
    };
    let least = new_rows.saturating_sub(all - all_inside);
    let total = choose(all, new_rows);
    let term = |k: usize| (choose(all_inside, k) + choose(all - all_inside, new_rows - k) - total).exp();
    (least..=new_inside).map(term).sum::<f64>().min(1.0)
}

/// The smallest false discovery rate at which each of several tests counts as a discovery (Benjamini and Hochberg): at most that
/// share of those with a value up to `q` is false on average, where tests are independent or positively dependent.
pub fn discovery_rates(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let (mut rates, mut least) = (vec![1.0; count], 1.0f64);
    for (place, &test) in order.iter().enumerate() {
        least = least.min(p_values[test] * count as f64 / (count - place) as f64);
        rates[test] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coverage_test_counts_tables() {
        // Fisher's tea: 3 of 4 right on either side of 8 cups.
        assert!((coverage_test(3, 4, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
        assert!((coverage_test(4, 4, 0, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert_eq!(coverage_test(0, 0, 5, 5), 1.0);
        assert_eq!(coverage_test(10, 10, 10, 10), 1.0);
        // The probabilities of all tables with the same margins add up to 1.
        assert!((coverage_test(3, 10, 6, 6) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn discovery_rates_are_those_of_the_textbook() {
        let p = [0.01, 0.04, 0.03, 0.005];
        let expected = [0.02, 0.04, 0.04, 0.02];
        for (rate, expected) in discovery_rates(&p).iter().zip(expected) {
            assert!((rate - expected).abs() < 1e-12);
        }
        assert!(discovery_rates(&[]).is_empty());
    }
}
