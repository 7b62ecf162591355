//! One model per cluster, where nobody knows the clusters: they are found from the local models, from the graph, or by which
//! model suits whom; then every cluster fits one model to the rows of its nodes.
//!
//! | | clusters |
//! |---|---|
//! | k-means | of local ridge models, in units of what they change in predictions |
//! | mixture | Gaussian, with one diagonal covariance, of the same |
//! | spectral | k-means of the first eigenvectors of the graph's normalised Laplacian |
//! | ifca | every node joins the model with the smallest loss on its rows, until nobody moves; starts from models of nodes |

mod k_means;
mod mixture;
mod spectral;

use crate::baseline::{local, oracle};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{Family, LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};
use k_means::k_means;
pub use spectral::embedding;

/// How often nodes choose anew, and from how many starts.
const CHOICES_MAX: usize = 30;
const STARTS: usize = 3;

/// A way to find clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Clustering {
    KMeans,
    Mixture,
    Spectral,
    Ifca,
}

/// What clusters are looked for in.
pub struct ClusterSearch<'a> {
    /// The loss of all nodes.
    pub family: Family,
    /// Its options.
    pub options: LossOptions,
    /// A row of [`embedding`] per node, for spectral clusters.
    pub embedding: &'a Matrix,
    /// Of the starts.
    pub seed: u64,
}

impl Clustering {
    /// All of them.
    pub const ALL: [Clustering; 4] = [Clustering::KMeans, Clustering::Mixture, Clustering::Spectral, Clustering::Ifca];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Clustering::KMeans => "k-means",
            Clustering::Mixture => "mixture",
            Clustering::Spectral => "spectral",
            Clustering::Ifca => "ifca",
        }
    }
}

impl ClusterSearch<'_> {
    /// The cluster of every node, `0..k`. Nodes without rows go with the majority, but where the graph decides.
    pub fn find(&self, how: Clustering, k: usize, rows: &Dataset) -> Result<Vec<usize>> {
        if how == Clustering::Spectral {
            let first = |i: usize| self.embedding.row(i)[..k.min(self.embedding.cols())].to_vec();
            let dim = k.min(self.embedding.cols());
            let points = Matrix::from_rows(dim, (0..rows.nodes()).flat_map(first).collect());
            return Ok(k_means(&points, k, self.seed));
        }
        let models = local(&LossSpec::Same(self.family), rows.clone(), &self.options)?;
        let seen: Vec<usize> = (0..rows.nodes()).filter(|&i| !rows.rows(i).is_empty()).collect();
        let found = match how {
            Clustering::Ifca => self.choose(k, rows, &models, &seen)?,
            _ => {
                let points = self.in_predictions(rows, &models, &seen);
                match how {
                    Clustering::Mixture => mixture::clusters(&points, k, self.seed),
                    _ => k_means(&points, k, self.seed),
                }
            }
        };
        let mut size = vec![0; k];
        found.iter().for_each(|&c| size[c] += 1);
        let majority = (0..k).rev().max_by_key(|&c| size[c]).unwrap_or(0);
        let mut cluster = vec![majority; rows.nodes()];
        seen.iter().zip(found).for_each(|(&i, c)| cluster[i] = c);
        Ok(cluster)
    }

    /// One model per cluster, a row per node.
    pub fn models(&self, how: Clustering, k: usize, rows: &Dataset) -> Result<Matrix> {
        oracle(self.family, rows, &self.find(how, k, rows)?, &self.options)
    }

    /// Parameters times the size of what they are multiplied with.
    fn in_predictions(&self, rows: &Dataset, models: &Matrix, seen: &[usize]) -> Matrix {
        let mut square = vec![0.0; rows.dim()];
        (0..rows.len()).for_each(|r| square.iter_mut().zip(rows.x(r)).for_each(|(s, x)| *s += x * x));
        let size: Vec<f64> = square.iter().map(|s| (s / rows.len().max(1) as f64).sqrt()).collect();
        let of = |&i: &usize| models.row(i).iter().zip(size.iter().cycle()).map(|(w, s)| w * s).collect::<Vec<_>>();
        Matrix::from_rows(models.cols(), seen.iter().flat_map(of).collect())
    }

    /// Nodes choose, clusters fit, and again; the start with the smallest loss counts.
    fn choose(&self, k: usize, rows: &Dataset, models: &Matrix, seen: &[usize]) -> Result<Vec<usize>> {
        let loss = self.family.build(rows.clone(), &self.options)?;
        let mut best = (f64::INFINITY, vec![0; seen.len()]);
        for start in 0..STARTS {
            let mut random = stream(self.seed, Purpose::StartModels, start);
            let drawn = rand::seq::index::sample(&mut random, seen.len(), k.min(seen.len()));
            let mut centres: Vec<Vec<f64>> = drawn.iter().map(|place| models.row(seen[place]).to_vec()).collect();
            let (mut choice, mut total) = (vec![usize::MAX; seen.len()], f64::INFINITY);
            for _ in 0..CHOICES_MAX {
                let cheapest = |&i: &usize| {
                    let value = |c: usize| loss.value(i, &centres[c]);
                    let c = (0..centres.len()).min_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(0);
                    (c, value(c))
                };
                let now: Vec<(usize, f64)> = seen.iter().map(cheapest).collect();
                total = now.iter().map(|(_, value)| value).sum();
                let next: Vec<usize> = now.into_iter().map(|(c, _)| c).collect();
                if next == choice {
                    break;
                }
                choice = next;
                let mut everybody = vec![0; rows.nodes()];
                seen.iter().zip(&choice).for_each(|(&i, &c)| everybody[i] = c);
                let fitted = oracle(self.family, rows, &everybody, &self.options)?;
                for (&i, &c) in seen.iter().zip(&choice) {
                    centres[c].copy_from_slice(fitted.row(i));
                }
            }
            if total < best.0 {
                best = (total, choice);
            }
        }
        Ok(best.1)
    }
}

#[cfg(test)]
mod tests;
