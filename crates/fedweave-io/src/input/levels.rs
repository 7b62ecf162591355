//! The order of levels: by number if all of them are numbers, else by bytes.

use std::cmp::Ordering;

/// Sorts distinct levels.
pub(super) fn sort(levels: &mut [String]) {
    match all_numbers(levels) {
        true => levels.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))),
        false => levels.sort_unstable(),
    }
}

/// The rank of each level; equal numbers (`1`, `1.0`) share one.
pub(super) fn ranks(levels: &[String]) -> Vec<u32> {
    let numeric = all_numbers(levels);
    let compare = |a: usize, b: usize| match numeric {
        true => number(&levels[a]).total_cmp(&number(&levels[b])),
        false => levels[a].cmp(&levels[b]),
    };
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|&a, &b| compare(a, b));
    let (mut ranks, mut rank) = (vec![0; levels.len()], 0);
    for pair in order.windows(2) {
        rank += u32::from(compare(pair[0], pair[1]) != Ordering::Equal);
        ranks[pair[1]] = rank;
    }
    ranks
}

fn all_numbers(levels: &[String]) -> bool {
    levels.iter().all(|level| crate::table::is_missing(level) || !number(level).is_nan())
}

fn number(level: &str) -> f64 {
    level.trim_ascii().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_numbers_and_dates_as_text() {
        let mut levels = ["10", "9", "-1"].map(String::from);
        sort(&mut levels);
        assert_eq!(levels, ["-1", "9", "10"]);
        assert_eq!(ranks(&["10", "2", "2.0"].map(String::from)), [1, 0, 0]);
        assert_eq!(ranks(&["2024-02-01", "2023-12-31"].map(String::from)), [1, 0]);
    }
}
