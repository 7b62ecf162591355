//! k-means as scikit-learn starts it from a seed: k-means++ with a few candidates for every centre (D. Arthur and S. Vassilvitskii,
//! 2007), then Lloyd's iterations.

use fedweave::Matrix;

use super::legacy_random::LegacyRandom;

const ITERATIONS_MAX: usize = 300;
/// Centres that move less than this, relative to the variance, have settled.
const SETTLED: f64 = 1e-4;

/// The cluster of every point, a row each.
pub fn k_means(points: &Matrix, clusters: usize, seed: u32) -> Vec<usize> {
    let (n, d) = (points.rows(), points.cols());
    let mean: Vec<f64> = (0..d).map(|j| (0..n).map(|i| points.row(i)[j]).sum::<f64>() / n as f64).collect();
    let centred = (0..n).flat_map(|i| points.row(i).iter().zip(&mean).map(|(x, m)| x - m).collect::<Vec<_>>());
    let points = Matrix::from_rows(d, centred.collect());
    let mut centres = start(&points, clusters, &mut LegacyRandom::new(seed));
    let variance = points.as_slice().iter().map(|x| x * x).sum::<f64>() / (n * d) as f64;
    let mut labels = Vec::new();
    for _ in 0..ITERATIONS_MAX {
        let found = nearest(&points, &centres);
        let moved = means(&points, &found, &centres);
        let shift: f64 = (0..clusters).map(|c| square(moved.row(c), centres.row(c))).sum();
        let same = found == labels;
        (centres, labels) = (moved, found);
        if same {
            break;
        }
        if shift <= SETTLED * variance {
            return nearest(&points, &centres);
        }
    }
    labels
}

/// Every centre is the best of a few points drawn with chances that go with the squared distance from the centres before.
fn start(points: &Matrix, clusters: usize, random: &mut LegacyRandom) -> Matrix {
    let n = points.rows();
    let candidates = 2 + (clusters as f64).ln() as usize;
    let chances = cumulated(&vec![1.0 / n as f64; n]);
    let drawn = random.fraction() * chances[n - 1];
    let first = chances.partition_point(|c| *c <= drawn).min(n - 1);
    let mut chosen = vec![first];
    let mut away: Vec<f64> = (0..n).map(|i| square(points.row(first), points.row(i))).collect();
    while chosen.len() < clusters {
        let sums = cumulated(&away);
        let total: f64 = away.iter().sum();
        let values: Vec<f64> = (0..candidates).map(|_| random.fraction() * total).collect();
        let mut best = (f64::INFINITY, 0, Vec::new());
        for value in values {
            let i = sums.partition_point(|s| *s < value).min(n - 1);
            let left: Vec<f64> = (0..n).map(|j| away[j].min(square(points.row(i), points.row(j)))).collect();
            let potential: f64 = left.iter().sum();
            if potential < best.0 {
                best = (potential, i, left);
            }
        }
        chosen.push(best.1);
        away = best.2;
    }
    Matrix::from_rows(points.cols(), chosen.iter().flat_map(|&i| points.row(i).to_vec()).collect())
}

fn cumulated(values: &[f64]) -> Vec<f64> {
    let add = |sum: &mut f64, value: &f64| {
        *sum += value;
        Some(*sum)
    };
    values.iter().scan(0.0, add).collect()
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn nearest(points: &Matrix, centres: &Matrix) -> Vec<usize> {
    let distance = |i: usize, c: usize| square(points.row(i), centres.row(c));
    let of = |i: usize| (0..centres.rows()).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap_or(0);
    (0..points.rows()).map(of).collect()
}

/// The means of the clusters; one that lost all its points stays where it is.
fn means(points: &Matrix, labels: &[usize], centres: &Matrix) -> Matrix {
    let mut means = centres.clone();
    for c in 0..centres.rows() {
        let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == c).collect();
        if members.is_empty() {
            continue;
        }
        for (j, mean) in means.row_mut(c).iter_mut().enumerate() {
            *mean = members.iter().map(|&i| points.row(i)[j]).sum::<f64>() / members.len() as f64;
        }
    }
    means
}
