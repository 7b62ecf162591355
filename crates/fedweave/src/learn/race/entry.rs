//! A candidate that ran: what it predicted for rows it had not seen, and the predictor fitted to all rows.

use super::member::Member;
use super::rows::Rows;
use crate::folds::Folds;
use crate::tune::Errors;

/// A candidate that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The predictor, fitted to all rows.
    pub member: Member,
    /// What it chose by itself, in words.
    pub chosen: String,
    /// The predictor fitted without the rows of a fold, for every fold.
    pub by_fold: Vec<Member>,
    /// What it predicted for every row without having seen it; NaN where no fold holds the row out.
    pub out_of_fold: Vec<f64>,
    /// The errors of these, by node.
    pub errors: Errors,
}

impl Entry {
    /// Judges every row by the predictor that has not seen it.
    pub fn new(rows: &Rows, folds: &Folds, member: Member, by_fold: Vec<Member>, chosen: String) -> Entry {
        let out_of_fold = rows.predict(|row| folds.of(row).map(|fold| &by_fold[fold]));
        let errors = rows.cost.errors(rows.data, &out_of_fold);
        Entry { member, chosen, by_fold, out_of_fold, errors }
    }

    /// The same predictor with something added to it, by which it predicts the rows otherwise.
    pub fn with(&self, rows: &Rows, member: Member, out_of_fold: Vec<f64>, chosen: String) -> Entry {
        let errors = rows.cost.errors(rows.data, &out_of_fold);
        Entry { member, chosen, by_fold: self.by_fold.clone(), out_of_fold, errors }
    }

    /// Mean error over nodes.
    pub fn error(&self) -> f64 {
        self.errors.mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY)
    }
}
