//! A mixture of Gaussians with one diagonal covariance, by expectation and maximisation from the clusters of k-means.

use super::k_means::{k_means, means};
use crate::matrix::Matrix;

const ITERATIONS: usize = 100;
/// Variances stay above this share of the variance of all points.
const NARROWEST: f64 = 1e-6;

/// The most probable cluster of every point.
pub fn clusters(points: &Matrix, k: usize, seed: u64) -> Vec<usize> {
    let (n, d) = (points.rows(), points.cols());
    let mut labels = k_means(points, k, seed);
    if n == 0 {
        return labels;
    }
    let mut centres = means(points, &labels, &Matrix::zeros(k, d));
    let mut share: Vec<f64> = (0..k).map(|c| count(&labels, c) / n as f64).collect();
    let all = variance(points, &means(points, &vec![0; n], &Matrix::zeros(1, d)), &vec![vec![1.0]; n]);
    let mut spread = all.clone();
    for _ in 0..ITERATIONS {
        let belongs: Vec<Vec<f64>> = (0..n).map(|i| chances(points.row(i), &centres, &share, &spread)).collect();
        for (c, share) in share.iter_mut().enumerate() {
            let total: f64 = belongs.iter().map(|b| b[c]).sum();
            *share = total / n as f64;
            if total > 0.0 {
                for j in 0..d {
                    centres.row_mut(c)[j] = (0..n).map(|i| belongs[i][c] * points.row(i)[j]).sum::<f64>() / total;
                }
            }
        }
        spread = variance(points, &centres, &belongs);
        spread.iter_mut().zip(&all).for_each(|(v, all)| *v = v.max(NARROWEST * all).max(f64::MIN_POSITIVE));
        let most = |b: &Vec<f64>| (0..k).reduce(|a, c| if b[c] > b[a] { c } else { a }).unwrap_or(0);
        labels = belongs.iter().map(most).collect();
    }
    labels
}

fn count(labels: &[usize], c: usize) -> f64 {
    labels.iter().filter(|label| **label == c).count() as f64
}

/// How probably a point belongs to every cluster.
fn chances(point: &[f64], centres: &Matrix, share: &[f64], spread: &[f64]) -> Vec<f64> {
    let log = |c: usize| {
        let each = point.iter().zip(centres.row(c)).zip(spread);
        share[c].ln() - 0.5 * each.map(|((x, m), v)| (x - m).powi(2) / v.max(f64::MIN_POSITIVE)).sum::<f64>()
    };
    let logs: Vec<f64> = (0..share.len()).map(log).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// Of every coordinate, around the centres that points belong to.
fn variance(points: &Matrix, centres: &Matrix, belongs: &[Vec<f64>]) -> Vec<f64> {
    let n = points.rows();
    let of = |j: usize| {
        let each = (0..n).flat_map(|i| (0..centres.rows()).map(move |c| (i, c)));
        each.map(|(i, c)| belongs[i][c] * (points.row(i)[j] - centres.row(c)[j]).powi(2)).sum::<f64>() / n as f64
    };
    (0..points.cols()).map(of).collect()
}
