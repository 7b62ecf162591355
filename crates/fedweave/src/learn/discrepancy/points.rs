//! Measures that give every node a point.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::NodeRows;
use super::columns::{columns, mean_and_deviation};
use crate::baseline::{global, local};
use crate::error::Result;
use crate::linalg::jacobi;
use crate::loss::{Family, Loss, LossOptions, LossSpec};
use crate::matrix::{Matrix, axpy, dot, norm2};
use crate::parallel::ordered_map;
use crate::random::{Purpose, stream};

/// Bins of a histogram of numbers.
pub const BINS: usize = 8;
/// Directions of the sliced Wasserstein distance, and quantiles along each.
pub const DIRECTIONS: usize = 16;
pub const LEVELS: usize = 8;
/// Principal components that count.
const COMPONENTS: usize = 8;
/// Longer descriptions are projected at random before their components are found.
const DESCRIPTION_MAX: usize = 96;
/// Ridge of local models, and a little one of the pooled model, in standardised units.
const RIDGES: (f64, f64) = (0.1, 1e-6);

fn options(rows: &NodeRows, ridge: f64) -> LossOptions {
    LossOptions { ridge, spare_last: rows.intercept, ..LossOptions::default() }
}

/// How models of nodes alone are fitted.
pub fn local_options(rows: &NodeRows) -> LossOptions {
    options(rows, RIDGES.0)
}

/// `grad L_i` at one model, for every node.
pub fn gradients_at(loss: &dyn Loss, w: &[f64]) -> Matrix {
    let gradient = |i: usize| {
        let mut out = vec![0.0; loss.dim()];
        loss.gradient(i, w, &mut out);
        out
    };
    Matrix::from_rows(loss.dim(), ordered_map(loss.nodes(), gradient).concat())
}

/// Gradients of the losses at the pooled model.
pub fn gradients(rows: &NodeRows) -> Result<Matrix> {
    let pooled = global(rows.family, &rows.data, &options(rows, RIDGES.1))?;
    let loss = rows.family.build(rows.data.clone(), &LossOptions::default())?;
    Ok(gradients_at(&*loss, &pooled))
}

/// Ridge models of the nodes alone.
pub fn parameters(rows: &NodeRows) -> Result<Matrix> {
    local(&LossSpec::Same(rows.family), rows.data.clone(), &local_options(rows))
}

/// Means and deviations of all columns.
pub fn moments(rows: &NodeRows) -> Matrix {
    let all = &columns(rows);
    let of_node = |i: usize| {
        let column = |j: usize| rows.data.rows(i).map(move |row| all.row(row)[j]);
        let pairs = (0..all.cols()).map(|j| mean_and_deviation(column(j)));
        pairs.flat_map(|(mean, deviation)| [mean, deviation]).collect::<Vec<f64>>()
    };
    Matrix::from_rows(2 * all.cols(), ordered_map(rows.data.nodes(), of_node).concat())
}

/// Square roots of the shares of labels in common bins, smoothed towards the shares of all: distances are Hellinger's.
pub fn histogram(rows: &NodeRows) -> Matrix {
    let data = &rows.data;
    let bin = binning(rows);
    let bins = 1 + data.y().iter().map(|y| bin(*y)).max().unwrap_or(0);
    let mut all = vec![0.0; bins];
    data.y().iter().for_each(|y| all[bin(*y)] += 1.0 / data.len() as f64);
    let of_node = |i: usize| {
        let mut shares = all.clone();
        data.labels(i).iter().for_each(|y| shares[bin(*y)] += 1.0);
        shares.iter().map(|s| (s / (data.labels(i).len() + 1) as f64).sqrt()).collect::<Vec<f64>>()
    };
    Matrix::from_rows(bins, ordered_map(data.nodes(), of_node).concat())
}

/// Classes and counts of few kinds have a bin each; other numbers equally filled ones.
fn binning(rows: &NodeRows) -> impl Fn(f64) -> usize {
    let mut sorted = rows.data.y().to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut kinds = sorted.clone();
    kinds.dedup();
    let cuts: Vec<f64> = match kinds.len() <= BINS || matches!(rows.family, Family::Multinomial { .. }) {
        true => kinds.into_iter().skip(1).collect(),
        false => (1..BINS).map(|b| sorted[b * sorted.len() / BINS]).collect(),
    };
    move |y| cuts.partition_point(|cut| *cut <= y)
}

/// Quantiles of the rows along random directions, the same for all nodes: the mean squared difference is that of the sliced
/// Wasserstein distance.
pub fn quantiles(rows: &NodeRows) -> Matrix {
    let all = columns(rows);
    let directions = directions(all.cols(), DIRECTIONS, rows.seed);
    let scale = (1.0 / (DIRECTIONS * LEVELS) as f64).sqrt();
    let of_node = |i: usize| {
        let mut out = Vec::with_capacity(DIRECTIONS * LEVELS);
        for direction in directions.as_slice().chunks_exact(all.cols()) {
            let mut along: Vec<f64> = rows.data.rows(i).map(|row| dot(all.row(row), direction)).collect();
            along.sort_by(f64::total_cmp);
            out.extend((0..LEVELS).map(|l| scale * quantile(&along, (l as f64 + 0.5) / LEVELS as f64)));
        }
        out
    };
    Matrix::from_rows(DIRECTIONS * LEVELS, ordered_map(rows.data.nodes(), of_node).concat())
}

/// Linear between the middles of the steps.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = (level * sorted.len() as f64 - 0.5).clamp(0.0, (sorted.len() - 1) as f64);
    let (low, share) = (place.floor() as usize, place.fract());
    sorted[low] + share * (sorted[(low + 1).min(sorted.len() - 1)] - sorted[low])
}

/// Random unit vectors.
fn directions(dim: usize, count: usize, seed: u64) -> Matrix {
    let mut rng = stream(seed, Purpose::Directions, 0);
    let mut all = Matrix::from_rows(dim, (0..count * dim).map(|_| rng.sample(StandardNormal)).collect());
    for k in 0..count {
        let size = norm2(all.row(k)).max(f64::MIN_POSITIVE);
        all.row_mut(k).iter_mut().for_each(|x| *x /= size);
    }
    all
}

/// Principal components of the first and second moments of the rows.
pub fn components(rows: &NodeRows) -> Matrix {
    let all = columns(rows);
    let c = all.cols();
    let length = c + c * (c + 1) / 2;
    let of_node = |i: usize| {
        let mut sums = vec![0.0; length];
        let share = 1.0 / rows.data.rows(i).len().max(1) as f64;
        for row in rows.data.rows(i).map(|row| all.row(row)) {
            axpy(share, row, &mut sums[..c]);
            let mut at = c;
            for (j, x) in row.iter().enumerate() {
                axpy(share * x, &row[..=j], &mut sums[at..=at + j]);
                at += j + 1;
            }
        }
        sums
    };
    let described = Matrix::from_rows(length, ordered_map(rows.data.nodes(), of_node).concat());
    principal(&match length > DESCRIPTION_MAX {
        true => project(&described, &directions(length, DESCRIPTION_MAX, rows.seed)),
        false => described,
    })
}

/// The coordinates of every row along the leading eigenvectors of the covariance.
fn principal(points: &Matrix) -> Matrix {
    let (n, c) = (points.rows(), points.cols());
    let mean: Vec<f64> = (0..c).map(|j| (0..n).map(|i| points.row(i)[j]).sum::<f64>() / n as f64).collect();
    let mut covariance = vec![0.0; c * c];
    let mut centred = vec![0.0; c];
    for i in 0..n {
        centred.copy_from_slice(points.row(i));
        axpy(-1.0, &mean, &mut centred);
        (0..c).for_each(|j| axpy(centred[j] / n as f64, &centred, &mut covariance[j * c..(j + 1) * c]));
    }
    let vectors = jacobi::eigen(&mut covariance, c);
    let mut order: Vec<usize> = (0..c).collect();
    order.sort_by(|&a, &b| covariance[b * c + b].total_cmp(&covariance[a * c + a]).then(a.cmp(&b)));
    order.truncate(COMPONENTS);
    let leading = order.iter().flat_map(|&k| vectors[k * c..(k + 1) * c].iter().copied()).collect();
    project(points, &Matrix::from_rows(c, leading))
}

/// Every row along every direction.
fn project(points: &Matrix, directions: &Matrix) -> Matrix {
    let along = |i: usize| (0..directions.rows()).map(|k| dot(points.row(i), directions.row(k))).collect::<Vec<f64>>();
    Matrix::from_rows(directions.rows(), ordered_map(points.rows(), along).concat())
}
