use rand::RngExt;

use super::*;
use crate::baseline;
use crate::dataset::Dataset;
use crate::loss::LossOptions;
use crate::random::{Purpose, stream};

/// Rows with columns that depend on each other, cut between parties; the labels are with the first.
fn rows(family: Family, parties: usize) -> (Vec<Matrix>, Vec<f64>) {
    let (n, d) = (200, 2 * parties);
    let factor = |j: usize| 1.0 - 0.3 * j as f64;
    // What scores are about: classes on both sides of it, or the loss has no minimiser.
    let middle: f64 = (0..d).map(|j| 0.1 * j as f64 * factor(j)).sum();
    let mut random = stream(7, Purpose::Shuffle, parties);
    let mut draw = || random.random::<f64>() - 0.5;
    let mut all = Matrix::zeros(n, d);
    let mut y = Vec::new();
    for r in 0..n {
        let common = draw();
        all.row_mut(r).iter_mut().enumerate().for_each(|(j, x)| *x = common + draw() + 0.1 * j as f64);
        let score: f64 = all.row(r).iter().enumerate().map(|(j, x)| x * factor(j)).sum();
        y.push(match family {
            Family::Squared => score + draw(),
            Family::Poisson => (score.exp() + draw()).max(0.0).round().min(20.0),
            _ => {
                if score - middle + 2.0 * draw() > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
        });
    }
    let part = |p: usize| Matrix::from_rows(2, (0..n).flat_map(|r| all.row(r)[2 * p..2 * p + 2].to_vec()).collect());
    ((0..parties).map(part).collect(), y)
}

fn options(family: Family) -> VerticalOptions {
    VerticalOptions { family, ridge: 1e-3, intercept: true, standardize: false, tolerance: 1e-12 }
}

/// The minimiser of all rows at one place.
fn pooled(parties: &[Matrix], y: &[f64], options: &VerticalOptions) -> Vec<f64> {
    let d: usize = parties.iter().map(Matrix::cols).sum::<usize>() + 1;
    let row = |r: usize| parties.iter().flat_map(move |x| x.row(r).to_vec()).chain([1.0]);
    let x = Matrix::from_rows(d, (0..y.len()).flat_map(row).collect());
    let data = Dataset::new(vec![0, y.len()], x, y.to_vec(), vec![1.0; y.len()]).unwrap();
    let of_loss = LossOptions { ridge: options.ridge, spare_last: true, ..LossOptions::default() };
    baseline::global(options.family, &data, &of_loss).unwrap()
}

#[test]
fn two_to_ten_parties_find_the_pooled_optimum() {
    for family in [Family::Squared, Family::Logistic, Family::Poisson] {
        for parties in 2..=if family == Family::Poisson { 3 } else { 10 } {
            let (x, y) = rows(family, parties);
            let fit = fit_vertical(&x, 0, &y, &options(family)).unwrap();
            assert!(fit.converged, "{family} {parties}: {}", fit.gradient);
            let found = fit.w.concat().into_iter().chain(fit.intercept);
            for (found, expected) in found.zip(pooled(&x, &y, &options(family))) {
                assert!((found - expected).abs() < 1e-6, "{family} {parties}: {found} {expected}");
            }
        }
    }
}

/// Scaled columns are handed out in their own units: predictions agree with a fit of the scaled rows.
#[test]
fn models_of_scaled_columns_are_in_the_units_of_the_rows() {
    let (x, y) = rows(Family::Squared, 3);
    let plain = VerticalOptions { ridge: 0.0, ..options(Family::Squared) };
    let one = fit_vertical(&x, 1, &y, &plain).unwrap();
    let other = fit_vertical(&x, 1, &y, &VerticalOptions { standardize: true, ..plain }).unwrap();
    for (a, b) in one.w.concat().iter().chain(&one.intercept).zip(other.w.concat().iter().chain(&other.intercept)) {
        assert!((a - b).abs() < 1e-8, "{a} {b}");
    }
}

/// A message holds a number or two a row, and a few sums: what is sent does not depend on how many columns a party has, but
/// through the number of rounds.
#[test]
fn only_scores_travel_and_all_bytes_count() {
    let (x, y) = rows(Family::Squared, 2);
    let fit = fit_vertical(&x, 0, &y, &options(Family::Squared)).unwrap();
    let sent = fit.traffic.bytes_by_node();
    // From the other party: rounds of conjugate gradients with a score for every row, and single numbers.
    let rounds = sent[1] / (8 * y.len() as u64);
    assert!(rounds >= 1 && sent[1] < 8 * rounds * (y.len() as u64 + 20), "{sent:?}");
    assert_eq!(fit.traffic.bytes(), sent.iter().sum::<u64>());
}

#[test]
fn what_does_not_fit_is_refused() {
    let (x, mut y) = rows(Family::Squared, 2);
    let options = options(Family::Squared);
    assert!(fit_vertical(&x, 2, &y, &options).is_err());
    assert!(fit_vertical(&x, 0, &y[1..], &options).is_err());
    assert!(fit_vertical(&x, 0, &y, &VerticalOptions { family: Family::Absolute, ..options }).is_err());
    assert!(fit_vertical(&x, 0, &y, &VerticalOptions { family: Family::Logistic, ..options }).is_err());
    y[3] = f64::NAN;
    assert!(fit_vertical(&x, 0, &y, &options).is_err());
}
