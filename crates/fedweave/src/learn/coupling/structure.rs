//! Which coefficients vary between nodes, and together with which: the parameters of the covariance.

use super::dense::{eigen, product, semi_cholesky, transposed};
use super::system::Root;

/// The form of the covariance `D` of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Structure {
    /// Only the intercept varies; all other coefficients are shared.
    Intercept,
    /// Every coefficient varies on its own.
    Diagonal,
    /// Every coefficient varies on its own, and this many directions in common (a low-rank term).
    LowRank(usize),
    /// Any covariance.
    Full,
}

/// Directions in common that are looked for where a full covariance has too many numbers.
const RANK_MOST: usize = 3;

impl Structure {
    /// The low-rank structure that so many nodes can tell, of at most three directions; `None` if there is none with fewer numbers
    /// than the full one.
    pub fn low_rank(d: usize, nodes: usize) -> Option<Structure> {
        let ranks = (1..=RANK_MOST.min(d.saturating_sub(2))).rev().map(Structure::LowRank);
        ranks.into_iter().find(|s| s.numbers(d) <= nodes && s.numbers(d) < Structure::Full.numbers(d))
    }

    /// Name, as in a summary.
    pub fn name(self) -> String {
        match self {
            Structure::Intercept => "intercept".into(),
            Structure::Diagonal => "diagonal".into(),
            Structure::LowRank(rank) => format!("diagonal and rank {rank}"),
            Structure::Full => "full".into(),
        }
    }

    /// Free numbers in `D` for models with `d` parameters.
    pub fn numbers(self, d: usize) -> usize {
        match self {
            Structure::Intercept => 1,
            Structure::Diagonal => d,
            // A rotation of the directions changes nothing.
            Structure::LowRank(rank) => d + rank * d - rank * (rank - 1) / 2,
            Structure::Full => d * (d + 1) / 2,
        }
    }

    /// Columns of the square root.
    pub fn columns(self, d: usize) -> usize {
        if self == Structure::Intercept { 1 } else { d }
    }
}

/// A square root of the covariance as a function of free parameters, all of which are about 1 in size.
#[derive(Debug, Clone)]
pub enum Shape {
    /// `Lambda_jk = base_jk x_k` with one entry per column.
    Diagonal {
        /// `Lambda` where all parameters are 1.
        base: Root,
        /// Row of the entry of each column.
        rows: Vec<usize>,
    },
    /// `Lambda = base M` with a lower triangular `M`.
    Full {
        /// `Lambda` where `M` is the identity.
        base: Root,
    },
    /// `Lambda Lambda' = diag(scale x)^2 + (scale F)(scale F)'`.
    LowRank {
        /// Units of the parameters.
        scale: Vec<f64>,
        /// Columns of `F`.
        rank: usize,
    },
}

/// Smallest share of a variance that a low-rank shape leaves to a coefficient alone: its root must have an inverse.
const ALONE_MIN: f64 = 1e-6;

impl Shape {
    /// The shape of a structure around a covariance, and the parameters of that covariance.
    pub fn around(structure: Structure, covariance: &[f64], d: usize) -> (Self, Vec<f64>) {
        match structure {
            Structure::Intercept => Self::diagonal(covariance, d, vec![d - 1]),
            Structure::Diagonal => Self::diagonal(covariance, d, (0..d).collect()),
            Structure::Full => {
                let base = Root { d, p: d, entries: semi_cholesky(covariance, d) };
                let x = lower(d).map(|(a, b)| if a == b { 1.0 } else { 0.0 }).collect();
                (Shape::Full { base }, x)
            }
            Structure::LowRank(rank) => Self::low_rank(covariance, d, rank),
        }
    }

    fn diagonal(covariance: &[f64], d: usize, rows: Vec<usize>) -> (Self, Vec<f64>) {
        let p = rows.len();
        let mut base = Root { d, p, entries: vec![0.0; d * p] };
        rows.iter().enumerate().for_each(|(k, &j)| base.entries[j * p + k] = covariance[j * d + j].sqrt());
        (Shape::Diagonal { base, rows }, vec![1.0; p])
    }

    /// The leading directions of the correlations.
    fn low_rank(covariance: &[f64], d: usize, rank: usize) -> (Self, Vec<f64>) {
        let scale: Vec<f64> = (0..d).map(|j| covariance[j * d + j].sqrt()).collect();
        let unit = |j: usize| if scale[j] > 0.0 { scale[j] } else { 1.0 };
        let correlation: Vec<f64> = (0..d * d).map(|k| covariance[k] / (unit(k / d) * unit(k % d))).collect();
        let (values, vectors) = eigen(&correlation, d).unwrap_or((vec![0.0; d], vec![0.0; d * d]));
        let mut factors = vec![0.0; d * rank];
        for k in 0..rank.min(d) {
            // Not quite zero even without any correlation: the likelihood has no slope there.
            let size = (values[d - 1 - k] - 1.0).max(0.1).sqrt();
            (0..d).for_each(|j| factors[j * rank + k] = size * vectors[(d - 1 - k) * d + j]);
        }
        let alone = |j: usize| {
            let common: f64 = factors[j * rank..(j + 1) * rank].iter().map(|f| f * f).sum();
            (1.0 - common).max(0.1).sqrt()
        };
        let x = (0..d).map(alone).chain(factors.iter().copied()).collect();
        (Shape::LowRank { scale, rank }, x)
    }

    /// `Lambda`.
    pub fn root(&self, x: &[f64]) -> Root {
        match self {
            Shape::Diagonal { base, rows } => {
                let mut root = base.clone();
                rows.iter().enumerate().for_each(|(k, &j)| root.entries[j * base.p + k] *= x[k]);
                root
            }
            Shape::Full { base } => {
                let d = base.d;
                let mut m = vec![0.0; d * d];
                lower(d).zip(x).for_each(|((a, b), x)| m[a * d + b] = *x);
                Root { entries: product(&base.entries, &m, d, d, d), ..*base }
            }
            Shape::LowRank { scale, .. } => {
                let d = scale.len();
                Root { d, p: d, entries: semi_cholesky(&self.low_rank_covariance(x), d) }
            }
        }
    }

    fn low_rank_covariance(&self, x: &[f64]) -> Vec<f64> {
        let Shape::LowRank { scale, rank } = self else { unreachable!("asked for low-rank shapes only") };
        let d = scale.len();
        let (alone, factors) = x.split_at(d);
        let mut c = product(factors, &transposed(factors, d, *rank), d, *rank, d);
        (0..d).for_each(|j| c[j * d + j] += alone[j] * alone[j] + ALONE_MIN * (1.0 + c[j * d + j]));
        (0..d * d).map(|k| c[k] * scale[k / d] * scale[k % d]).collect()
    }

    /// Derivatives by the parameters from those by `Lambda`.
    pub fn slopes(&self, x: &[f64], root: &Root, by_root: &[f64]) -> Vec<f64> {
        match self {
            Shape::Diagonal { base, rows } => {
                let p = base.p;
                rows.iter().enumerate().map(|(k, &j)| by_root[j * p + k] * base.entries[j * p + k]).collect()
            }
            Shape::Full { base } => {
                let d = base.d;
                let by_m = product(&transposed(&base.entries, d, d), by_root, d, d, d);
                lower(d).map(|(a, b)| by_m[a * d + b]).collect()
            }
            Shape::LowRank { scale, rank } => low_rank_slopes(scale, *rank, x, root, by_root),
        }
    }
}

/// With `D = Lambda Lambda'`, derivatives by `Lambda` are `2 Gamma Lambda`, those by `F` `2 Gamma F`.
fn low_rank_slopes(scale: &[f64], rank: usize, x: &[f64], root: &Root, by_root: &[f64]) -> Vec<f64> {
    let d = scale.len();
    let mut twice_gamma = solve_right(by_root, &root.entries, d);
    for (a, b) in (0..d * d).map(|k| (k / d, k % d)).filter(|(a, b)| a < b) {
        let mean = 0.5 * (twice_gamma[a * d + b] + twice_gamma[b * d + a]);
        (twice_gamma[a * d + b], twice_gamma[b * d + a]) = (mean, mean);
    }
    (0..d * d).for_each(|k| twice_gamma[k] *= scale[k / d] * scale[k % d]);
    let (alone, factors) = x.split_at(d);
    let mut by_factors = product(&twice_gamma, factors, d, d, rank);
    for j in 0..d {
        let own = ALONE_MIN * twice_gamma[j * d + j];
        (0..rank).for_each(|k| by_factors[j * rank + k] += own * factors[j * rank + k]);
    }
    (0..d).map(|j| twice_gamma[j * d + j] * alone[j]).chain(by_factors).collect()
}

/// `B L^-1` for a lower triangular `L`.
fn solve_right(b: &[f64], l: &[f64], d: usize) -> Vec<f64> {
    let mut x = b.to_vec();
    for row in x.chunks_exact_mut(d) {
        for j in (0..d).rev() {
            let later: f64 = (j + 1..d).map(|k| row[k] * l[k * d + j]).sum();
            row[j] = if l[j * d + j] > 0.0 { (row[j] - later) / l[j * d + j] } else { 0.0 };
        }
    }
    x
}

/// Places of a lower triangle.
fn lower(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(|a| (0..=a).map(move |b| (a, b)))
}

impl Root {
    /// `Lambda Lambda'`.
    pub fn covariance(&self) -> Vec<f64> {
        product(&self.entries, &transposed(&self.entries, self.d, self.p), self.d, self.p, self.d)
    }
}
