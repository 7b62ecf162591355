//! Rows in the order of a feature, found once per fit.
//!
//! An entry is `rank << 32 | row`: rows with equal values have equal ranks, so that looking for splits reads no values.

use crate::matrix::Rows;

/// Below this many rows comparisons beat passes over digits.
const FEW: usize = 256;

/// Digits of the upper half of a key, from the last to the first: shift and bits.
const DIGITS: [(u32, u32); 3] = [(32, 11), (43, 11), (54, 10)];

/// Fills `entries` with a sorted column after the other.
pub fn sort_columns(x: Rows, entries: &mut Vec<u64>, temp: &mut Vec<u64>) {
    let m = x.rows();
    entries.clear();
    entries.resize(m * x.cols(), 0);
    temp.clear();
    temp.resize(m, 0);
    for (j, column) in entries.chunks_exact_mut(m).enumerate() {
        sort_column(&|row| x.as_slice()[row * x.cols() + j], column, temp);
    }
}

fn sort_column(value: &impl Fn(usize) -> f64, column: &mut [u64], temp: &mut [u64]) {
    for (row, entry) in column.iter_mut().enumerate() {
        *entry = key(value(row)) >> 32 << 32 | row as u64;
    }
    if column.len() < FEW {
        column.sort_unstable()
    } else {
        sort_by_digits(column, temp)
    }
    sort_lower_halves(value, column);
    rank(value, column);
}

/// The order of floats as an order of integers; both zeros are one value.
fn key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// A stable sort by the upper halves, a digit after the other.
fn sort_by_digits(column: &mut [u64], temp: &mut [u64]) {
    let (mut from, mut to) = (&mut *column, &mut *temp);
    for (shift, bits) in DIGITS {
        let digit = |entry: u64| (entry >> shift) as usize & ((1 << bits) - 1);
        let mut start = [0u32; 1 << 11];
        from.iter().for_each(|&entry| start[digit(entry)] += 1);
        let mut sum = 0;
        for s in &mut start {
            (sum, *s) = (sum + *s, sum);
        }
        for &entry in from.iter() {
            let place = &mut start[digit(entry)];
            to[*place as usize] = entry;
            *place += 1;
        }
        (from, to) = (to, from);
    }
    // Three passes: the result is in the buffer.
    column.copy_from_slice(temp);
}

/// Entries with equal upper halves are few unless the values are equal: those runs are sorted by the whole value.
fn sort_lower_halves(value: &impl Fn(usize) -> f64, column: &mut [u64]) {
    let whole = |entry: u64| key(value(entry as u32 as usize));
    for run in column.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
        if !run.is_sorted_by_key(|&entry| whole(entry)) {
            run.sort_unstable_by_key(|&entry| (whole(entry), entry));
        }
    }
}

fn rank(value: &impl Fn(usize) -> f64, column: &mut [u64]) {
    let (mut rank, mut last) = (0u64, f64::NAN);
    for entry in column {
        let v = value(*entry as u32 as usize);
        rank += u64::from(v != last);
        last = v;
        *entry = rank << 32 | *entry & u64::from(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::matrix::Matrix;
    use crate::random::{Purpose, stream};

    /// Against the standard library's sort by `(value, row)`, few rows and many, with ties, both signs, both zeros,
    /// and values that differ only in their lower halves.
    #[test]
    fn columns_are_sorted_and_ranked() {
        let mut rng = stream(1, Purpose::Points, 0);
        for m in [1, 2, 17, 255, 256, 1000] {
            let makers: [&dyn Fn(f64) -> f64; 4] =
                [&|u| u - 0.5, &|u| (u * 4.0).floor() - 2.0, &|u| if u < 0.5 { -0.0 } else { 0.0 }, &|u| {
                    1.0 + (u * 100.0).floor() * f64::EPSILON
                }];
            let values: Vec<f64> = (0..m * 4).map(|at| makers[at % 4](rng.random())).collect();
            let x = Matrix::from_rows(4, values);
            let (mut entries, mut temp) = (Vec::new(), Vec::new());
            sort_columns(x.view(), &mut entries, &mut temp);
            for (j, column) in entries.chunks_exact(m).enumerate() {
                let value = |row: usize| x.row(row)[j];
                let mut wanted: Vec<usize> = (0..m).collect();
                wanted.sort_by(|&a, &b| value(a).partial_cmp(&value(b)).unwrap().then(a.cmp(&b)));
                assert!(column.iter().map(|e| *e as u32 as usize).eq(wanted.iter().copied()), "m {m}, column {j}");
                for (pair, rows) in column.windows(2).zip(wanted.windows(2)) {
                    assert_eq!(pair[0] >> 32 == pair[1] >> 32, value(rows[0]) == value(rows[1]));
                }
            }
        }
    }
}
