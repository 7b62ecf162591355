//! A candidate that ran: what it predicted for rows it had not seen, and the predictor fitted to all rows.

use super::member::Member;
use super::rows::Rows;
use crate::tune::Errors;

/// A candidate that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The predictor, fitted to all rows.
    pub member: Member,
    /// What it chose by itself, in words.
    pub chosen: String,
    /// What it predicted for every row without having seen it; NaN where no fold holds the row out.
    pub out_of_fold: Vec<f64>,
    /// The errors of these, by node.
    pub errors: Errors,
}

impl Entry {
    /// Judges the predictions.
    pub fn new(rows: &Rows, member: Member, out_of_fold: Vec<f64>, chosen: String) -> Entry {
        let errors = rows.cost.errors(rows.data, &out_of_fold);
        Entry { member, chosen, out_of_fold, errors }
    }

    /// Mean error over nodes.
    pub fn error(&self) -> f64 {
        self.errors.mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY)
    }
}
