//! Weights by validation: does learning together predict better (FedRelax II-A)? The rows of a node are dealt into two halves, and each is
//! predicted by ridge models of the other half, of the node alone and of both ends of an edge together. With the errors of both ends
//! added up, an edge weighs
//!
//! ```text
//! alone / (alone + together)      1/2 where it makes no difference, near 1 where it helps much
//! ```

use rand::seq::SliceRandom;

use super::Pair;
use crate::baseline::local;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::learn::discrepancy::{NodeRows, local_options};
use crate::loss::{LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

/// Edges whose rows are copied at a time.
const CHUNK: usize = 16_384;
/// No edge weighs less: it would be none.
const LEAST: f64 = 1e-6;

/// The factor of every edge.
pub fn weights(rows: &NodeRows, pairs: &[Pair]) -> Result<Vec<f64>> {
    let first = halves(&rows.data, rows.seed);
    let second: Vec<bool> = first.iter().map(|first| !first).collect();
    let (alone, together) = (judge(rows, pairs, &first, &second)?, judge(rows, pairs, &second, &first)?);
    let factor = |(a, b): ((f64, f64), (f64, f64))| {
        let (alone, together) = (a.0 + b.0, a.1 + b.1);
        let share = alone / (alone + together);
        if share.is_finite() { share.max(LEAST) } else { 0.5 }
    };
    Ok(alone.into_iter().zip(together).map(factor).collect())
}

/// The first half of the rows of every node, drawn at random.
fn halves(data: &Dataset, seed: u64) -> Vec<bool> {
    let mut first = vec![false; data.len()];
    for i in 0..data.nodes() {
        let mut own: Vec<usize> = data.rows(i).collect();
        own.shuffle(&mut stream(seed, Purpose::HeldOutRows, i));
        own[..own.len().div_ceil(2)].iter().for_each(|&row| first[row] = true);
    }
    first
}

/// Errors of both ends of every edge on rows held out, alone and together.
fn judge(rows: &NodeRows, pairs: &[Pair], train: &[bool], held: &[bool]) -> Result<Vec<(f64, f64)>> {
    let (spec, options) = (LossSpec::Same(rows.family), local_options(rows));
    let train = rows.data.select(train);
    let judged = rows.family.build(rows.data.select(held), &LossOptions::default())?;
    let own = local(&spec, train.clone(), &options)?;
    let mut errors = Vec::with_capacity(pairs.len());
    for chunk in pairs.chunks(CHUNK) {
        let both = local(&spec, joined(&train, chunk)?, &options)?;
        errors.extend(chunk.iter().enumerate().map(|(k, &(i, j, _))| {
            let error = |of_i: &[f64], of_j: &[f64]| judged.value(i, of_i) + judged.value(j, of_j);
            (error(own.row(i), own.row(j)), error(both.row(k), both.row(k)))
        }));
    }
    Ok(errors)
}

/// The rows of both ends of every edge, as those of one node.
fn joined(data: &Dataset, pairs: &[Pair]) -> Result<Dataset> {
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for &(i, j, _) in pairs {
        for node in [i, j] {
            data.rows(node).for_each(|row| x.extend_from_slice(data.x(row)));
            y.extend_from_slice(data.labels(node));
            weight.extend_from_slice(data.weights(node));
        }
        offsets.push(y.len());
    }
    Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight)
}
