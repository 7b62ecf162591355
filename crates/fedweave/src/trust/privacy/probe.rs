//! Guesses of an attribute from other columns, judged on rows that were held out: what a projection does not hide.

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::linalg::jacobi::eigen;
use crate::matrix::{axpy, dot};
use crate::random::{Purpose, stream};

/// Resamples of an interval.
const RESAMPLES: usize = 200;
/// Rows that guess, and rows that are guessed, at most: distances are taken between all of them.
const TRAIN_MAX: usize = 4000;
const TEST_MAX: usize = 1000;
/// Nearest rows whose mean is the guess.
const NEAREST: usize = 10;
/// Keeps linear guesses from columns that are nearly the same finite; columns have variance 1.
const RIDGE: f64 = 1e-3;
/// Directions with less variance than this share of the largest tell nothing.
const SINGULAR: f64 = 1e-12;

/// Share of the variance of an attribute that a guess explains on rows it has not seen, with a 90 % interval by resampling them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explained {
    /// The share; below zero if the mean would have been a better guess.
    pub r2: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How well the mean of the nearest rows guesses `target` from `features`, rows of `width` numbers one after another.
pub fn nearest(features: &[f64], width: usize, target: &[f64], seed: u64) -> Explained {
    judged(features, width, target, seed, |rows, train, test| {
        let row = |r: usize| &rows[r * width..(r + 1) * width];
        let guess = |&r: &usize| {
            let distance = |other: usize| row(r).iter().zip(row(other)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut near: Vec<(f64, usize)> = train.iter().map(|&other| (distance(other), other)).collect();
            let k = NEAREST.min(near.len());
            near.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near[..k].iter().map(|(_, other)| target[*other]).sum::<f64>() / k as f64
        };
        test.iter().map(guess).collect()
    })
}

/// A linear function of columns that are scaled first.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    weights: Vec<f64>,
    offset: f64,
}

impl LeastSquares {
    /// The one with the smallest squared error, and of several such the one with the smallest weights. `features` are rows of `width` numbers one after
    /// another.
    pub fn fit(features: &[f64], width: usize, target: &[f64]) -> LeastSquares {
        let rows: Vec<usize> = (0..target.len()).collect();
        let scaled = scaled(features, width, &rows);
        // Directions without variance tell nothing.
        let (mean, mut weights) =
            fitted(
                &scaled,
                width,
                target,
                &rows,
                |value, largest| {
                    if value > SINGULAR * largest { 1.0 / value } else { 0.0 }
                },
            );
        let mut offset = mean;
        for j in 0..width {
            let column = || features.iter().skip(j).step_by(width);
            let n = rows.len().max(1) as f64;
            let middle = column().sum::<f64>() / n;
            let deviation = (column().map(|x| (x - middle).powi(2)).sum::<f64>() / n).sqrt();
            weights[j] = if deviation > 0.0 { weights[j] / deviation } else { 0.0 };
            offset -= weights[j] * middle;
        }
        LeastSquares { weights, offset }
    }

    /// The guess for a row.
    pub fn guess(&self, row: &[f64]) -> f64 {
        self.offset + dot(row, &self.weights)
    }
}

/// Mean of the target over some rows, and weights of scaled columns: `inverse` turns eigenvalues of their moments around, given the largest.
fn fitted(
    rows: &[f64],
    width: usize,
    target: &[f64],
    train: &[usize],
    inverse: impl Fn(f64, f64) -> f64,
) -> (f64, Vec<f64>) {
    let row = |r: usize| &rows[r * width..(r + 1) * width];
    let n = train.len() as f64;
    let mean = train.iter().map(|r| target[*r]).sum::<f64>() / n;
    let (mut matrix, mut cross) = (vec![0.0; width * width], vec![0.0; width]);
    for &r in train {
        for j in 0..width {
            axpy(row(r)[j] / n, row(r), &mut matrix[j * width..(j + 1) * width]);
        }
        axpy((target[r] - mean) / n, row(r), &mut cross);
    }
    let vectors = eigen(&mut matrix, width);
    let largest = (0..width).map(|k| matrix[k * width + k]).fold(0.0, f64::max);
    let mut w = vec![0.0; width];
    for k in 0..width {
        let vector = &vectors[k * width..(k + 1) * width];
        axpy(dot(vector, &cross) * inverse(matrix[k * width + k].max(0.0), largest), vector, &mut w);
    }
    (mean, w)
}

/// How well a linear function with a small ridge does.
pub fn linear(features: &[f64], width: usize, target: &[f64], seed: u64) -> Explained {
    judged(features, width, target, seed, |rows, train, test| {
        let (mean, w) = fitted(rows, width, target, train, |value, _| 1.0 / (value + RIDGE));
        test.iter().map(|&r| mean + dot(&rows[r * width..(r + 1) * width], &w)).collect()
    })
}

/// Judges guesses on a fifth of the rows; `guess` gets scaled rows, those it may learn from, and those to guess.
fn judged(
    features: &[f64],
    width: usize,
    target: &[f64],
    seed: u64,
    guess: impl Fn(&[f64], &[usize], &[usize]) -> Vec<f64>,
) -> Explained {
    let mut order: Vec<usize> = (0..target.len()).collect();
    order.shuffle(&mut stream(seed, Purpose::HeldOutRows, 0));
    let (test, train) = order.split_at((target.len() / 5).min(TEST_MAX));
    let train = &train[..train.len().min(TRAIN_MAX)];
    if test.is_empty() || train.is_empty() {
        return Explained { r2: 0.0, low: f64::NEG_INFINITY, high: 1.0 };
    }
    let guesses = guess(&scaled(features, width, train), train, test);
    let mean = train.iter().map(|r| target[*r]).sum::<f64>() / train.len() as f64;
    let error = |(r, guess): (&usize, f64)| ((target[*r] - guess).powi(2), (target[*r] - mean).powi(2));
    explained(&test.iter().zip(guesses).map(error).collect::<Vec<_>>(), seed)
}

/// Columns in units of their deviation over some rows; without any, a column is left alone.
fn scaled(features: &[f64], width: usize, rows: &[usize]) -> Vec<f64> {
    let mut out = features.to_vec();
    for j in 0..width {
        let n = rows.len().max(1) as f64;
        let mean = rows.iter().map(|r| features[r * width + j]).sum::<f64>() / n;
        let deviation = (rows.iter().map(|r| (features[r * width + j] - mean).powi(2)).sum::<f64>() / n).sqrt();
        // What rounding leaves of a column that was removed is no information.
        let scale = if deviation > 1e-9 * (1.0 + mean.abs()) { 1.0 / deviation } else { 0.0 };
        out.iter_mut().skip(j).step_by(width).for_each(|x| *x = (*x - mean) * scale);
    }
    out
}

/// The share from squared errors of the guess and of the mean, row by row.
fn explained(errors: &[(f64, f64)], seed: u64) -> Explained {
    let share = |sums: (f64, f64)| if sums.1 > 0.0 { 1.0 - sums.0 / sums.1 } else { 0.0 };
    let total = |picked: &mut dyn Iterator<Item = usize>| {
        picked.fold((0.0, 0.0), |sum, k| (sum.0 + errors[k].0, sum.1 + errors[k].1))
    };
    let mut rng = stream(seed, Purpose::Subsets, 0);
    let n = errors.len();
    let mut shares: Vec<f64> =
        (0..RESAMPLES).map(|_| share(total(&mut (0..n).map(|_| rng.random_range(0..n))))).collect();
    shares.sort_unstable_by(f64::total_cmp);
    Explained {
        r2: share(total(&mut (0..n))),
        low: shares[RESAMPLES / 20],
        high: shares[RESAMPLES - 1 - RESAMPLES / 20],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bent_relation_is_found_and_noise_is_not() {
        let mut rng = stream(8, Purpose::LocalData, 0);
        let x: Vec<f64> = (0..2000).map(|_| rng.random::<f64>() - 0.5).collect();
        let bent: Vec<f64> = x.iter().map(|x| x * x).collect();
        let found = nearest(&x, 1, &bent, 1);
        assert!(found.r2 > 0.95 && found.low <= found.r2 && found.r2 <= found.high, "{found:?}");
        assert!(linear(&x, 1, &bent, 1).r2 < 0.05);
        let straight: Vec<f64> = x.iter().map(|x| 3.0 - x).collect();
        assert!(linear(&x, 1, &straight, 1).r2 > 0.999);
        let other: Vec<f64> = (0..2000).map(|_| rng.random()).collect();
        let found = nearest(&x, 1, &other, 1);
        assert!(found.r2 < 0.05, "{found:?}");
    }
}
