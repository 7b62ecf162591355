//! Simulated shocks: against dense twins, and learnt again.

mod edges;
mod exact;
mod recovery;

use rand_distr::{Distribution, StandardNormal};

use super::index::Index;
use super::kernel::{AT_ONCE, Kernel, PARTS};
use super::space::Space;
use super::{Geometry, Metric, Residuals, Time};
use crate::linalg::cholesky::{factor, packed_len, row, solve};
use crate::matrix::{Matrix, dot};
use crate::random::{Purpose, stream};
use rand::RngExt;

/// Nodes in the unit square.
fn places(nodes: usize, seed: u64) -> Matrix {
    let mut rng = stream(seed, Purpose::Coordinates, 0);
    Matrix::from_rows(2, (0..2 * nodes).map(|_| rng.random()).collect())
}

fn at(positions: &Matrix) -> Geometry<'_> {
    Geometry::Positions(positions, Metric::Euclidean)
}

/// Shocks between close nodes only.
fn nearby(variance: f64, length: f64, lasts: Option<f64>, noise: f64) -> Kernel {
    let fading = [lasts.map_or(AT_ONCE, |t| 1.0 / t); PARTS];
    Kernel { variance: [0.0, variance, 0.0], fading, decay: Some(1.0 / length), noise }
}

/// A row for every node and time, each kept with probability `share`, without values.
fn rows(nodes: u32, times: u32, share: f64, seed: u64) -> Residuals {
    let mut rng = stream(seed, Purpose::Subsets, 0);
    let all = (0..times).flat_map(|t| (0..nodes).map(move |i| (i, t)));
    let kept: Vec<(u32, u32)> = all.filter(|_| rng.random::<f64>() < share).collect();
    Residuals {
        node: kept.iter().map(|k| k.0).collect(),
        time: kept.iter().map(|k| f64::from(k.1)).collect(),
        value: vec![0.0; kept.len()],
    }
}

/// The covariance of all rows, noise included, as a packed lower triangle.
fn covariance(residuals: &Residuals, clock: Time, space: &Space, kernel: &Kernel) -> Vec<f64> {
    let index = Index::new(residuals, clock);
    let mut packed = Vec::with_capacity(packed_len(residuals.len()));
    for p in 0..residuals.len() as u32 {
        packed.extend((0..=p).map(|q| kernel.covariance(&index.pair(space, index.place(p), index.place(q)))));
        *packed.last_mut().unwrap() += kernel.noise;
    }
    packed
}

/// Draws the residuals of all rows.
fn draw(mut residuals: Residuals, clock: Time, geometry: &Geometry, kernel: &Kernel, seed: u64) -> Residuals {
    let n = residuals.len();
    let mut l = covariance(&residuals, clock, &Space::new(geometry, 0.3).unwrap(), kernel);
    factor(&mut l, n);
    let mut rng = stream(seed, Purpose::LocalData, 0);
    let z: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
    // The factor has reciprocals on its diagonal.
    let value = |p: usize| dot(&row(&l, p)[..p], &z[..p]) + z[p] / row(&l, p)[p];
    residuals.value = (0..n).map(value).collect();
    residuals
}

/// Log-density of all residuals at once, and `A^-1 r`.
fn dense(residuals: &Residuals, clock: Time, space: &Space, kernel: &Kernel) -> (f64, Vec<f64>) {
    let n = residuals.len();
    let mut l = covariance(residuals, clock, space, kernel);
    factor(&mut l, n);
    let mut z = residuals.value.clone();
    solve(&l, &mut z);
    let log_determinant: f64 = (0..n).map(|p| -2.0 * row(&l, p)[p].ln()).sum();
    let square = dot(&z, &residuals.value);
    (-0.5 * (n as f64 * std::f64::consts::TAU.ln() + log_determinant + square), z)
}
