//! Rows of features, all of them dense or all of them sparse.
//!
//! A sparse row keeps its non-zero entries only: one-hot columns and counts of words cost what they say. What losses ask of a row
//! (inner products, sums, kernels) goes through [`Row`], with the same bits for both kinds; who needs whole rows gets a dense copy, made once.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::linalg::cholesky::packed_len;
use crate::matrix::{Matrix, axpy, dot};

/// With fewer columns than this, sparse rows bring nothing.
const SPARSE_COLUMNS_MIN: usize = 64;
/// A sparse entry takes half as much memory again as a dense one, and is slower to read.
const SPARSE_SHARE_MAX: f64 = 0.25;

/// True if rows of so many columns, with so many entries that are not zero in all, had better be sparse.
pub fn prefer_sparse(rows: usize, cols: usize, entries: usize) -> bool {
    cols >= SPARSE_COLUMNS_MIN && entries as f64 <= SPARSE_SHARE_MAX * (rows * cols) as f64
}

/// Entries that are not zero, row after row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    cols: usize,
    /// Where each row begins, and the end.
    offsets: Vec<usize>,
    /// Columns, ascending inside a row.
    index: Vec<u32>,
    values: Vec<f64>,
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

/// The sum of `term(k, column)` over the entries `k` of a row, in the order in which [`dot`] adds up whole rows: what is zero there
/// changes no bit.
#[inline(always)]
fn sum_by_column(index: &[u32], columns: usize, term: impl Fn(usize, usize) -> f64) -> f64 {
    let (mut sums, mut tail, split) = ([0.0; 4], 0.0, columns / 4 * 4);
    for (k, &j) in index.iter().enumerate() {
        let j = j as usize;
        match j < split {
            true => sums[j % 4] += term(k, j),
            false => tail += term(k, j),
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// One row of features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// Every entry.
    Dense(&'a [f64]),
    /// Entries that are not zero, by column.
    Sparse {
        /// Their columns, ascending.
        index: &'a [u32],
        /// What stands there.
        values: &'a [f64],
    },
}

impl<'a> Row<'a> {
    /// `x'w`.
    #[inline(always)]
    pub fn dot(self, w: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => dot(x, w),
            Row::Sparse { index, values } => sum_by_column(index, w.len(), |k, j| values[k] * w[j]),
        }
    }

    /// `out <- out + c x`.
    #[inline(always)]
    pub fn add_to(self, c: f64, out: &mut [f64]) {
        match self {
            Row::Dense(x) => axpy(c, x, out),
            Row::Sparse { index, values } => index.iter().zip(values).for_each(|(&j, v)| out[j as usize] += c * v),
        }
    }

    /// `sum <- sum + c x x'`, the lower triangle row after row.
    #[inline(always)]
    pub fn add_outer(self, c: f64, sum: &mut [f64]) {
        match self {
            Row::Dense(x) => {
                for i in 0..x.len() {
                    let start = packed_len(i);
                    axpy(c * x[i], &x[..=i], &mut sum[start..=start + i]);
                }
            }
            Row::Sparse { index, values } => {
                for (k, (&i, value)) in index.iter().zip(values).enumerate() {
                    let below = Row::Sparse { index: &index[..=k], values: &values[..=k] };
                    below.add_to(c * value, &mut sum[packed_len(i as usize)..]);
                }
            }
        }
    }

    /// `x'x` for a row of so many columns.
    #[inline(always)]
    pub fn square(self, columns: usize) -> f64 {
        match self {
            Row::Dense(x) => dot(x, x),
            Row::Sparse { index, values } => sum_by_column(index, columns, |k, _| values[k] * values[k]),
        }
    }

    /// `sum_j x_j z_j / by(j)`.
    #[inline(always)]
    pub fn inner(self, other: Row, by: impl Fn(usize) -> f64) -> f64 {
        match (self, other) {
            (Row::Dense(a), Row::Dense(b)) => a.iter().zip(b).enumerate().map(|(j, (a, b))| a * b / by(j)).sum(),
            (Row::Sparse { index, values }, Row::Sparse { index: others, values: theirs }) => {
                let (mut sum, mut k) = (0.0, 0);
                for (&j, value) in index.iter().zip(values) {
                    while k < others.len() && others[k] < j {
                        k += 1;
                    }
                    if k < others.len() && others[k] == j {
                        sum += value * theirs[k] / by(j as usize);
                    }
                }
                sum
            }
            (a, b) => {
                let mut sum = 0.0;
                a.for_each(|j, value| sum += value * b.at(j) / by(j));
                sum
            }
        }
    }

    /// Its first columns.
    #[inline(always)]
    pub fn first(self, columns: usize) -> Row<'a> {
        match self {
            Row::Dense(x) => Row::Dense(&x[..columns]),
            Row::Sparse { index, values } => {
                let count = index.partition_point(|&j| (j as usize) < columns);
                Row::Sparse { index: &index[..count], values: &values[..count] }
            }
        }
    }

    /// Calls `f` with every entry that may be other than zero.
    #[inline(always)]
    pub fn for_each(self, mut f: impl FnMut(usize, f64)) {
        match self {
            Row::Dense(x) => x.iter().enumerate().for_each(|(j, v)| f(j, *v)),
            Row::Sparse { index, values } => index.iter().zip(values).for_each(|(&j, v)| f(j as usize, *v)),
        }
    }

    /// The entry of column `j`.
    pub fn at(self, j: usize) -> f64 {
        match self {
            Row::Dense(x) => x[j],
            Row::Sparse { index, values } => index.binary_search(&(j as u32)).map_or(0.0, |k| values[k]),
        }
    }

    /// Writes every entry.
    pub fn write_to(self, out: &mut [f64]) {
        out.fill(0.0);
        self.for_each(|j, value| out[j] = value);
    }

    /// What is stored of it.
    pub fn stored(self) -> &'a [f64] {
        let (Row::Dense(x) | Row::Sparse { values: x, .. }) = self;
        x
    }
}

/// Rows that lie one after another.
#[derive(Debug, Clone, Copy)]
pub enum Block<'a> {
    /// Every entry, row after row.
    Dense {
        /// Length of a row.
        cols: usize,
        /// The entries.
        x: &'a [f64],
    },
    /// Entries that are not zero.
    Sparse {
        /// Where each row begins in the others, and the end.
        offsets: &'a [usize],
        /// Columns of all entries of the matrix.
        index: &'a [u32],
        /// All entries of the matrix.
        values: &'a [f64],
    },
}

impl<'a> Block<'a> {
    /// Number of rows.
    #[inline(always)]
    pub fn rows(self) -> usize {
        match self {
            Block::Dense { cols, x } => x.len() / cols,
            Block::Sparse { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Row `r`.
    #[inline(always)]
    pub fn row(self, r: usize) -> Row<'a> {
        match self {
            Block::Dense { cols, x } => Row::Dense(&x[r * cols..(r + 1) * cols]),
            Block::Sparse { offsets, index, values } => {
                let range = offsets[r]..offsets[r + 1];
                Row::Sparse { index: &index[range.clone()], values: &values[range] }
            }
        }
    }
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
mod tests {
    use super::*;
    use crate::laws::Draw;

    /// Both kinds of the same rows.
    fn twins(seed: u64) -> (Features, Features) {
        let mut draw = Draw::new(seed);
        let (rows, cols) = (1 + draw.below(5), 1 + draw.below(9));
        let x: Vec<f64> =
            draw.normal(rows * cols, 1.0).into_iter().map(|v| if draw.below(3) == 0 { v } else { 0.0 }).collect();
        let mut sparse = SparseMatrix::new(cols);
        x.chunks_exact(cols).for_each(|row| sparse.push(row.iter().copied().enumerate()));
        (Matrix::from_rows(cols, x).into(), sparse.into())
    }

    #[test]
    fn sparse_rows_are_the_dense_ones() {
        for seed in 0..100 {
            let (dense, sparse) = twins(seed);
            assert_eq!(sparse.dense(), dense.dense());
            assert!(sparse.is_sparse() && !dense.is_sparse());
            let (rows, cols) = (dense.rows(), dense.cols());
            let w = Draw::new(seed + 1000).normal(cols, 1.0);
            for r in 0..rows {
                let (a, b) = (dense.row(r), sparse.block(0..rows).row(r));
                assert_eq!((a.dot(&w), a.square(cols)), (b.dot(&w), b.square(cols)));
                let mut sums = [vec![0.0; packed_len(cols)], vec![0.0; packed_len(cols)]];
                a.add_outer(2.0, &mut sums[0]);
                b.add_outer(2.0, &mut sums[1]);
                assert_eq!(sums[0], sums[1]);
                let (c, d) = (dense.row(0), sparse.row(0));
                let by = |j: usize| 1.0 + w[j] * w[j];
                assert_eq!((a.inner(c, by), a.inner(c, by)), (b.inner(d, by), b.inner(c, by)));
            }
        }
    }

    #[test]
    fn rows_and_columns_can_be_picked() {
        for seed in 0..100 {
            let (dense, sparse) = twins(seed);
            let (rows, cols) = (dense.rows(), dense.cols());
            let order: Vec<usize> = (0..rows).rev().chain([0]).collect();
            assert_eq!(dense.pick(&order).dense(), sparse.pick(&order).dense());
            let columns: Vec<usize> = (0..cols).rev().collect();
            assert_eq!(dense.columns(&columns).dense(), sparse.columns(&columns).dense());
        }
    }

    #[test]
    fn maps_that_keep_zero_keep_rows_sparse() {
        let (dense, sparse) = twins(7);
        for (f, stays) in
            [(|j, x| x * (j + 1) as f64, true), (|_, x| x + 1.0, false)] as [(fn(usize, f64) -> f64, _); 2]
        {
            let (mut a, mut b) = (dense.clone(), sparse.clone());
            a.map(f);
            b.map(f);
            assert_eq!((a.dense(), b.is_sparse()), (b.dense(), stays));
        }
    }

    #[test]
    fn wrong_parts_are_refused() {
        let of = |offsets: &[usize], index: &[u32]| {
            SparseMatrix::from_parts(3, offsets.to_vec(), index.to_vec(), vec![1.0; index.len()])
        };
        assert!(of(&[0, 1, 3], &[2, 0, 1]).is_ok());
        for (offsets, index) in
            [(&[0, 2, 1, 3][..], &[0, 1, 2][..]), (&[0, 3], &[0, 2, 1]), (&[0, 1], &[3]), (&[1], &[])]
        {
            assert!(of(offsets, index).is_err());
        }
        assert!(SparseMatrix::from_parts(3, vec![0, 1], vec![0], vec![]).is_err());
    }
}
