//! One row given the rows around it: a small Gaussian vector whose last entry is the row in question.
//!
//! With `A` the covariance of the others (noise included), `k` theirs with the row, `w = A^-1 k` and `z = A^-1 r`, the row has
//! mean `k'z` and variance `k_0 - k'w`. The gradient of its log-density needs only `w` and `z`:
//!
//! ```text
//! d mean = dk'z - w'dA z,      d variance = dk_0 - 2 dk'w + w'dA w
//! ```

use super::kernel::{Kernel, Layout, PARTS, Pair};
use crate::linalg::cholesky::{factor, packed_len, row, solve};
use crate::matrix::dot;

/// The pairs of a row and its neighbours, as a packed lower triangle with the row last, and the neighbours' residuals.
#[derive(Debug, Clone)]
pub struct Patch {
    /// What the covariances depend on.
    pub pairs: Vec<Pair>,
    /// Residuals of the neighbours.
    pub others: Vec<f64>,
}

/// Mean and variance of the last row without its own noise.
#[derive(Debug, Clone, Copy)]
pub struct Conditional {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
}

/// Buffers for one patch after another.
#[derive(Default)]
pub struct Work {
    parts: Vec<[f64; PARTS]>,
    factor: Vec<f64>,
    k: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
}

impl Patch {
    /// The shock of the last row, given its neighbours.
    pub fn shock(&self, kernel: &Kernel, work: &mut Work) -> Conditional {
        let residual = self.condition(kernel, work);
        Conditional { mean: residual.mean, variance: (residual.variance - kernel.noise).max(0.0) }
    }

    /// Minus the log-density of the residual `value` of the last row.
    pub fn loss(&self, kernel: &Kernel, value: f64, work: &mut Work) -> f64 {
        let Conditional { mean, variance } = self.condition(kernel, work);
        let error = value - mean;
        0.5 * ((std::f64::consts::TAU * variance).ln() + error * error / variance)
    }

    /// The same, and its gradient added to `gradient`.
    pub fn loss_and_gradient(
        &self,
        layout: &Layout,
        kernel: &Kernel,
        value: f64,
        work: &mut Work,
        gradient: &mut [f64],
    ) -> f64 {
        let loss = self.loss(kernel, value, work);
        let m = self.others.len();
        // The pivot is the reciprocal of the deviation of the row given the others.
        let pivot = row(&work.factor, m)[m];
        let variance = 1.0 / (pivot * pivot);
        let error = value - dot(&work.z, &work.k);
        work.w.clone_from(&work.k);
        solve(&work.factor[..packed_len(m)], &mut work.w);
        let by_mean = -error / variance;
        let by_variance = 0.5 * (1.0 - error * error / variance) / variance;
        let (w, z) = (&work.w, &work.z);
        let weight = |p: usize, q: usize| match (p == m, q == m) {
            (true, true) => by_variance,
            (true, false) => -2.0 * by_variance * w[q] + by_mean * z[q],
            _ if p == q => by_variance * w[p] * w[p] - by_mean * w[p] * z[p],
            _ => 2.0 * by_variance * w[p] * w[q] - by_mean * (w[p] * z[q] + w[q] * z[p]),
        };
        let (mut at, mut diagonal) = (0, 0.0);
        for p in 0..=m {
            for q in 0..=p {
                layout.add_gradient(kernel, &self.pairs[at], &work.parts[at], weight(p, q), gradient);
                at += 1;
            }
            diagonal += weight(p, p);
        }
        gradient[layout.len() - 1] += diagonal * kernel.noise;
        loss
    }

    /// Factors the covariance; leaves `k` and `z` behind. The variance includes the noise of the row.
    fn condition(&self, kernel: &Kernel, work: &mut Work) -> Conditional {
        let m = self.others.len();
        work.parts.clear();
        work.parts.extend(self.pairs.iter().map(|pair| kernel.parts(pair)));
        work.factor.clear();
        work.factor.extend(work.parts.iter().map(total));
        (0..=m).for_each(|p| work.factor[packed_len(p) + p] += kernel.noise);
        work.k.clear();
        work.k.extend(&row(&work.factor, m)[..m]);
        factor(&mut work.factor, m + 1);
        work.z.clear();
        work.z.extend(&self.others);
        solve(&work.factor[..packed_len(m)], &mut work.z);
        let pivot = row(&work.factor, m)[m];
        Conditional { mean: dot(&work.z, &work.k), variance: 1.0 / (pivot * pivot) }
    }
}

fn total(parts: &[f64; PARTS]) -> f64 {
    parts.iter().sum()
}
