//! Rivals that pool the rows of clusters: how many clusters, and with which ridge, is chosen on the rows that all methods choose by.

use super::{Comparison, Judged, Parts, Rival};
use crate::baseline::{ClusterSearch, Clustering, embedding};
use crate::dataset::Dataset;
use crate::graph::Graph;

/// Numbers of clusters that are tried; one is the global model.
const COUNTS: [usize; 5] = [2, 3, 4, 6, 10];

impl Comparison<'_> {
    /// One rival for every way to find clusters; one that cannot be fitted is left out.
    pub(super) fn run_clustered(&self, graph: &Graph, parts: &Parts, seed: u64) -> Vec<Rival> {
        let most = COUNTS[COUNTS.len() - 1];
        let embedding = if graph.edges() > 0 { Some(embedding(graph, most)) } else { None };
        let ways = Clustering::ALL.into_iter().filter(|how| *how != Clustering::Spectral || embedding.is_some());
        let none = crate::matrix::Matrix::zeros(graph.nodes(), 0);
        let embedding = embedding.as_ref().unwrap_or(&none);
        let judged = |how: Clustering| {
            let of = |k: usize| {
                let models = |rows: &Dataset, ridge: f64| {
                    let search = ClusterSearch { family: self.family, options: self.with(ridge), embedding, seed };
                    search.models(how, k, rows)
                };
                self.alone(parts, models).ok().map(|judged| (k, judged))
            };
            let tried = COUNTS.into_iter().filter(|k| *k < graph.nodes()).filter_map(of);
            let better = |a: (usize, Judged), b: (usize, Judged)| if b.1.validation < a.1.validation { b } else { a };
            let (k, best) = tried.reduce(better)?;
            let chosen = format!("{k} clusters, ridge {}", best.ridge);
            Some(Rival { name: how.name(), test: best.test, confusion: best.confusion, chosen })
        };
        ways.filter_map(judged).collect()
    }
}
