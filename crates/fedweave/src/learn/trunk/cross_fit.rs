//! Cross-fitting: how many trees of which kind, and the score of every row by a trunk that has not seen it.

use rayon::prelude::*;

use super::bins::Bins;
use super::boost::Boost;
use super::rows::TrunkRows;
use super::share::BinnedRows;
use super::{Trunk, TrunkLoss, TrunkOptions};
use crate::error::{Error, Result};
use crate::folds::Folds;

/// What cross-fitting found.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossFit {
    /// The best candidate, with the best number of rounds.
    pub options: TrunkOptions,
    /// The score of every row by the trunk grown without its fold; NaN where no fold holds it out.
    pub scores: Vec<f64>,
    /// The trunk grown without a fold, for every fold.
    pub by_fold: Vec<Trunk>,
    /// What became of every candidate, in their order.
    pub tried: Vec<Tried>,
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The candidate, with its best number of rounds.
    pub options: TrunkOptions,
    /// Mean loss of rows that were held out, by weight.
    pub error: f64,
}

/// Is asked now and then whether to go on, by several threads at a time.
pub type GoOn<'a> = dyn Fn() -> bool + Sync + 'a;

/// Rounds without a better error after which a candidate stops.
const PATIENCE: usize = 30;

/// Rounds grown before errors are looked at.
const BLOCK: usize = 15;

/// Grows a trunk per fold and candidate, and chooses candidate and rounds by the mean loss of held out rows.
pub fn cross_fit(rows: &TrunkRows, loss: TrunkLoss, folds: &Folds, candidates: &[TrunkOptions]) -> Result<CrossFit> {
    cross_fit_while(rows, loss, folds, candidates, &|| true)
}

/// The same as long as `go_on` says so; it is asked before every tree.
pub fn cross_fit_while(
    rows: &TrunkRows,
    loss: TrunkLoss,
    folds: &Folds,
    candidates: &[TrunkOptions],
    go_on: &GoOn,
) -> Result<CrossFit> {
    rows.check(loss)?;
    check_folds(rows, folds)?;
    candidates.iter().try_for_each(TrunkOptions::check)?;
    let Some(first) = candidates.first() else {
        return Err(Error::Size { what: "candidates", expected: 1, found: 0 });
    };
    let bins = Bins::new(rows.x, rows.weight, rows.categories(), first.bins_max);
    let binned = [BinnedRows::new(rows, &bins)];
    let mut races: Vec<Race> = candidates
        .iter()
        .map(|options| Race::new(options, (0..folds.count()).map(|k| boost(&binned, folds, k, &bins, loss, options))))
        .collect();
    while races.iter().any(Race::runs) {
        let running = races.par_iter_mut().filter(|race| race.runs());
        running.map(|race| race.advance(&binned[0], go_on)).collect::<Result<Vec<()>>>()?;
        let tried: Vec<Tried> = races.iter().map(Race::tried).collect();
        let leader = leader(&tried);
        let reached = tried[leader].error;
        for (k, race) in races.iter_mut().enumerate() {
            race.hopeless |= k != leader && race.cannot_reach(reached);
        }
    }
    let tried: Vec<Tried> = races.iter().map(Race::tried).collect();
    let best = leader(&tried);
    let by_fold = races[best].trunks();
    let scores = scores(&by_fold, rows, folds);
    Ok(CrossFit { options: tried[best].options, scores, by_fold, tried })
}

pub(super) fn check_folds(rows: &TrunkRows, folds: &Folds) -> Result<()> {
    if folds.rows() != rows.x.rows() {
        return Err(Error::Size { what: "rows dealt out to folds", expected: rows.x.rows(), found: folds.rows() });
    }
    for fold in 0..folds.count() {
        let others = (0..folds.rows()).any(|row| folds.trains(fold, row) && rows.weight[row] > 0.0);
        if !others {
            return Err(Error::Size { what: "rows with weight in other folds", expected: 1, found: 0 });
        }
    }
    Ok(())
}

fn boost<'a>(
    binned: &'a [BinnedRows<'a>; 1],
    folds: &Folds,
    fold: usize,
    bins: &'a Bins,
    loss: TrunkLoss,
    options: &'a TrunkOptions,
) -> Boost<'a> {
    let all = 0..folds.rows() as u32;
    let held = all.clone().filter(|row| folds.of(*row as usize) == Some(fold)).collect();
    let others = all.filter(|row| folds.trains(fold, *row as usize)).collect();
    Boost::new(binned, vec![(others, held)], bins, loss, options)
}

/// The candidate with the smallest error so far, the first of equals.
pub(super) fn leader(tried: &[Tried]) -> usize {
    (1..tried.len()).fold(0, |best, k| if tried[k].error < tried[best].error { k } else { best })
}

/// A candidate: its folds advance together.
struct Race<'a> {
    options: &'a TrunkOptions,
    folds: Vec<Boost<'a>>,
    /// Error after so many rounds.
    errors: Vec<f64>,
    /// True once it is clear that another candidate wins.
    hopeless: bool,
}

impl<'a> Race<'a> {
    fn new(options: &'a TrunkOptions, folds: impl Iterator<Item = Boost<'a>>) -> Self {
        Race { options, folds: folds.collect(), errors: Vec::new(), hopeless: false }
    }

    /// Rounds with the smallest error, counted from 1, among those before patience ends; and whether it has ended.
    fn best(&self) -> (usize, bool) {
        let mut best = 0;
        for (round, error) in self.errors.iter().enumerate() {
            if *error < self.errors[best] {
                best = round;
            }
            if round - best >= PATIENCE {
                return (best + 1, true);
            }
        }
        (best + 1, false)
    }

    fn runs(&self) -> bool {
        self.errors.len() < self.options.rounds && !self.best().1 && !self.hopeless
    }

    /// True if the error stays above that of another candidate even if it goes on falling as fast as now: it falls more
    /// slowly with every round.
    fn cannot_reach(&self, error: f64) -> bool {
        let done = self.errors.len();
        if done <= PATIENCE {
            return false;
        }
        let (now, left) = (self.errors[done - 1], self.options.rounds - done);
        let rate = (self.errors[done - 1 - PATIENCE] - now).max(0.0) / PATIENCE as f64;
        now - rate * left as f64 > error
    }

    fn advance(&mut self, rows: &BinnedRows, go_on: &GoOn) -> Result<()> {
        let rounds = BLOCK.min(self.options.rounds - self.errors.len());
        let advanced = self.folds.par_iter_mut().map(|fold| advance(fold, rows, rounds, go_on));
        let losses = advanced.collect::<Result<Vec<Vec<f64>>>>()?;
        let held = self.folds.iter().flat_map(|fold| fold.shares[0].scored());
        let weight: f64 = held.map(|row| rows.weights[*row as usize]).sum();
        for round in 0..rounds {
            self.errors.push(losses.iter().map(|fold| fold[round]).sum::<f64>() / weight);
        }
        Ok(())
    }

    fn tried(&self) -> Tried {
        let (rounds, _) = self.best();
        let error = self.errors.get(rounds - 1).copied().unwrap_or(f64::INFINITY);
        Tried { options: TrunkOptions { rounds, ..*self.options }, error }
    }

    /// The trunks of all folds, with the best number of rounds.
    fn trunks(&self) -> Vec<Trunk> {
        let (rounds, _) = self.best();
        self.folds.iter().map(|fold| truncated(&fold.trunk, rounds)).collect()
    }
}

/// The score of every row by the trunk that has not seen it.
pub(super) fn scores(by_fold: &[Trunk], rows: &TrunkRows, folds: &Folds) -> Vec<f64> {
    let category = |row: usize| rows.category.map(|category| category[row]);
    let score = |row: usize| match folds.of(row) {
        Some(fold) => by_fold[fold].score(rows.x.row(row), category(row)),
        None => f64::NAN,
    };
    (0..rows.x.rows()).into_par_iter().map(score).collect()
}

/// Grows trees, and returns the summed losses of the held out rows after each.
fn advance(fold: &mut Boost, rows: &BinnedRows, rounds: usize, go_on: &GoOn) -> Result<Vec<f64>> {
    (0..rounds)
        .map(|_| {
            if !go_on() {
                return Err(Error::Stopped);
            }
            fold.round();
            let (share, loss) = (&fold.shares[0], fold.trunk.loss);
            let of_row = |row: &u32| {
                let row = *row as usize;
                rows.weights[row] * loss.value(share.scores()[row], rows.labels[row])
            };
            Ok(share.scored().iter().map(of_row).sum())
        })
        .collect()
}

fn truncated(trunk: &Trunk, rounds: usize) -> Trunk {
    Trunk { trees: trunk.trees[..rounds].to_vec(), ..trunk.clone() }
}
