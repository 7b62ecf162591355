//! Rows of features, all of them dense or all of them sparse.
//!
//! A sparse row keeps its non-zero entries only: one-hot columns and counts of words cost what they say. What losses ask of a row
//! (inner products, sums, kernels) goes through [`Row`], with the same bits for both kinds; who needs whole rows gets a dense copy, made once.

mod row;
mod sparse;

use std::sync::OnceLock;

pub use row::{Block, Row};
pub use sparse::SparseMatrix;

use crate::matrix::Matrix;

/// With fewer columns than this, sparse rows bring nothing.
const SPARSE_COLUMNS_MIN: usize = 64;
/// A sparse entry takes half as much memory again as a dense one, and is slower to read.
const SPARSE_SHARE_MAX: f64 = 0.25;

/// True if rows of so many columns, with so many entries that are not zero in all, had better be sparse.
pub fn prefer_sparse(rows: usize, cols: usize, entries: usize) -> bool {
    cols >= SPARSE_COLUMNS_MIN && entries as f64 <= SPARSE_SHARE_MAX * (rows * cols) as f64
}

/// The features of all rows of a dataset.
#[derive(Debug, Clone)]
pub struct Features {
    stored: Stored,
    /// A copy for those who need whole rows.
    dense: OnceLock<Matrix>,
}

#[derive(Debug, Clone, PartialEq)]
enum Stored {
    Dense(Matrix),
    Sparse(SparseMatrix),
}

/// Copies for others do not count.
impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.stored == other.stored
    }
}

impl From<Matrix> for Features {
    fn from(x: Matrix) -> Self {
        Features { stored: Stored::Dense(x), dense: OnceLock::new() }
    }
}

impl From<SparseMatrix> for Features {
    fn from(x: SparseMatrix) -> Self {
        Features { stored: Stored::Sparse(x), dense: OnceLock::new() }
    }
}

impl Features {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.stored {
            Stored::Dense(x) => x.rows(),
            Stored::Sparse(x) => x.rows(),
        }
    }

    /// Number of columns.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        match &self.stored {
            Stored::Dense(x) => x.cols(),
            Stored::Sparse(x) => x.cols,
        }
    }

    /// True if only entries other than zero are kept.
    pub fn is_sparse(&self) -> bool {
        matches!(self.stored, Stored::Sparse(_))
    }

    /// Row `r`.
    #[inline(always)]
    pub fn row(&self, r: usize) -> Row<'_> {
        match &self.stored {
            Stored::Dense(x) => Row::Dense(x.row(r)),
            Stored::Sparse(x) => {
                let range = x.offsets[r]..x.offsets[r + 1];
                Row::Sparse { index: &x.index[range.clone()], values: &x.values[range] }
            }
        }
    }

    /// Some rows that lie one after another.
    #[inline(always)]
    pub fn block(&self, rows: std::ops::Range<usize>) -> Block<'_> {
        match &self.stored {
            Stored::Dense(x) => {
                Block::Dense { cols: x.cols(), x: &x.as_slice()[rows.start * x.cols()..rows.end * x.cols()] }
            }
            Stored::Sparse(x) => {
                Block::Sparse { offsets: &x.offsets[rows.start..=rows.end], index: &x.index, values: &x.values }
            }
        }
    }

    /// All rows as they are, or a copy of sparse ones with every entry, made when first asked for.
    #[inline(always)]
    pub fn dense(&self) -> &Matrix {
        match &self.stored {
            Stored::Dense(x) => x,
            Stored::Sparse(_) => self.dense.get_or_init(|| self.to_dense()),
        }
    }

    fn to_dense(&self) -> Matrix {
        let mut all = Matrix::zeros(self.rows(), self.cols());
        (0..self.rows()).for_each(|r| self.row(r).write_to(all.row_mut(r)));
        all
    }

    /// Writable entries of all rows, dense from now on.
    pub fn dense_mut(&mut self) -> &mut Matrix {
        if let Stored::Sparse(_) = self.stored {
            let all = self.dense.take().unwrap_or_else(|| self.to_dense());
            self.stored = Stored::Dense(all);
        }
        match &mut self.stored {
            Stored::Dense(x) => x,
            Stored::Sparse(_) => unreachable!("made dense above"),
        }
    }

    /// Entry `x` of column `j` replaced by `f(j, x)`; rows stay sparse if that leaves zeros what they are.
    pub fn map(&mut self, f: impl Fn(usize, f64) -> f64) {
        self.dense = OnceLock::new();
        if let Stored::Sparse(x) = &mut self.stored
            && (0..x.cols).all(|j| f(j, 0.0) == 0.0)
        {
            x.values.iter_mut().zip(&x.index).for_each(|(v, &j)| *v = f(j as usize, *v));
            return;
        }
        let cols = self.cols();
        for row in self.dense_mut().as_mut_slice().chunks_exact_mut(cols) {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = f(j, *x));
        }
    }

    /// No rows yet, of the same kind.
    pub fn none_like(&self, cols: usize) -> Features {
        match self.stored {
            Stored::Dense(_) => Matrix::zeros(0, cols).into(),
            Stored::Sparse(_) => SparseMatrix::new(cols).into(),
        }
    }

    /// Appends a row.
    pub fn push(&mut self, row: Row) {
        match (&mut self.stored, row) {
            (Stored::Dense(all), Row::Dense(x)) => all.push_row(x),
            (Stored::Dense(all), row) => {
                let mut x = vec![0.0; all.cols()];
                row.write_to(&mut x);
                all.push_row(&x);
            }
            (Stored::Sparse(all), Row::Dense(x)) => all.push(x.iter().copied().enumerate()),
            (Stored::Sparse(all), Row::Sparse { index, values }) => {
                all.push(index.iter().map(|j| *j as usize).zip(values.iter().copied()));
            }
        }
    }

    /// These rows, in this order.
    pub fn pick(&self, rows: &[usize]) -> Features {
        if let Stored::Dense(x) = &self.stored {
            let mut picked = Matrix::zeros(rows.len(), x.cols());
            rows.iter().enumerate().for_each(|(to, &from)| picked.row_mut(to).copy_from_slice(x.row(from)));
            return picked.into();
        }
        let mut picked = self.none_like(self.cols());
        rows.iter().for_each(|&r| picked.push(self.row(r)));
        picked
    }

    /// These columns, in this order.
    pub fn columns(&self, columns: &[usize]) -> Features {
        let Stored::Sparse(x) = &self.stored else {
            let x = (0..self.rows()).flat_map(|r| columns.iter().map(move |&j| self.row(r).at(j))).collect();
            return Matrix::from_rows(columns.len(), x).into();
        };
        let mut picked = SparseMatrix::new(columns.len());
        (0..x.rows()).for_each(|r| picked.push(columns.iter().map(|&j| self.row(r).at(j)).enumerate()));
        picked.into()
    }
}

#[cfg(test)]
mod tests;
