//! Residuals of rows, and of folds.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What rows were observed beyond what the models predict, one entry per row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Residuals {
    /// Node of every row.
    pub node: Vec<u32>,
    /// Time of every row.
    pub time: Vec<f64>,
    /// Label less prediction.
    pub value: Vec<f64>,
}

impl Residuals {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.value.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    pub(super) fn check(&self) -> Result<()> {
        for (what, found) in [("nodes of the residuals", self.node.len()), ("times of the residuals", self.time.len())]
        {
            if found != self.len() {
                return Err(Error::Size { what, expected: self.len(), found });
            }
        }
        for (what, numbers) in [("time", &self.time), ("residual", &self.value)] {
            if let Some(row) = numbers.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { row, what: what.into() });
            }
        }
        Ok(())
    }
}

/// The residuals of one fold: those of all rows under the model that was fitted without the rows held out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoldResiduals {
    /// Residuals of all rows.
    pub residuals: Residuals,
    /// True for rows that the model was not fitted to.
    pub held_out: Vec<bool>,
}

impl FoldResiduals {
    pub(super) fn check(&self) -> Result<()> {
        if self.held_out.len() != self.residuals.len() {
            let (expected, found) = (self.residuals.len(), self.held_out.len());
            return Err(Error::Size { what: "rows held out or not", expected, found });
        }
        self.residuals.check()
    }

    /// The rows held out, or the others.
    pub(super) fn part(&self, held_out: bool) -> Residuals {
        let Residuals { node, time, value } = &self.residuals;
        let rows: Vec<usize> = (0..value.len()).filter(|&row| self.held_out[row] == held_out).collect();
        Residuals {
            node: rows.iter().map(|&row| node[row]).collect(),
            time: rows.iter().map(|&row| time[row]).collect(),
            value: rows.iter().map(|&row| value[row]).collect(),
        }
    }
}
