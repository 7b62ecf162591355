//! Privacy in the assignments (section 9.3 of the book): how well date and temperature tell where a measurement was made, and how much less well if the
//! model was trained with noise on all inputs and outputs.

use fedweave::Matrix;
use fedweave::trust::privacy::probe::LeastSquares;

use super::numpy::RandomState;
use super::stations::hourly_in_source_order;
use super::{Outcome, compare};
use crate::Error;

/// The split of the rows that models are judged on, and of the noisy ones that they are trained with.
const JUDGED: u32 = 4740;
const NOISY: u32 = 48433;

/// Seed of the noise, and what is printed for training and validation rows.
const PRE: [(u32, f64, f64); 3] = [
    (1, 0.000735688783037359, 0.0007432764642231133),
    (5, 0.0006715936091527291, 0.0006768943924952629),
    (4740, 0.0011861485388892424, 0.0011865235864328295),
];

/// h-privacy-loc, h-privacy-pre.
pub fn entries(found: &mut Outcome) -> Result<(), Error> {
    let (x, y) = hourly_in_source_order()?;
    let (train, validation) = split(x.rows(), JUDGED);
    let judged = |x_train: &Matrix, y_train: &Matrix, rows: &[usize]| {
        let models = [0, 1].map(|k| LeastSquares::fit(&pick(x_train, rows), x.cols(), &column(y_train, rows, k)));
        let error = |rows: &[usize]| {
            let of = |r: &usize| {
                let off = |k: usize| (models[k].guess(x.row(*r)) - y.row(*r)[k]).powi(2);
                0.5 * (off(0) + off(1))
            };
            rows.iter().map(of).sum::<f64>() / rows.len() as f64
        };
        (error(&train), error(&validation))
    };
    let (at_train, at_validation) = judged(&x, &y, &train);
    compare(found, "h-privacy-loc", "train error", 0.0005274675884900359, at_train, 1e-9);
    // Year and month say the same in these rows; what the notebook makes of that shows in the seventh digit of unseen rows.
    compare(found, "h-privacy-loc", "validation error", 0.000535977207047403, at_validation, 1e-6);
    for (seed, train_printed, validation_printed) in PRE {
        let mut random = RandomState::new(seed);
        let mut noisy = |clean: &Matrix| {
            let mut noisy = clean.clone();
            noisy.as_mut_slice().iter_mut().for_each(|x| *x += random.normal());
            noisy
        };
        let (x_noisy, y_noisy) = (noisy(&x), noisy(&y));
        let (at_train, at_validation) = judged(&x_noisy, &y_noisy, &split(x.rows(), NOISY).0);
        let quantity = |rows: &str| format!("{rows} error, noise of seed {seed}");
        compare(found, "h-privacy-pre", &quantity("train"), train_printed, at_train, 1e-9);
        compare(found, "h-privacy-pre", &quantity("validation"), validation_printed, at_validation, 1e-9);
    }
    Ok(())
}

/// Training and validation rows: a fifth, rounded up, validates.
fn split(rows: usize, seed: u32) -> (Vec<usize>, Vec<usize>) {
    let mut validation = RandomState::new(seed).permutation(rows);
    let train = validation.split_off(rows.div_ceil(5));
    (train, validation)
}

fn pick(x: &Matrix, rows: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|r| x.row(*r)).copied().collect()
}

fn column(y: &Matrix, rows: &[usize], k: usize) -> Vec<f64> {
    rows.iter().map(|r| y.row(*r)[k]).collect()
}
