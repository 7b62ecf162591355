//! How much models hang on the rows, nodes and edges that happened to be there.
//!
//! A fit is repeated with something drawn anew, and compared with the first one: what is drawn is here, and how two fits compare.
//! Every repetition has a random stream of its own, so results do not depend on how repetitions are spread over threads.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::dataset::Dataset;
use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::matrix::{Matrix, dot, norm2};
use crate::random::{Purpose, stream};

/// What is drawn anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stress {
    /// The rows of every node, as many as it has, with replacement.
    Rows,
    /// A share of the nodes leaves, with rows and edges.
    Nodes,
    /// Every weight of an edge is multiplied by `exp(spread z)`, `z` standard normal.
    Weights,
    /// Noise is added to the labels: `spread` times the deviation of what the models leave.
    Labels,
}

impl Stress {
    /// All of them.
    pub const ALL: [Stress; 4] = [Stress::Rows, Stress::Nodes, Stress::Weights, Stress::Labels];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Stress::Rows => "rows",
            Stress::Nodes => "nodes",
            Stress::Weights => "weights",
            Stress::Labels => "labels",
        }
    }
}

/// The stream of repetition `run` of one kind.
fn draws(seed: u64, kind: Stress, run: usize) -> impl rand::Rng {
    stream(seed, Purpose::Stress, run * Stress::ALL.len() + kind as usize)
}

/// The rows of every node drawn with replacement: a row counts as often as it was drawn.
pub fn resampled(rows: &Dataset, seed: u64, run: usize) -> Dataset {
    let mut random = draws(seed, Stress::Rows, run);
    let mut count = vec![0.0; rows.len()];
    for i in 0..rows.nodes() {
        let of = rows.rows(i);
        for _ in of.clone() {
            count[random.random_range(of.clone())] += 1.0;
        }
    }
    rows.clone().reweighted(|r| count[r])
}

/// Which nodes leave: a share of them, drawn, at least one and never all.
pub fn leaving(nodes: usize, share: f64, seed: u64, run: usize) -> Vec<bool> {
    let mut random = draws(seed, Stress::Nodes, run);
    let count = ((share * nodes as f64).round() as usize).clamp(1, nodes.saturating_sub(1).max(1));
    let mut order: Vec<usize> = (0..nodes).collect();
    for k in 0..count.min(nodes) {
        order.swap(k, random.random_range(k..nodes));
    }
    let mut leaves = vec![false; nodes];
    order[..count.min(nodes)].iter().for_each(|&i| leaves[i] = true);
    leaves
}

/// The graph without the edges of some nodes.
pub fn without(graph: &Graph, leaves: &[bool]) -> Graph {
    let edges = (0..graph.edges()).map(|e| (graph.nodes_of(e), graph.weight(e)));
    let kept = edges.filter(|((i, j), _)| !leaves[*i] && !leaves[*j]);
    let kept: Vec<_> = kept.map(|((i, j), weight)| (i, j, weight)).collect();
    Graph::new(graph.nodes(), &kept).expect("edges of a graph are a graph")
}

/// The graph with weights that were drawn around those they are.
pub fn reweighted(graph: &Graph, spread: f64, seed: u64, run: usize) -> Graph {
    let mut random = draws(seed, Stress::Weights, run);
    let mut drawn = || -> f64 { StandardNormal.sample(&mut random) };
    let edges: Vec<_> = (0..graph.edges())
        .map(|e| {
            let (i, j) = graph.nodes_of(e);
            (i, j, graph.weight(e) * (spread * drawn()).exp())
        })
        .collect();
    Graph::new(graph.nodes(), &edges).expect("positive weights stay positive")
}

/// Labels with noise of this deviation.
pub fn with_noise(rows: &Dataset, deviation: f64, seed: u64, run: usize) -> Dataset {
    let mut random = draws(seed, Stress::Labels, run);
    let noise: Vec<f64> = (0..rows.len()).map(|_| StandardNormal.sample(&mut random)).collect();
    rows.clone().shift_labels(|r| deviation * noise[r])
}

/// How far apart two models of every node are.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// Root of the mean squared change of the score of a node's rows; NaN for nodes that left, and without rows.
    pub scores: Vec<f64>,
    /// `|w' - w| / |w|`; NaN for nodes that left.
    pub models: Vec<f64>,
    /// The adjusted Rand index of the two partitions of the nodes that stayed.
    pub rand: f64,
}

/// Compares models `new` with models `old`, on `rows`, at nodes that did not leave.
pub fn moved(
    rows: &Dataset,
    (old, new): (&Matrix, &Matrix),
    parts: (&Partition, &Partition),
    leaves: &[bool],
) -> Moved {
    let stays = |i: &usize| !leaves[*i];
    let (d, blocks) = (rows.dim(), old.cols() / rows.dim().max(1));
    let score = |i: usize| {
        if leaves[i] || rows.rows(i).is_empty() {
            return f64::NAN;
        }
        let change: Vec<f64> = new.row(i).iter().zip(old.row(i)).map(|(new, old)| new - old).collect();
        let squares = rows.rows(i).map(|r| change.chunks_exact(d).map(|c| dot(rows.x(r), c).powi(2)).sum::<f64>());
        (squares.sum::<f64>() / (rows.rows(i).len() * blocks.max(1)) as f64).sqrt()
    };
    let model = |i: usize| {
        let change: Vec<f64> = new.row(i).iter().zip(old.row(i)).map(|(new, old)| new - old).collect();
        if leaves[i] { f64::NAN } else { norm2(&change) / norm2(old.row(i)).max(f64::MIN_POSITIVE) }
    };
    let labels = |of: &Partition| (0..leaves.len()).filter(stays).map(|i| of.part(i)).collect::<Vec<_>>();
    Moved {
        scores: (0..leaves.len()).map(score).collect(),
        models: (0..leaves.len()).map(model).collect(),
        rand: adjusted_rand(&labels(parts.0), &labels(parts.1)),
    }
}

/// How alike two partitions are: 1 if they are the same, 0 on average if they have nothing to do with each other (Hubert and
/// Arabie 1985).
pub fn adjusted_rand(a: &[usize], b: &[usize]) -> f64 {
    let pairs = |n: usize| (n * n.saturating_sub(1)) as f64 / 2.0;
    let mut table = std::collections::BTreeMap::new();
    a.iter().zip(b).for_each(|pair| *table.entry(pair).or_insert(0usize) += 1);
    let within = |labels: &[usize]| {
        let mut count = std::collections::BTreeMap::new();
        labels.iter().for_each(|label| *count.entry(label).or_insert(0usize) += 1);
        count.values().map(|&n| pairs(n)).sum::<f64>()
    };
    let both: f64 = table.values().map(|&n| pairs(n)).sum();
    let (first, second) = (within(a), within(b));
    let expected = first * second / pairs(a.len()).max(1.0);
    let largest = 0.5 * (first + second);
    if largest == expected { 1.0 } else { (both - expected) / (largest - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::chain;

    fn rows() -> Dataset {
        let x = Matrix::from_rows(1, (0..6).map(f64::from).collect());
        Dataset::new(vec![0, 2, 2, 6], x, vec![1.0; 6], vec![2.0; 6]).unwrap()
    }

    #[test]
    fn rows_drawn_again_are_as_many() {
        let drawn = resampled(&rows(), 3, 5);
        for i in 0..3 {
            assert_eq!(drawn.weights(i).iter().sum::<f64>(), 2.0 * rows().rows(i).len() as f64);
        }
        assert_eq!(drawn, resampled(&rows(), 3, 5));
        // Over many draws every row counts once on average, with the variance of a bootstrap: 1 - 1/m.
        let counts: Vec<f64> = (0..4_000).map(|run| resampled(&rows(), 0, run).weights(2)[1] / 2.0).collect();
        let mean = counts.iter().sum::<f64>() / 4e3;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 4e3;
        assert!((mean - 1.0).abs() < 0.06 && (variance - 0.75).abs() < 0.08, "{mean} {variance}");
    }

    #[test]
    fn nodes_leave_with_their_edges() {
        let leaves = leaving(20, 0.1, 1, 0);
        assert_eq!(leaves.iter().filter(|l| **l).count(), 2);
        let graph = without(&chain(20).unwrap(), &leaves);
        let alone = (0..20).filter(|&i| leaves[i]).all(|i| graph.degree(i) == 0);
        assert!(alone && graph.edges() < 19);
        assert_eq!(leaving(1, 0.1, 1, 0), [true]);
        assert_ne!(leaving(20, 0.1, 1, 0), leaving(20, 0.1, 1, 1));
    }

    #[test]
    fn weights_are_drawn_around_what_they_are() {
        let graph = chain(2_001).unwrap();
        let drawn = reweighted(&graph, 0.5, 1, 0);
        let logs: Vec<f64> = (0..2_000).map(|e| (drawn.weight(e) / graph.weight(e)).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 2e3;
        let deviation = (logs.iter().map(|l| l * l).sum::<f64>() / 2e3).sqrt();
        assert!(mean.abs() < 0.05 && (deviation - 0.5).abs() < 0.03, "{mean} {deviation}");
    }

    #[test]
    fn rand_index_of_known_partitions() {
        assert_eq!(adjusted_rand(&[0, 0, 1, 1], &[5, 5, 2, 2]), 1.0);
        assert_eq!(adjusted_rand(&[0, 0, 0], &[0, 0, 0]), 1.0);
        // scikit-learn: adjusted_rand_score([0, 0, 1, 2], [0, 0, 1, 1]) = 0.5714285714285714
        assert!((adjusted_rand(&[0, 0, 1, 2], &[0, 0, 1, 1]) - 4.0 / 7.0).abs() < 1e-12);
        assert!((adjusted_rand(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_moved_is_seen_on_rows() {
        let graph = chain(3).unwrap();
        let part = Partition::components(&graph);
        let (old, new) = (Matrix::from_rows(1, vec![1.0, 1.0, 2.0]), Matrix::from_rows(1, vec![2.0, 9.0, 2.0]));
        let found = moved(&rows(), (&old, &new), (&part, &part), &[false, true, false]);
        assert!((found.scores[0] - 0.5f64.sqrt()).abs() < 1e-15 && found.scores[1].is_nan() && found.scores[2] == 0.0);
        assert_eq!((found.models[0], found.models[2], found.rand), (1.0, 0.0, 1.0));
    }
}
