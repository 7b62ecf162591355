//! One row, and rows that lie one after another: what losses ask of them.

use crate::linalg::cholesky::packed_len;
use crate::matrix::{axpy, dot};

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
