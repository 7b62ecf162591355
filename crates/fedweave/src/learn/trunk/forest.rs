//! A forest in the shape of a trunk: the mean of trees that are grown on rows drawn with replacement, each without the others.
//!
//! A tree is the first one of a trunk on its rows, with the whole step instead of a part of it. So a forest is grown from
//! histograms as well, divides categories with the same caution, and predicts as the sum that a [`Trunk`] is: every tree
//! counts `1 / trees`. Only means of labels can be summed like this, so the loss is the squared one.

use rand::RngExt;
use rayon::prelude::*;

use super::bins::Bins;
use super::boost::Boost;
use super::cross_fit::{CrossFit, GoOn, Tried, check_folds, leader, scores};
use super::rows::TrunkRows;
use super::share::BinnedRows;
use super::{Trunk, TrunkLoss, TrunkOptions};
use crate::error::{Error, Result};
use crate::folds::Folds;
use crate::random::{Purpose, stream};

/// Trees by which candidates are compared; the best one then gets all of its trees.
const ROUGH_TREES: usize = 30;

impl TrunkOptions {
    /// What [`cross_fit_forest`] should choose from where nothing is known about the rows: deep and less deep trees, with and
    /// without caution about categories.
    pub fn forests() -> Vec<TrunkOptions> {
        let deep = TrunkOptions {
            rounds: 100,
            learning_rate: 1.0,
            leaves: 256,
            l2: 0.0,
            columns: 0.7,
            bins_max: 64,
            ..TrunkOptions::default()
        };
        let kinds = [(3.0, 1.0), (3.0, 0.0), (10.0, 1.0), (10.0, 0.0)];
        let kind = |(rows_min, category_caution)| TrunkOptions { rows_min, category_caution, ..deep };
        kinds.into_iter().map(kind).collect()
    }
}

impl Trunk {
    /// Grows a forest of `rounds` trees on all rows, for the squared loss.
    pub fn forest(rows: &TrunkRows, options: &TrunkOptions) -> Result<Trunk> {
        rows.check(TrunkLoss::Squared)?;
        options.check()?;
        let bins = Bins::new(rows.x, rows.weight, rows.categories(), options.bins_max);
        let weighty: Vec<u32> = (0..rows.y.len() as u32).filter(|row| rows.weight[*row as usize] > 0.0).collect();
        grow(&[BinnedRows::new(rows, &bins)], &bins, &weighty, options, &|| true)
    }
}

/// Grows a forest per fold and candidate, and chooses the candidate by the mean squared error of rows held out. `go_on` is
/// asked before every tree.
pub fn cross_fit_forest(
    rows: &TrunkRows,
    folds: &Folds,
    candidates: &[TrunkOptions],
    go_on: &GoOn,
) -> Result<CrossFit> {
    rows.check(TrunkLoss::Squared)?;
    check_folds(rows, folds)?;
    candidates.iter().try_for_each(TrunkOptions::check)?;
    let Some(first) = candidates.first() else {
        return Err(Error::Size { what: "candidates", expected: 1, found: 0 });
    };
    let bins = Bins::new(rows.x, rows.weight, rows.categories(), first.bins_max);
    let binned = [BinnedRows::new(rows, &bins)];
    let others = |fold: usize| -> Vec<u32> {
        let counts = |row: &u32| folds.trains(fold, *row as usize) && rows.weight[*row as usize] > 0.0;
        (0..rows.y.len() as u32).filter(counts).collect()
    };
    let forests = |options: &TrunkOptions| -> Result<Vec<Trunk>> {
        let forest = |fold: usize| grow(&binned, &bins, &others(fold), options, go_on);
        (0..folds.count()).into_par_iter().map(forest).collect()
    };
    let rough = |options: &TrunkOptions| -> Result<Tried> {
        let few = TrunkOptions { rounds: options.rounds.min(ROUGH_TREES), ..*options };
        Ok(Tried { options: *options, error: error(rows, &scores(&forests(&few)?, rows, folds)) })
    };
    let tried = candidates.iter().map(rough).collect::<Result<Vec<Tried>>>()?;
    let options = tried[leader(&tried)].options;
    let by_fold = forests(&options)?;
    let scores = scores(&by_fold, rows, folds);
    Ok(CrossFit { options, scores, by_fold, tried })
}

/// A forest on the listed rows. Every tree has random numbers of its own, so that the first trees of a larger forest are
/// those of a smaller one but for their share.
fn grow(binned: &[BinnedRows; 1], bins: &Bins, listed: &[u32], options: &TrunkOptions, go_on: &GoOn) -> Result<Trunk> {
    let tree = |t: usize| -> Result<Trunk> {
        if !go_on() {
            return Err(Error::Stopped);
        }
        let mut rng = stream(options.seed, Purpose::Trees, t);
        let mut drawn: Vec<u32> = (0..listed.len()).map(|_| listed[rng.random_range(0..listed.len())]).collect();
        // In the order of the table, in which memory is read forwards.
        drawn.sort_unstable();
        let options = TrunkOptions { seed: rng.random(), learning_rate: 1.0 / options.rounds as f64, ..*options };
        let mut boost = Boost::new(binned, vec![(drawn, Vec::new())], bins, TrunkLoss::Squared, &options);
        boost.round();
        Ok(boost.trunk)
    };
    let grown = (0..options.rounds).into_par_iter().map(tree).collect::<Result<Vec<Trunk>>>()?;
    let start = grown.iter().map(|one| one.start).sum::<f64>() / options.rounds.max(1) as f64;
    let trees = grown.into_iter().flat_map(|one| one.trees).collect();
    Ok(Trunk { loss: TrunkLoss::Squared, features: bins.features(), start, trees })
}

/// The mean squared error of rows that were held out, by weight.
fn error(rows: &TrunkRows, scores: &[f64]) -> f64 {
    let judged = (0..scores.len()).filter(|row| !scores[*row].is_nan());
    let sums = judged.fold((0.0, 0.0), |(loss, weight), row| {
        let w = rows.weight[row];
        (loss + w * TrunkLoss::Squared.value(scores[row], rows.y[row]), weight + w)
    });
    sums.0 / sums.1
}
