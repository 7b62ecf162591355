//! The rows of one fit: checked, and without those of weight 0.

use super::{FitError, Task};
use crate::matrix::Rows;

/// Rows of positive weight.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub task: Task,
    pub x: Rows<'a>,
    pub y: Rows<'a>,
    pub weight: &'a [f64],
}

/// Copies of the rows of positive weight, where there are others.
#[derive(Debug, Default)]
pub struct Kept {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

impl<'a> Sample<'a> {
    /// Checks the arguments of a fit of `model`; `kept` is overwritten.
    pub fn new(
        model: &'static str,
        task: Task,
        x: Rows<'a>,
        y: Rows<'a>,
        weight: &'a [f64],
        kept: &'a mut Kept,
    ) -> Result<Self, FitError> {
        for (what, found) in [("rows of targets", y.rows()), ("row weights", weight.len())] {
            if found != x.rows() {
                return Err(FitError::Size { what, expected: x.rows(), found });
            }
        }
        check_features(x)?;
        task.check_targets(y)?;
        check_weights(weight)?;
        if !weight.iter().any(|w| *w > 0.0) {
            return Err(FitError::NoRows { model });
        }
        if weight.iter().all(|w| *w > 0.0) {
            return Ok(Sample { task, x, y, weight });
        }
        kept.fill(x, y, weight);
        Ok(Sample { task, x: Rows::new(x.cols(), &kept.x), y: Rows::new(y.cols(), &kept.y), weight: &kept.weight })
    }

    /// Number of rows, at least one.
    pub fn rows(&self) -> usize {
        self.weight.len()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.x.cols()
    }

    /// Columns of targets.
    pub fn outputs(&self) -> usize {
        self.y.cols()
    }

    /// Sum of the row weights.
    pub fn total_weight(&self) -> f64 {
        self.weight.iter().sum()
    }
}

/// Every feature is a finite number.
pub fn check_features(x: Rows) -> Result<(), FitError> {
    // A sum of zeros unless something is not finite; unlike a search it needs no branch per entry.
    let sums = x.as_slice().chunks(8).fold([0.0; 8], |mut sums, chunk| {
        sums.iter_mut().zip(chunk).for_each(|(s, v)| *s += v * 0.0);
        sums
    });
    if sums.iter().all(|s| *s == 0.0) {
        return Ok(());
    }
    match x.as_slice().iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => Err(FitError::NotFinite { row: at / x.cols(), what: format!("feature {}", at % x.cols()) }),
    }
}

fn check_weights(weight: &[f64]) -> Result<(), FitError> {
    for (row, &weight) in weight.iter().enumerate() {
        if !weight.is_finite() {
            return Err(FitError::NotFinite { row, what: "row weight".into() });
        }
        if weight < 0.0 {
            return Err(FitError::RowWeight { row, weight });
        }
    }
    Ok(())
}

impl Kept {
    fn fill(&mut self, x: Rows, y: Rows, weight: &[f64]) {
        self.x.clear();
        self.y.clear();
        self.weight.clear();
        for (row, &w) in weight.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            self.x.extend_from_slice(x.row(row));
            self.y.extend_from_slice(y.row(row));
            self.weight.push(w);
        }
    }
}
