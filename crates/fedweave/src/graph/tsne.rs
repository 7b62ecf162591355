//! t-SNE (L. van der Maaten and G. Hinton, 2008): points in the plane whose neighbourhoods are those of high-dimensional rows.
//!
//! ```text
//! p_j|i ~ exp(-beta_i |x_i - x_j|^2) with perplexity fixed,  p_ij = (p_j|i + p_i|j) / 2n,  q_ij ~ 1 / (1 + |z_i - z_j|^2)
//! minimise KL(p || q) over z:   gradient_i = 4 sum_j (p_ij - q_ij) (z_i - z_j) / (1 + |z_i - z_j|^2)
//! ```
//!
//! `p` is kept for the `3 x perplexity` nearest rows only; repulsion is exact, so a round costs `n^2`: for some thousand rows.
//! Everything is summed in a fixed order: the same seed gives the same picture on any number of threads.

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::{Matrix, dot};
use crate::random::{Purpose, stream};

/// How to embed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TsneOptions {
    /// Neighbours that count, about. Default 30.
    pub perplexity: f64,
    /// Gradient steps. Default 500; the first quarter (at most 250) with attraction exaggerated twelvefold.
    pub steps: usize,
    /// Start positions follow from it. Default 0.
    pub seed: u64,
}

impl Default for TsneOptions {
    fn default() -> Self {
        TsneOptions { perplexity: 30.0, steps: 500, seed: 0 }
    }
}

const EXAGGERATION: f64 = 12.0;

/// Attractions: who is near whom, and `p_ij`.
struct Near {
    offsets: Vec<usize>,
    index: Vec<u32>,
    p: Vec<f64>,
}

/// A point in the plane for every row of `x`.
pub fn tsne(x: &Matrix, options: &TsneOptions) -> Result<Matrix> {
    let n = x.rows();
    let k = (3.0 * options.perplexity).ceil() as usize;
    if !(options.perplexity >= 1.0 && k < n) {
        let needs = "at least 1 and below a third of the number of rows";
        return Err(Error::Parameter { name: "perplexity", value: options.perplexity, needs });
    }
    if let Some(at) = x.as_slice().iter().position(|v| !v.is_finite()) {
        return Err(Error::NotFinite { row: at / x.cols(), what: format!("feature {}", at % x.cols()) });
    }
    let near = attractions(x, k, options.perplexity);
    let mut rng = stream(options.seed, Purpose::Coordinates, 0);
    let mut z = Matrix::from_rows(2, (0..2 * n).map(|_| 1e-4 * rng.sample::<f64, _>(StandardNormal)).collect());
    let (mut speed, mut gains, mut slope) = (vec![0.0; 2 * n], vec![1.0f64; 2 * n], vec![0.0; 2 * n]);
    let early = (options.steps / 4).min(250);
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    for step in 0..options.steps {
        let (exaggeration, momentum) = if step < early { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        gradient(&near, exaggeration, &z, &mut slope);
        for (((z, v), gain), g) in z.as_mut_slice().iter_mut().zip(&mut speed).zip(&mut gains).zip(&slope) {
            // Steps grow along slopes that keep their sign (R. Jacobs, 1988).
            *gain = if (*g > 0.0) == (*v > 0.0) { (*gain * 0.8).max(0.01) } else { *gain + 0.2 };
            *v = momentum * *v - rate * *gain * g;
            *z += *v;
        }
    }
    Ok(z)
}

/// The `k` nearest rows of every row, with symmetric probabilities.
fn attractions(x: &Matrix, k: usize, perplexity: f64) -> Near {
    let n = x.rows();
    let squares: Vec<f64> = (0..n).map(|i| dot(x.row(i), x.row(i))).collect();
    let one_way: Vec<Vec<(u32, f64)>> = (0..n)
        .into_par_iter()
        .map(|i| {
            let distance = |j: usize| (squares[i] + squares[j] - 2.0 * dot(x.row(i), x.row(j))).max(0.0);
            let mut all: Vec<(f64, u32)> = (0..n).filter(|&j| j != i).map(|j| (distance(j), j as u32)).collect();
            all.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.truncate(k);
            all.sort_by_key(|a| a.1);
            let p = conditional(&all.iter().map(|a| a.0).collect::<Vec<_>>(), perplexity);
            all.iter().zip(p).map(|(a, p)| (a.1, p)).collect()
        })
        .collect();
    let mut pairs: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * n * k);
    for (i, row) in one_way.iter().enumerate() {
        for &(j, p) in row {
            pairs.push((i as u32, j, 0.5 * p / n as f64));
            pairs.push((j, i as u32, 0.5 * p / n as f64));
        }
    }
    pairs.sort_by_key(|p| (p.0, p.1));
    let (mut offsets, mut index, mut p) = (vec![0; n + 1], Vec::new(), Vec::<f64>::new());
    let mut last = None;
    for (i, j, value) in pairs {
        match last == Some((i, j)) {
            true => *p.last_mut().expect("a pair came before") += value,
            false => {
                index.push(j);
                p.push(value);
                offsets[i as usize + 1] += 1;
            }
        }
        last = Some((i, j));
    }
    (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
    Near { offsets, index, p }
}

/// `p_j|i` with the given perplexity, by bisection on the logarithm of the precision.
fn conditional(distances: &[f64], perplexity: f64) -> Vec<f64> {
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = distances.iter().map(|d| d - nearest).sum::<f64>() / distances.len() as f64;
    let weights = |beta: f64| distances.iter().map(|d| (-(d - nearest) * beta).exp()).collect::<Vec<f64>>();
    let normalised = |mut w: Vec<f64>| {
        let total: f64 = w.iter().sum();
        w.iter_mut().for_each(|w| *w /= total);
        w
    };
    if mean <= 0.0 {
        return normalised(weights(0.0));
    }
    let (mut low, mut high) = ((1e-8 / mean).ln(), (1e8 / mean).ln());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let p = normalised(weights(middle.exp()));
        let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        if entropy > perplexity.ln() { low = middle } else { high = middle }
    }
    normalised(weights((0.5 * (low + high)).exp()))
}

/// `slope <-` the gradient of KL with `p` exaggerated.
fn gradient(near: &Near, exaggeration: f64, z: &Matrix, slope: &mut [f64]) {
    let n = z.rows();
    // The sum of 1 / (1 + |z_i - z_j|^2) over j, and of its square times the difference.
    let repulsion: Vec<[f64; 3]> = (0..n)
        .into_par_iter()
        .with_min_len(64)
        .map(|i| {
            let (a, b) = (z.row(i)[0], z.row(i)[1]);
            let mut sums = [-1.0, 0.0, 0.0]; // without i itself, which adds 1
            for other in z.as_slice().chunks_exact(2) {
                let (s, t) = (a - other[0], b - other[1]);
                let q = 1.0 / (1.0 + s * s + t * t);
                sums[0] += q;
                sums[1] += q * q * s;
                sums[2] += q * q * t;
            }
            sums
        })
        .collect();
    let total: f64 = repulsion.iter().map(|r| r[0]).sum();
    slope.par_chunks_exact_mut(2).enumerate().with_min_len(64).for_each(|(i, out)| {
        let (a, b) = (z.row(i)[0], z.row(i)[1]);
        let mut pull = [0.0; 2];
        for e in near.offsets[i]..near.offsets[i + 1] {
            let other = z.row(near.index[e] as usize);
            let (s, t) = (a - other[0], b - other[1]);
            let p = exaggeration * near.p[e] / (1.0 + s * s + t * t);
            pull[0] += p * s;
            pull[1] += p * t;
        }
        out[0] = 4.0 * (pull[0] - repulsion[i][1] / total);
        out[1] = 4.0 * (pull[1] - repulsion[i][2] / total);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(per: usize, seed: u64) -> Matrix {
        let mut rng = stream(seed, Purpose::Points, 0);
        let entry = |r: usize, c: usize| if c == r / per { 12.0 } else { 0.0 };
        let noise: Vec<f64> = (0..3 * per * 8).map(|_| rng.sample(StandardNormal)).collect();
        Matrix::from_rows(8, (0..3 * per * 8).map(|k| entry(k / 8, k % 8) + noise[k]).collect())
    }

    /// KL by its definition, over all pairs.
    fn objective(near: &Near, z: &Matrix) -> f64 {
        let q = |i: usize, j: usize| {
            let t = [z.row(i)[0] - z.row(j)[0], z.row(i)[1] - z.row(j)[1]];
            1.0 / (1.0 + dot(&t, &t))
        };
        let n = z.rows();
        let total: f64 =
            (0..n).flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j))).map(|(i, j)| q(i, j)).sum();
        let term = |i: usize, e: usize| near.p[e] * (near.p[e] / (q(i, near.index[e] as usize) / total)).ln();
        (0..n).map(|i| (near.offsets[i]..near.offsets[i + 1]).map(|e| term(i, e)).sum::<f64>()).sum()
    }

    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        let x = blobs(10, 4);
        let near = attractions(&x, 9, 3.0);
        assert!((near.p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut rng = stream(1, Purpose::Points, 1);
        let mut z = Matrix::from_rows(2, (0..60).map(|_| rng.sample(StandardNormal)).collect());
        let mut slope = vec![0.0; 60];
        gradient(&near, 1.0, &z, &mut slope);
        for k in 0..60 {
            let mut at = |h: f64| {
                z.as_mut_slice()[k] += h;
                let value = objective(&near, &z);
                z.as_mut_slice()[k] -= h;
                value
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - slope[k]).abs() < 1e-6, "{difference} {}", slope[k]);
        }
    }

    #[test]
    fn perplexities_are_met_and_blobs_stay_apart() {
        let p = conditional(&[1.0, 2.0, 3.0, 5.0, 8.0, 9.0], 3.0);
        let entropy: f64 = p.iter().map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 3.0).abs() < 1e-6);
        let x = blobs(50, 1);
        let options = TsneOptions { perplexity: 10.0, steps: 300, seed: 2 };
        let z = tsne(&x, &options).unwrap();
        let gap = |i: usize, j: usize| (0..2).map(|c| (z.row(i)[c] - z.row(j)[c]).powi(2)).sum::<f64>();
        let nearest = |i: usize| (0..150).filter(|&j| j != i).min_by(|&a, &b| gap(i, a).total_cmp(&gap(i, b))).unwrap();
        assert!((0..150).all(|i| nearest(i) / 50 == i / 50));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| tsne(&x, &options)).unwrap(), z, "on any number of threads");
        assert!(tsne(&x, &TsneOptions { perplexity: 50.0, ..options }).is_err());
        assert!(tsne(&Matrix::from_rows(1, vec![f64::NAN; 200]), &options).is_err());
    }
}
