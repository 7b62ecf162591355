//! The rank test of Wilcoxon, Mann and Whitney.

use crate::learn::coupling::erfc;

/// Up to so many values together the distribution is counted out.
const COUNTED_MAX: usize = 40;

/// The probability that ranks of `new` among all values are as large or larger, if all orders are equally likely. Equal values
/// share their ranks. 1 where either is empty.
pub fn rank_test(known: &[f64], new: &[f64]) -> f64 {
    if known.is_empty() || new.is_empty() {
        return 1.0;
    }
    let (ranks, ties) = doubled_ranks(known, new);
    let sum: usize = ranks[known.len()..].iter().sum();
    match ranks.len() <= COUNTED_MAX {
        true => counted(&ranks, new.len(), sum),
        false => normal(known.len(), new.len(), sum as f64 / 2.0, ties),
    }
}

/// Twice the mean rank of every value (whole numbers), and `sum t^3 - t` over groups of equal values.
fn doubled_ranks(known: &[f64], new: &[f64]) -> (Vec<usize>, f64) {
    let value = |k: usize| if k < known.len() { known[k] } else { new[k - known.len()] };
    let mut order: Vec<usize> = (0..known.len() + new.len()).collect();
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    let (mut ranks, mut ties, mut start) = (vec![0; order.len()], 0.0, 0);
    while start < order.len() {
        let equal = order[start..].iter().take_while(|k| value(**k) == value(order[start])).count();
        order[start..start + equal].iter().for_each(|k| ranks[*k] = 2 * start + equal + 1);
        ties += (equal * equal * equal - equal) as f64;
        start += equal;
    }
    (ranks, ties)
}

/// Counts the subsets of `size` ranks whose sum is at least `sum`.
fn counted(ranks: &[usize], size: usize, sum: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; size + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for k in (1..=size).rev() {
            let (fewer, with) = ways.split_at_mut(k);
            for s in rank..=total {
                with[0][s] += fewer[k - 1][s - rank];
            }
        }
    }
    let all: f64 = ways[size].iter().sum();
    ways[size][sum..].iter().sum::<f64>() / all
}

/// The normal approximation with half a step of continuity.
fn normal(known: usize, new: usize, rank_sum: f64, ties: f64) -> f64 {
    let (a, b) = (known as f64, new as f64);
    let n = a + b;
    let mean = b * (n + 1.0) / 2.0;
    let variance = a * b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (rank_sum - mean - 0.5) / variance.sqrt();
    let tail = 0.5 * erfc(z.abs() / std::f64::consts::SQRT_2);
    if z > 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn small_samples_are_counted_out() {
        assert!((rank_test(&[1.0, 2.0, 3.0], &[4.0, 5.0]) - 0.1).abs() < 1e-12);
        assert!((rank_test(&[1.0, 2.0, 4.0], &[3.0, 5.0]) - 0.2).abs() < 1e-12);
        assert_eq!(rank_test(&[2.0, 2.0], &[2.0, 2.0]), 1.0);
        assert_eq!(rank_test(&[], &[1.0]), 1.0);
    }

    #[test]
    fn the_approximation_is_close_to_the_count() {
        let mut rng = stream(1, Purpose::LocalData, 0);
        for shift in [0.0, 0.3, 0.8] {
            let known: Vec<f64> = (0..22).map(|_| rng.random::<f64>()).collect();
            let new: Vec<f64> = (0..18).map(|_| rng.random::<f64>() + shift).collect();
            let (ranks, ties) = doubled_ranks(&known, &new);
            let sum: usize = ranks[known.len()..].iter().sum();
            let (exact, close) = (counted(&ranks, 18, sum), normal(22, 18, sum as f64 / 2.0, ties));
            assert!((exact - close).abs() < 0.01, "{exact} {close}");
        }
    }
}
