//! The rows a trunk is grown on.

use super::bins::{BINS_MOST, Bins};
use super::loss::TrunkLoss;
use crate::error::{Error, Result};
use crate::matrix::Rows;

/// Rows of all nodes, or of those of a part.
#[derive(Debug, Clone, Copy)]
pub struct TrunkRows<'a> {
    /// Numeric features without a column of ones; attributes of the node are features like others.
    pub x: Rows<'a>,
    /// The node of every row.
    pub category: Option<&'a [u32]>,
    /// Labels.
    pub y: &'a [f64],
    /// Row weights: a row of weight 2 counts like two rows.
    pub weight: &'a [f64],
}

impl TrunkRows<'_> {
    /// One more than the largest category; 0 without.
    pub fn categories(&self) -> usize {
        self.category.and_then(|category| category.iter().max()).map_or(0, |largest| *largest as usize + 1)
    }

    /// Refuses rows that do not fit together, and numbers that are none.
    pub(super) fn check(&self, loss: TrunkLoss) -> Result<()> {
        let expected = self.x.rows();
        let categories = self.category.map_or(expected, <[u32]>::len);
        for (what, found) in [("labels", self.y.len()), ("row weights", self.weight.len()), ("categories", categories)]
        {
            if found != expected {
                return Err(Error::Size { what, expected, found });
            }
        }
        if self.categories() > BINS_MOST {
            let value = self.categories() as f64;
            return Err(Error::Parameter { name: "the number of categories", value, needs: "at most 65536" });
        }
        self.check_finite()?;
        loss.check(self.y)?;
        if !self.weight.iter().any(|w| *w > 0.0) {
            return Err(Error::Size { what: "rows with weight", expected: 1, found: 0 });
        }
        Ok(())
    }

    /// Refuses bins that were made for other columns.
    pub(super) fn check_bins(&self, bins: &Bins) -> Result<()> {
        if self.x.cols() != bins.features() {
            return Err(Error::Size { what: "features", expected: bins.features(), found: self.x.cols() });
        }
        if self.categories() > bins.categories() || self.category.is_some() != (bins.categories() > 0) {
            return Err(Error::Size { what: "categories", expected: bins.categories(), found: self.categories() });
        }
        Ok(())
    }

    fn check_finite(&self) -> Result<()> {
        for row in 0..self.x.rows() {
            if let Some(column) = self.x.row(row).iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { row, what: format!("feature {column}") });
            }
            let weight = self.weight[row];
            for (what, value) in [("label", self.y[row]), ("row weight", weight)] {
                if !value.is_finite() {
                    return Err(Error::NotFinite { row, what: what.into() });
                }
            }
            if weight < 0.0 {
                return Err(Error::RowWeight { row, weight });
            }
        }
        Ok(())
    }
}
