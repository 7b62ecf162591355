//! Predictors with shocks that nodes share at a time.
//!
//! A predictor has taken some of the shocks of the rows it was fitted to. So what it leaves of these is less than what it would
//! leave of rows it has not seen: shocks are learnt by how residuals of rows held out follow from those that the predictor of
//! their fold leaves at the rows it was fitted to, as when new rows are predicted. Predictors that remember their rows well
//! (large trees) leave next to nothing of them; residuals of rows not seen then say more. Both are tried, and folds decide.

use rayon::prelude::*;

use super::entry::Entry;
use super::member::{Member, MemberShocks};
use super::rows::Rows;
use crate::error::Result;
use crate::folds::Folds;
use crate::learn::shocks::{FoldResiduals, Geometry, Residuals, Shocks, ShocksOptions, Time};

/// When and where rows were observed.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// The time of every row; NaN where it is not known.
    pub times: &'a [f64],
    /// What times are.
    pub time: Time,
    /// What says which nodes are close.
    pub geometry: Geometry<'a>,
}

/// A predictor with shocks, predicted for every fold from residuals of the others. `None` if there are none to speak of.
pub fn shocked(rows: &Rows, folds: &Folds, shared: &Shared, base: &Entry) -> Result<Option<Entry>> {
    let task = Task::new(rows, folds, shared, base);
    let (fitted, unseen) = rayon::join(|| task.by_fitted(), || task.by_unseen());
    let better = |a: Entry, b: Entry| if b.error() < a.error() { b } else { a };
    Ok(fitted?.into_iter().chain(unseen?).reduce(better))
}

struct Task<'a> {
    rows: &'a Rows<'a>,
    folds: &'a Folds,
    shared: &'a Shared<'a>,
    base: &'a Entry,
    node_of_row: Vec<u32>,
    /// Rows whose time is known.
    timed: Vec<usize>,
}

impl<'a> Task<'a> {
    fn new(rows: &'a Rows, folds: &'a Folds, shared: &'a Shared, base: &'a Entry) -> Self {
        let node_of_row = (0..rows.data.nodes()).flat_map(|i| rows.data.rows(i).map(move |_| i as u32)).collect();
        let timed = (0..rows.data.len()).filter(|&r| shared.times[r].is_finite()).collect();
        Task { rows, folds, shared, base, node_of_row, timed }
    }

    fn options(&self) -> ShocksOptions {
        ShocksOptions { time: self.shared.time, ..ShocksOptions::default() }
    }

    /// What predictions leave of some rows.
    fn residuals(&self, kept: &[usize], predictions: &[f64]) -> Residuals {
        Residuals {
            node: kept.iter().map(|&r| self.node_of_row[r]).collect(),
            time: kept.iter().map(|&r| self.shared.times[r]).collect(),
            value: kept.iter().map(|&r| self.rows.data.y()[r] - predictions[r]).collect(),
        }
    }

    /// Shocks from what the predictor leaves of the rows it was fitted to.
    fn by_fitted(&self) -> Result<Option<Entry>> {
        let by_fold: Vec<Vec<f64>> =
            self.base.by_fold.iter().map(|member| self.rows.predict(|_| Some(member))).collect();
        let fold = |k: usize| {
            let mut kept = self.timed.clone();
            kept.retain(|&r| self.folds.trains(k, r) || self.folds.of(r) == Some(k));
            let held_out = kept.iter().map(|&r| self.folds.of(r) == Some(k)).collect();
            FoldResiduals { residuals: self.residuals(&kept, &by_fold[k]), held_out }
        };
        let folds: Vec<FoldResiduals> = (0..self.folds.count()).map(fold).collect();
        let shocks = Shocks::learn_on_folds(&folds, &self.shared.geometry, &self.options())?;
        let residuals = self.residuals(&self.timed, &self.rows.predict(|_| Some(&self.base.member)));
        self.entry(shocks, residuals, |k| &by_fold[k])
    }

    /// Shocks from what it leaves of rows it had not seen.
    fn by_unseen(&self) -> Result<Option<Entry>> {
        let unseen = &self.base.out_of_fold;
        let kept: Vec<usize> = self.timed.iter().copied().filter(|&r| unseen[r].is_finite()).collect();
        let residuals = self.residuals(&kept, unseen);
        let shocks = Shocks::learn(&residuals, &self.shared.geometry, &self.options())?;
        self.entry(shocks, residuals, |_| unseen)
    }

    /// The predictor with these shocks; `predictions` are those that the residuals of a fold are taken from.
    fn entry<'p>(
        &self,
        shocks: Shocks,
        residuals: Residuals,
        predictions: impl Fn(usize) -> &'p Vec<f64> + Sync,
    ) -> Result<Option<Entry>> {
        if shocks.is_none() {
            return Ok(None);
        }
        let (rows, shared, base) = (self.rows, self.shared, self.base);
        let fold = |k: usize| {
            let predictions = predictions(k);
            let seen = |r: &usize| self.folds.trains(k, *r) && predictions[*r].is_finite();
            let others: Vec<usize> = self.timed.iter().copied().filter(seen).collect();
            let observed = shocks.observe(&self.residuals(&others, predictions), &shared.geometry)?;
            let held: Vec<usize> = self.timed.iter().copied().filter(|&r| self.folds.of(r) == Some(k)).collect();
            let shock = |r: usize| observed.predict(self.node_of_row[r], shared.times[r]).mean;
            Ok(held.into_par_iter().map(|r| (r, shock(r))).collect::<Vec<_>>())
        };
        let found: Vec<Vec<(usize, f64)>> = (0..self.folds.count()).into_par_iter().map(fold).collect::<Result<_>>()?;
        let mut out_of_fold = base.out_of_fold.clone();
        found.iter().flatten().for_each(|(r, shock)| out_of_fold[*r] += shock);
        // Where whole times are held out there may be nothing to predict shocks from.
        if out_of_fold.iter().zip(&base.out_of_fold).all(|(a, b)| a == b || a.is_nan()) {
            return Ok(None);
        }
        let (name, chosen) = (format!("{}+shocks", base.member.name), format!("{}; {shocks}", base.chosen));
        let member = Member { name, shocks: Some(MemberShocks { shocks, residuals }), ..base.member.clone() };
        Ok(Some(base.with(rows, member, out_of_fold, chosen)))
    }
}
