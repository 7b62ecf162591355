use super::*;
use crate::laws::Draw;
use crate::linalg::cholesky::packed_len;

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
    for (f, stays) in [(|j, x| x * (j + 1) as f64, true), (|_, x| x + 1.0, false)] as [(fn(usize, f64) -> f64, _); 2] {
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
    for (offsets, index) in [(&[0, 2, 1, 3][..], &[0, 1, 2][..]), (&[0, 3], &[0, 2, 1]), (&[0, 1], &[3]), (&[1], &[])] {
        assert!(of(offsets, index).is_err());
    }
    assert!(SparseMatrix::from_parts(3, vec![0, 1], vec![0], vec![]).is_err());
}
