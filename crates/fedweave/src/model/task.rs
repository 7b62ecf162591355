//! What a model predicts: a number, or the probabilities of classes.

use serde::{Deserialize, Serialize};

use super::FitError;
use crate::matrix::{Matrix, Rows};

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// One number per row.
    Regression,
    /// One probability per class and row.
    Classification {
        /// Number of classes, 2 or more, absent ones included.
        classes: usize,
    },
}

/// How far a row of probabilities may be from summing to one.
const SUM_TOLERANCE: f64 = 1e-6;

impl Task {
    /// Columns of targets and predictions.
    pub fn outputs(self) -> usize {
        match self {
            Task::Regression => 1,
            Task::Classification { classes } => classes,
        }
    }

    /// "regression" or "classification".
    pub fn name(self) -> &'static str {
        match self {
            Task::Regression => "regression",
            Task::Classification { .. } => "classification",
        }
    }

    /// Labels as rows of targets: themselves, or for the class `k` of `0, 1, ..` a row with a single 1 in column `k`.
    pub fn targets(self, labels: &[f64]) -> Result<Matrix, FitError> {
        if let Some(row) = labels.iter().position(|y| !y.is_finite()) {
            return Err(FitError::NotFinite { row, what: "label".into() });
        }
        let Task::Classification { classes } = self else { return Ok(Matrix::from_rows(1, labels.to_vec())) };
        let mut targets = Matrix::zeros(labels.len(), classes);
        for (row, &label) in labels.iter().enumerate() {
            if label < 0.0 || label >= classes as f64 || label.fract() != 0.0 {
                let needs = "whole numbers from 0 to the number of classes less one";
                return Err(FitError::Label { row, label, classes, needs });
            }
            targets.row_mut(row)[label as usize] = 1.0;
        }
        Ok(targets)
    }

    /// The most probable class of every row of predictions, the first one of equals; the predictions themselves for
    /// regression.
    pub fn labels(self, predictions: &[f64]) -> Vec<f64> {
        match self {
            Task::Regression => predictions.to_vec(),
            Task::Classification { classes } => predictions.chunks_exact(classes).map(most_probable).collect(),
        }
    }

    /// What a model without a fit predicts.
    pub(super) fn blank(self, out: &mut [f64]) {
        match self {
            Task::Regression => out.fill(0.0),
            Task::Classification { classes } => out.fill(1.0 / classes as f64),
        }
    }

    /// Rows of finite predictions that are no probabilities become some; all others stay as they are, bit for bit.
    pub(super) fn mend(self, y: &mut [f64]) {
        let Task::Classification { classes } = self else { return };
        for row in y.chunks_exact_mut(classes).filter(|row| self.check_row(0, row).is_err()) {
            row.iter_mut().for_each(|p| *p = p.max(0.0));
            let sum: f64 = row.iter().sum();
            match sum > 0.0 && sum.is_finite() {
                true => row.iter_mut().for_each(|p| *p /= sum),
                false => row.fill(1.0 / classes as f64),
            }
        }
    }

    /// Targets are finite; those of classes are probabilities.
    pub(super) fn check_targets(self, y: Rows) -> Result<(), FitError> {
        if y.cols() != self.outputs() {
            let what = "columns of targets";
            return Err(FitError::Size { what, expected: self.outputs(), found: y.cols() });
        }
        for row in 0..y.rows() {
            self.check_row(row, y.row(row))?;
        }
        Ok(())
    }

    fn check_row(self, row: usize, y: &[f64]) -> Result<(), FitError> {
        if y.iter().any(|v| !v.is_finite()) {
            return Err(FitError::NotFinite { row, what: "target".into() });
        }
        let Task::Classification { classes } = self else { return Ok(()) };
        let needs = "probabilities: one per class, not negative, with sum 1";
        if let Some(&label) = y.iter().find(|v| **v < 0.0) {
            return Err(FitError::Label { row, label, classes, needs });
        }
        let sum: f64 = y.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(FitError::Label { row, label: sum, classes, needs });
        }
        Ok(())
    }
}

fn most_probable(p: &[f64]) -> f64 {
    let mut best = 0;
    for k in 1..p.len() {
        if p[k] > p[best] {
            best = k;
        }
    }
    best as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_targets_and_come_back() {
        let task = Task::Classification { classes: 3 };
        let targets = task.targets(&[2.0, 0.0]).unwrap();
        assert_eq!(targets.as_slice(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(task.labels(targets.as_slice()), [2.0, 0.0]);
        assert_eq!(task.labels(&[0.4, 0.4, 0.2]), [0.0]);
        assert_eq!(Task::Regression.targets(&[-1.5]).unwrap().as_slice(), [-1.5]);
    }

    #[test]
    fn labels_that_are_no_class_are_errors() {
        let task = Task::Classification { classes: 3 };
        for bad in [-1.0, 0.5, 3.0] {
            assert!(matches!(task.targets(&[0.0, bad]), Err(FitError::Label { row: 1, .. })), "{bad}");
        }
        assert!(matches!(task.targets(&[f64::NAN]), Err(FitError::NotFinite { row: 0, .. })));
        assert!(Task::Regression.targets(&[f64::INFINITY]).is_err());
    }

    #[test]
    fn what_is_no_probability_becomes_one() {
        let task = Task::Classification { classes: 2 };
        let mut rows = [0.3, 0.7, 2.0, 6.0, -1.0, 0.5, -3.0, 0.0, 1e308, 1e308];
        task.mend(&mut rows);
        assert_eq!(rows, [0.3, 0.7, 0.25, 0.75, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(task.check_targets(Rows::new(2, &rows)), Ok(()));
        let mut number = [-5.0];
        Task::Regression.mend(&mut number);
        assert_eq!(number, [-5.0]);
    }

    #[test]
    fn targets_must_be_probabilities() {
        let task = Task::Classification { classes: 2 };
        let check = |y: &[f64]| task.check_targets(Rows::new(2, y));
        assert_eq!(check(&[0.25, 0.75, 1.0, 0.0]), Ok(()));
        assert!(matches!(check(&[1.0, 0.0, -0.5, 1.5]), Err(FitError::Label { row: 1, label, .. }) if label == -0.5));
        assert!(matches!(check(&[0.5, 0.2]), Err(FitError::Label { row: 0, .. })));
        assert!(matches!(check(&[f64::NAN, 1.0]), Err(FitError::NotFinite { row: 0, .. })));
        let wrong = Task::Regression.check_targets(Rows::new(2, &[0.0, 1.0]));
        assert!(matches!(wrong, Err(FitError::Size { expected: 1, found: 2, .. })));
    }
}
