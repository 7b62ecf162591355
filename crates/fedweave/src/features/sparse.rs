//! Rows of which only the entries that are not zero are kept.

use crate::error::{Error, Result};

/// Entries that are not zero, row after row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    pub(super) cols: usize,
    /// Where each row begins, and the end.
    pub(super) offsets: Vec<usize>,
    /// Columns, ascending inside a row.
    pub(super) index: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl SparseMatrix {
    /// No rows yet.
    pub fn new(cols: usize) -> Self {
        SparseMatrix { cols, offsets: vec![0], index: Vec::new(), values: Vec::new() }
    }

    /// From the parts of the compressed row format; columns of a row must ascend.
    pub fn from_parts(cols: usize, offsets: Vec<usize>, index: Vec<u32>, values: Vec<f64>) -> Result<Self> {
        if values.len() != index.len() {
            return Err(Error::Size { what: "sparse values", expected: index.len(), found: values.len() });
        }
        if offsets.first() != Some(&0)
            || offsets.last() != Some(&index.len())
            || offsets.windows(2).any(|w| w[0] > w[1])
        {
            return Err(Error::Size { what: "sparse row offsets in order", expected: index.len(), found: 0 });
        }
        for row in offsets.windows(2).map(|w| &index[w[0]..w[1]]) {
            if row.windows(2).any(|w| w[0] >= w[1]) {
                return Err(Error::Size { what: "ascending sparse columns", expected: row.len(), found: 0 });
            }
            if let Some(&last) = row.last().filter(|last| **last as usize >= cols) {
                return Err(Error::Size { what: "sparse columns", expected: cols, found: last as usize + 1 });
            }
        }
        Ok(SparseMatrix { cols, offsets, index, values })
    }

    /// Appends a row of entries whose columns ascend; zeros are left out.
    pub fn push(&mut self, entries: impl Iterator<Item = (usize, f64)>) {
        for (column, value) in entries.filter(|(_, value)| *value != 0.0) {
            debug_assert!(column < self.cols);
            self.index.push(column as u32);
            self.values.push(value);
        }
        self.offsets.push(self.index.len());
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries that are kept.
    pub fn entries(&self) -> usize {
        self.values.len()
    }
}
