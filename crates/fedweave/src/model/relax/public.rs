//! Public rows where nobody gave any.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::PublicRows;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

/// Public rows of a node, as in the paper.
pub const PUBLIC_ROWS: usize = 100;
/// Nodes with fewer rows share no summary: the mean of one row is that row. Theirs is the mean of the others' summaries.
pub const SUMMARY_ROWS_MIN: usize = 5;

/// What public rows are drawn from, feature by feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PublicSource {
    /// Standard normal, as in the paper: for features that are.
    Normal,
    /// Normal with the mean and the standard deviation that each node agrees to share.
    #[default]
    Moments,
    /// Uniform between the smallest and the largest value that each node agrees to share.
    Range,
}

impl PublicSource {
    /// Sources by name, the default first.
    pub const NAMES: [(&'static str, PublicSource); 3] =
        [("moments", PublicSource::Moments), ("range", PublicSource::Range), ("normal", PublicSource::Normal)];

    /// What is drawn for the nodes of `data`, in words: whoever shares something should know.
    pub fn describe(self, data: &Dataset, rows: usize) -> String {
        let few = (0..data.nodes()).filter(|&i| data.rows(i).len() < SUMMARY_ROWS_MIN).count();
        let share = match (self, few) {
            (PublicSource::Normal, _) | (_, 0) => String::new(),
            (_, few) => format!(
                "; nodes with fewer than {SUMMARY_ROWS_MIN} rows ({few}) share nothing and use the mean of the others"
            ),
        };
        format!("{rows} public rows a node, drawn from {}{share}", self.words())
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            PublicSource::Normal => "standard normal numbers",
            PublicSource::Moments => "normal numbers with the mean and deviation of each feature that nodes share",
            PublicSource::Range => {
                "uniform numbers between the smallest and largest value of each feature that nodes share"
            }
        }
    }
}

/// Draws `rows` public rows for every node.
pub fn sample_public(data: &Dataset, source: PublicSource, rows: usize, seed: u64) -> Result<Vec<PublicRows>> {
    let (n, d) = (data.nodes(), data.dim());
    if rows == 0 {
        return Err(Error::Parameter { name: "public rows", value: 0.0, needs: "at least 1" });
    }
    let own: Vec<Option<Vec<[f64; 2]>>> = (0..n).map(|i| summary(data, source, i)).collect();
    let shared: Vec<&Vec<[f64; 2]>> = own.iter().flatten().collect();
    if shared.is_empty() {
        return Err(Error::Method {
            method: "public rows from summaries",
            needs: "a node with at least 5 rows; give public rows, or draw standard normal ones",
        });
    }
    let mean = |j: usize, k: usize| shared.iter().map(|s| s[j][k]).sum::<f64>() / shared.len() as f64;
    let common: Vec<[f64; 2]> = (0..d).map(|j| [mean(j, 0), mean(j, 1)]).collect();
    let draw = |i: usize| {
        let (of, mut rng) = (own[i].as_ref().unwrap_or(&common), stream(seed, Purpose::SharedRows, i));
        let mut x = Matrix::zeros(rows, d);
        for entry in x.as_mut_slice().chunks_exact_mut(d).flat_map(|row| row.iter_mut().zip(of)) {
            let (value, [a, b]) = entry;
            *value = match source {
                PublicSource::Range => a + (b - a) * rng.random::<f64>(),
                _ => a + b * rng.sample::<f64, _>(StandardNormal),
            };
        }
        PublicRows::new(x)
    };
    (0..n).map(draw).collect()
}

/// Mean and deviation, or smallest and largest value, of every feature; `None` if the node has too few rows to say so.
fn summary(data: &Dataset, source: PublicSource, node: usize) -> Option<Vec<[f64; 2]>> {
    let (d, rows) = (data.dim(), data.rows(node));
    if source == PublicSource::Normal {
        return Some(vec![[0.0, 1.0]; d]);
    }
    if rows.len() < SUMMARY_ROWS_MIN {
        return None;
    }
    let m = rows.len() as f64;
    let of = |j: usize| {
        let values = rows.clone().map(|r| data.x(r)[j]);
        match source {
            PublicSource::Range => {
                [values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max)]
            }
            _ => {
                let mean = values.clone().sum::<f64>() / m;
                [mean, (values.map(|v| (v - mean).powi(2)).sum::<f64>() / (m - 1.0)).sqrt()]
            }
        }
    };
    Some((0..d).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Options, generate};

    #[test]
    fn rows_have_the_summaries_of_their_node_and_small_nodes_share_none() {
        let made =
            generate(&Options { nodes: 6, clusters: 1, rows: 40, dim: 3, skew: 5.0, ..Options::default() }).unwrap();
        // Node 0 keeps one row.
        let keep: Vec<bool> = (0..made.data.len()).map(|r| r == 0 || r >= 40).collect();
        let data = made.data.select(&keep);
        let public = sample_public(&data, PublicSource::Moments, 2000, 1).unwrap();
        let mean = |i: usize, j: usize| (0..2000).map(|r| public[i].x().row(r)[j]).sum::<f64>() / 2000.0;
        let local = |i: usize, j: usize| data.rows(i).map(|r| data.x(r)[j]).sum::<f64>() / data.rows(i).len() as f64;
        for j in 0..3 {
            (1..6).for_each(|i| assert!((mean(i, j) - local(i, j)).abs() < 0.15));
            let common = (1..6).map(|i| local(i, j)).sum::<f64>() / 5.0;
            assert!((mean(0, j) - common).abs() < 0.15, "the one row of node 0 is not given away");
        }
        let range = sample_public(&data, PublicSource::Range, 50, 1).unwrap();
        for row in data.rows(1).take(1).flat_map(|_| 0..50) {
            let (low, high) = (0..40)
                .map(|r| data.x(data.rows(1).start + r)[0])
                .fold((9e9, -9e9), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
            assert!((low..=high).contains(&range[1].x().row(row)[0]));
        }
        let tiny = data.select(&(0..data.len()).map(|r| r < 3).collect::<Vec<_>>());
        assert!(sample_public(&tiny, PublicSource::Moments, 5, 1).is_err());
        assert!(sample_public(&tiny, PublicSource::Normal, 5, 1).is_ok());
        assert!(sample_public(&data, PublicSource::Normal, 0, 1).is_err());
    }
}
