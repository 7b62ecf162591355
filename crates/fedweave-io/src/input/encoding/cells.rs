//! The entries that columns of a table become: checked first, then written into whole rows, or into rows that keep only what is not zero.

use std::borrow::Cow;

use fedweave::Matrix;
use fedweave::features::{Features, SparseMatrix, prefer_sparse};

use super::{Encoding, Feature, missing, positions};
use crate::error::IoError;
use crate::table::{Numbers, Table};

/// What to do where a number is missing, or a word, which has no mean to fill it with.
const NO_NUMBER: &str = "fill it, or fit with --missing mean";
const NO_WORD: &str = "fill it, or leave the row out";

impl Encoding {
    /// The feature matrix of some rows of a table.
    pub(in crate::input) fn matrix(&self, table: &Table, rows: &[usize]) -> Result<Matrix, IoError> {
        Ok(self.dense(&self.cells(table, rows)?, rows))
    }

    /// The same, with rows that keep only what is not zero where that saves memory.
    pub(in crate::input) fn features(&self, table: &Table, rows: &[usize]) -> Result<Features, IoError> {
        let cells = self.cells(table, rows)?;
        let entry = |cells: &Cells, i: usize| cells.entry(i, rows[i]).filter(|(_, value)| *value != 0.0);
        let count = |cells: &Cells| (0..rows.len()).filter(|&i| entry(cells, i).is_some()).count();
        // Columns are counted one after the other; who is dense is dense early.
        let mut entries = rows.len() * usize::from(self.intercept);
        for cells in &cells {
            entries += count(cells);
            if !prefer_sparse(rows.len(), self.dim(), entries) {
                break;
            }
        }
        if !prefer_sparse(rows.len(), self.dim(), entries) {
            return Ok(self.dense(&cells, rows).into());
        }
        let first = self.first_columns();
        let mut x = SparseMatrix::new(self.dim());
        for i in 0..rows.len() {
            let own =
                cells.iter().zip(&first).filter_map(|(cells, first)| entry(cells, i).map(|(k, v)| (first + k, v)));
            x.push(own.chain(self.intercept.then_some((self.dim() - 1, 1.0))));
        }
        Ok(x.into())
    }

    fn cells<'t>(&self, table: &'t Table, rows: &[usize]) -> Result<Vec<Cells<'t>>, IoError> {
        self.features.iter().map(|feature| feature.cells(table, rows)).collect()
    }

    fn first_columns(&self) -> Vec<usize> {
        let next = |at: &mut usize, feature: &Feature| {
            let first = *at;
            *at += feature.width();
            Some(first)
        };
        self.features.iter().scan(0, next).collect()
    }

    fn dense(&self, cells: &[Cells], rows: &[usize]) -> Matrix {
        let mut x = Matrix::zeros(rows.len(), self.dim());
        for (cells, first) in cells.iter().zip(self.first_columns()) {
            for (i, &row) in rows.iter().enumerate() {
                if let Some((k, value)) = cells.entry(i, row) {
                    x.row_mut(i)[first + k] = value;
                }
            }
        }
        if self.intercept {
            (0..rows.len()).for_each(|i| x.row_mut(i)[self.dim() - 1] = 1.0);
        }
        x
    }
}

impl Feature {
    /// What the feature puts into some rows of a table; everything that is to be refused is refused here.
    fn cells<'t>(&self, table: &'t Table, rows: &[usize]) -> Result<Cells<'t>, IoError> {
        let column = table.find(self.column())?;
        match self {
            Feature::Number { mean, .. } => {
                let numbers = table.finite(column)?;
                let gap = || rows.iter().find(|&&row| numbers.values[row].is_nan());
                if let Some(&row) = mean.is_none().then(gap).flatten() {
                    return Err(missing(table, column, row, NO_NUMBER));
                }
                Ok(Cells::Numbers { numbers, mean: mean.unwrap_or(f64::NAN) })
            }
            Feature::OneHot { levels, baseline, .. } => {
                let hot = positions(table, column, levels, rows)?;
                if let Some(i) = hot.iter().position(Option::is_none) {
                    return Err(missing(table, column, rows[i], NO_WORD));
                }
                let skipped = usize::from(*baseline);
                Ok(Cells::Hot(hot.into_iter().map(|hot| hot.and_then(|k| k.checked_sub(skipped))).collect()))
            }
        }
    }
}

/// What a feature puts into rows.
enum Cells<'t> {
    /// A number in its column.
    Numbers { numbers: Cow<'t, Numbers>, mean: f64 },
    /// 1 in one of its columns, or nowhere, row after row.
    Hot(Vec<Option<usize>>),
}

impl Cells<'_> {
    /// The column, counted from the first one of the feature, and the entry of the `i`-th row, which stands in row `row` of the table.
    fn entry(&self, i: usize, row: usize) -> Option<(usize, f64)> {
        match self {
            Cells::Numbers { numbers, mean } => {
                let value = numbers.values[row];
                Some((0, if value.is_nan() { *mean } else { value }))
            }
            Cells::Hot(hot) => hot[i].map(|k| (k, 1.0)),
        }
    }
}
