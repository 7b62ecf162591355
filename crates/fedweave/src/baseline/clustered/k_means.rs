//! k-means: starts that lie apart (D. Arthur and S. Vassilvitskii, 2007), then Lloyd's iterations; the best of a few starts.

use rand::RngExt;

use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

const STARTS: usize = 8;
const ITERATIONS_MAX: usize = 200;

/// The cluster of every point, a row each.
pub fn k_means(points: &Matrix, k: usize, seed: u64) -> Vec<usize> {
    let runs = (0..STARTS).map(|start| run(points, k.clamp(1, points.rows().max(1)), seed, start));
    let best = runs.reduce(|a, b| if b.0 < a.0 { b } else { a });
    best.map_or_else(Vec::new, |best| best.1)
}

fn run(points: &Matrix, k: usize, seed: u64, start: usize) -> (f64, Vec<usize>) {
    let mut centres = spread(points, k, seed, start);
    let mut labels: Vec<usize> = Vec::new();
    for _ in 0..ITERATIONS_MAX {
        let found: Vec<usize> = (0..points.rows()).map(|i| nearest(points.row(i), &centres).0).collect();
        if found == labels {
            break;
        }
        labels = found;
        centres = means(points, &labels, &centres);
    }
    let cost = (0..points.rows()).map(|i| square(points.row(i), centres.row(labels[i]))).sum();
    (cost, labels)
}

/// Points drawn with chances that go with the squared distance from those drawn before.
fn spread(points: &Matrix, k: usize, seed: u64, start: usize) -> Matrix {
    let n = points.rows();
    let mut random = stream(seed, Purpose::ClusterCentres, start);
    let mut centres = Matrix::zeros(0, points.cols());
    let mut away = vec![1.0; n];
    for _ in 0..k.min(n) {
        let mut left = random.random::<f64>() * away.iter().sum::<f64>();
        let drawn = away.iter().position(|a| {
            left -= a;
            left < 0.0
        });
        let row = points.row(drawn.unwrap_or(n - 1));
        centres = Matrix::from_rows(points.cols(), [centres.as_slice(), row].concat());
        (0..n).for_each(|i| away[i] = nearest(points.row(i), &centres).1);
    }
    centres
}

fn nearest(point: &[f64], centres: &Matrix) -> (usize, f64) {
    let each = (0..centres.rows()).map(|c| (c, square(point, centres.row(c))));
    each.reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap_or((0, 0.0))
}

/// The means of the clusters; one that lost all its points stays where it is.
pub(super) fn means(points: &Matrix, labels: &[usize], before: &Matrix) -> Matrix {
    let mut sums = Matrix::zeros(before.rows(), before.cols());
    let mut count = vec![0.0; before.rows()];
    for (i, &c) in labels.iter().enumerate() {
        count[c] += 1.0;
        sums.row_mut(c).iter_mut().zip(points.row(i)).for_each(|(s, x)| *s += x);
    }
    for (c, count) in count.into_iter().enumerate() {
        match count > 0.0 {
            true => sums.row_mut(c).iter_mut().for_each(|s| *s /= count),
            false => sums.row_mut(c).copy_from_slice(before.row(c)),
        }
    }
    sums
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
