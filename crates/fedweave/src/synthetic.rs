//! Data with known truth, all from a seed.
//!
//! A network in clusters; a prototype weight vector per cluster; node `i` of cluster `c` has the true weights
//!
//! ```text
//! w_i = (1 - mixing) prototype_c + mixing * (random convex combination of all prototypes)
//! ```
//!
//! and rows `x ~ N(mean_i, I)`, `mean_i ~ N(0, skew^2 I)`, with score `s = x'w_i + noise * N(0, 1)`. Linear labels are the
//! scores; logistic labels are 1 with probability `1 / (1 + exp(-s))`, else 0. With `mixing = skew = 0` this is the
//! clustered model of gtv-minimization, section VI; above 0 the local datasets are not identically distributed even
//! inside a cluster.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Exp1, StandardNormal};
use rayon::prelude::*;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::generate::stochastic_block_model;
use crate::graph::nearest::k_nearest;
use crate::matrix::{Matrix, axpy, dot};
use crate::random::{Purpose, stream};

/// A network of local datasets and the truth behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthetic {
    /// Who may learn from whom.
    pub graph: Graph,
    /// The local datasets.
    pub data: Dataset,
    /// The true weights, one row per node.
    pub truth: Matrix,
    /// The cluster of every node.
    pub cluster: Vec<usize>,
    /// Positions of the nodes in the unit square, if the network is geometric.
    pub coordinates: Option<Matrix>,
}

/// How nodes are joined and clustered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Network {
    /// Stochastic block model with one block per cluster, of equal sizes up to one node.
    Blocks {
        /// Probability of an edge inside a cluster.
        p_in: f64,
        /// Probability of an edge between clusters.
        p_out: f64,
    },
    /// A chain cut into one segment per cluster, of equal lengths up to one node.
    Chain {
        /// Weight of the edges between segments, 0 for none; the others have weight 1.
        between: f64,
    },
    /// Uniform points in the unit square joined with their nearest neighbours. A cluster is the set of points nearest
    /// to one of as many random centres; with few nodes it may be empty.
    Geometric {
        /// Number of nearest neighbours.
        neighbours: usize,
    },
}

/// How labels follow from scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// The score itself: regression.
    Linear,
    /// 0 or 1, 1 with the logistic probability of the score: classification.
    Logistic,
}

/// How the entries of the prototypes are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prototypes {
    /// Normal with standard deviation `scale`.
    Normal,
    /// 0 or `scale`, with equal probability.
    Bernoulli,
}

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How nodes are joined and clustered. Default: blocks with `p_in = 0.5`, `p_out = 0.01`.
    pub network: Network,
    /// Number of nodes. Default 200.
    pub nodes: usize,
    /// Number of clusters, at most one per node. Default 2.
    pub clusters: usize,
    /// Number of features. Default 10.
    pub dim: usize,
    /// Rows of every node that has any. Default 10.
    pub rows: usize,
    /// How labels follow from scores. Default linear.
    pub labels: Labels,
    /// Standard deviation of the noise on the scores. Default 0.001.
    pub noise: f64,
    /// How the prototypes are drawn. Default normal.
    pub prototypes: Prototypes,
    /// Size of the entries of the prototypes. Default 1.
    pub scale: f64,
    /// Fraction of the nodes, drawn at random, that have no rows; rounded to the nearest number. Default 0.
    pub without_rows: f64,
    /// Share of a random mixture of prototypes in a node's weights, in [0, 1]. Default 0: constant on clusters.
    pub mixing: f64,
    /// Standard deviation of the feature means from node to node. Default 0.
    pub skew: f64,
    /// Everything random follows from it. Default 0.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            network: Network::Blocks { p_in: 0.5, p_out: 0.01 },
            nodes: 200,
            clusters: 2,
            dim: 10,
            rows: 10,
            labels: Labels::Linear,
            noise: 1e-3,
            prototypes: Prototypes::Normal,
            scale: 1.0,
            without_rows: 0.0,
            mixing: 0.0,
            skew: 0.0,
            seed: 0,
        }
    }
}

/// Generates a network of local datasets. Every node draws from a stream of its own: its rows depend neither on
/// threads nor on which other nodes have rows.
pub fn generate(options: &Options) -> Result<Synthetic> {
    options.check()?;
    let (graph, cluster, coordinates) = network(options)?;
    let prototypes = prototypes(options);
    let mut truth = Matrix::zeros(options.nodes, options.dim);
    truth.as_mut_slice().par_chunks_mut(options.dim).enumerate().for_each(|(node, w)| {
        mix(&prototypes, cluster[node], options.mixing, &mut stream(options.seed, Purpose::TrueWeights, node), w);
    });
    let data = local_datasets(options, &truth)?;
    Ok(Synthetic { graph, data, truth, cluster, coordinates })
}

fn network(options: &Options) -> Result<(Graph, Vec<usize>, Option<Matrix>)> {
    let Options { nodes, clusters, seed, .. } = *options;
    let segments = || (0..nodes).map(|i| i * clusters / nodes).collect::<Vec<usize>>();
    match options.network {
        Network::Blocks { p_in, p_out } => {
            let mut sizes = vec![0; clusters];
            segments().iter().for_each(|&c| sizes[c] += 1);
            let (graph, block) = stochastic_block_model(&sizes, p_in, p_out, seed)?;
            Ok((graph, block, None))
        }
        Network::Chain { between } => {
            let cluster = segments();
            let weight = |i: usize| if cluster[i - 1] == cluster[i] { 1.0 } else { between };
            let edges: Vec<_> = (1..nodes).map(|i| (i - 1, i, weight(i))).filter(|edge| edge.2 > 0.0).collect();
            Ok((Graph::new(nodes, &edges)?, cluster, None))
        }
        Network::Geometric { neighbours } => {
            let points = uniform_points(nodes, &mut stream(seed, Purpose::Coordinates, 0));
            let centres = uniform_points(clusters, &mut stream(seed, Purpose::ClusterCentres, 0));
            let cluster = (0..nodes).map(|i| nearest_row(&centres, points.row(i))).collect();
            Ok((k_nearest(&points, neighbours)?, cluster, Some(points)))
        }
    }
}

fn uniform_points(n: usize, rng: &mut ChaCha8Rng) -> Matrix {
    Matrix::from_rows(2, (0..2 * n).map(|_| rng.random()).collect())
}

fn nearest_row(centres: &Matrix, point: &[f64]) -> usize {
    let distance = |c: usize| -> f64 { centres.row(c).iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum() };
    (0..centres.rows()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

fn prototypes(options: &Options) -> Matrix {
    let mut rng = stream(options.seed, Purpose::Prototypes, 0);
    let mut entry = || match options.prototypes {
        Prototypes::Normal => rng.sample(StandardNormal),
        Prototypes::Bernoulli => f64::from(rng.random::<bool>()),
    };
    let entries = (0..options.clusters * options.dim).map(|_| options.scale * entry()).collect();
    Matrix::from_rows(options.dim, entries)
}

/// `w <- (1 - mixing) prototype_cluster + mixing sum_c p_c prototype_c`, with `p` uniform on the simplex.
fn mix(prototypes: &Matrix, cluster: usize, mixing: f64, rng: &mut ChaCha8Rng, w: &mut [f64]) {
    if mixing == 0.0 {
        return w.copy_from_slice(prototypes.row(cluster));
    }
    // Independent exponentials divided by their sum are uniform on the simplex.
    let shares: Vec<f64> = (0..prototypes.rows()).map(|_| rng.sample(Exp1)).collect();
    let total: f64 = shares.iter().sum();
    axpy(1.0 - mixing, prototypes.row(cluster), w);
    for (c, share) in shares.iter().enumerate() {
        axpy(mixing * share / total, prototypes.row(c), w);
    }
}

fn local_datasets(options: &Options, truth: &Matrix) -> Result<Dataset> {
    let Options { rows, dim, .. } = *options;
    let has_rows = nodes_with_rows(options);
    let mut offsets = vec![0];
    for node in 0..options.nodes {
        offsets.push(offsets[node] + if has_rows[node] { rows } else { 0 });
    }
    let total = offsets[options.nodes];
    let (mut x, mut y) = (vec![0.0; total * dim], vec![0.0; total]);
    let filled: Vec<usize> = (0..options.nodes).filter(|&node| has_rows[node]).collect();
    // Every node that has rows has as many, so equal chunks are the nodes.
    let local = x.par_chunks_mut(rows * dim).zip(y.par_chunks_mut(rows));
    local.zip(&filled).for_each(|((x, y), &node)| draw_rows(options, node, truth.row(node), x, y));
    Dataset::new(offsets, Matrix::from_rows(dim, x), y, vec![1.0; total])
}

fn nodes_with_rows(options: &Options) -> Vec<bool> {
    let without = (options.without_rows * options.nodes as f64).round() as usize;
    let mut has_rows: Vec<bool> = (0..options.nodes).map(|place| place >= without).collect();
    has_rows.shuffle(&mut stream(options.seed, Purpose::NodesWithoutRows, 0));
    has_rows
}

fn draw_rows(options: &Options, node: usize, w: &[f64], x: &mut [f64], y: &mut [f64]) {
    let mut rng = stream(options.seed, Purpose::LocalData, node);
    let mut normal = || rng.sample::<f64, _>(StandardNormal);
    let mean: Vec<f64> = w.iter().map(|_| options.skew * normal()).collect();
    for (x, y) in x.chunks_exact_mut(options.dim).zip(y.iter_mut()) {
        x.iter_mut().zip(&mean).for_each(|(x, mean)| *x = mean + normal());
        *y = dot(x, w) + options.noise * normal();
    }
    if options.labels == Labels::Logistic {
        y.iter_mut().for_each(|y| *y = f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-*y).exp())));
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        at_least_one("nodes", self.nodes)?;
        at_least_one("clusters", self.clusters)?;
        at_least_one("dim", self.dim)?;
        at_least_one("rows", self.rows)?;
        if self.clusters > self.nodes {
            let needs = "at most the number of nodes";
            return Err(Error::Parameter { name: "clusters", value: self.clusters as f64, needs });
        }
        if let Network::Chain { between } = self.network {
            in_range("between", between, f64::MAX, "zero or positive")?;
        }
        in_range("noise", self.noise, f64::MAX, "zero or positive")?;
        in_range("scale", self.scale, f64::MAX, "zero or positive")?;
        in_range("skew", self.skew, f64::MAX, "zero or positive")?;
        in_range("without_rows", self.without_rows, 1.0, "between 0 and 1")?;
        in_range("mixing", self.mixing, 1.0, "between 0 and 1")
    }
}

fn at_least_one(name: &'static str, value: usize) -> Result<()> {
    match value {
        0 => Err(Error::Parameter { name, value: 0.0, needs: "at least 1" }),
        _ => Ok(()),
    }
}

fn in_range(name: &'static str, value: f64, max: f64, needs: &'static str) -> Result<()> {
    match (0.0..=max).contains(&value) {
        true => Ok(()),
        false => Err(Error::Parameter { name, value, needs }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::norm2;

    /// Residuals `y - x'w_i` of all rows.
    fn residuals(made: &Synthetic) -> Vec<f64> {
        let of_node =
            |i: usize| made.data.rows(i).map(move |r| made.data.y()[r] - dot(made.data.x(r), made.truth.row(i)));
        (0..made.data.nodes()).flat_map(of_node).collect()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn linear_labels_are_scores_plus_noise() {
        let made = generate(&Options { noise: 0.3, rows: 50, ..Default::default() }).unwrap();
        let (mean, deviation) = mean_and_deviation(&residuals(&made));
        assert!(mean.abs() < 0.02 && (deviation / 0.3 - 1.0).abs() < 0.05);
        let exact = generate(&Options { noise: 0.0, ..Default::default() }).unwrap();
        assert!(residuals(&exact).iter().all(|r| *r == 0.0));
    }

    #[test]
    fn features_are_standard_normal_around_the_mean_of_their_node() {
        for skew in [0.0, 2.0] {
            let made = generate(&Options { skew, rows: 100, nodes: 400, ..Default::default() }).unwrap();
            let first = |i: usize| made.data.rows(i).map(|r| made.data.x(r)[0]).collect::<Vec<_>>();
            let local: Vec<_> = (0..400).map(|i| mean_and_deviation(&first(i))).collect();
            let within = local.iter().map(|l| l.1).sum::<f64>() / 400.0;
            let between = mean_and_deviation(&local.iter().map(|l| l.0).collect::<Vec<_>>()).1;
            assert!((within - 1.0).abs() < 0.05, "{within}");
            // The mean of 100 rows adds a variance of 1/100 to that of the node means.
            assert!((between - (skew * skew + 0.01).sqrt()).abs() < 0.2 * skew + 0.02, "{between}");
        }
    }

    #[test]
    fn logistic_labels_follow_the_score() {
        let (labels, rows, noise) = (Labels::Logistic, 200, 0.0);
        let made = generate(&Options { labels, rows, noise, dim: 2, ..Default::default() }).unwrap();
        // Sum over rows of (label - probability), weighted: zero on average, with known variance.
        let (mut sum, mut variance) = (0.0, 0.0);
        for i in 0..made.data.nodes() {
            for r in made.data.rows(i) {
                let score = dot(made.data.x(r), made.truth.row(i));
                let p = 1.0 / (1.0 + (-score).exp());
                assert!(made.data.y()[r] == 0.0 || made.data.y()[r] == 1.0);
                sum += score * (made.data.y()[r] - p);
                variance += score * score * p * (1.0 - p);
            }
        }
        assert!(variance > 100.0 && sum.abs() < 5.0 * variance.sqrt(), "{sum} {variance}");
    }

    #[test]
    fn weights_are_constant_on_clusters_and_clusters_are_even() {
        for network in [Network::Blocks { p_in: 0.5, p_out: 0.01 }, Network::Chain { between: 0.1 }] {
            let made = generate(&Options { network, nodes: 50, clusters: 7, ..Default::default() }).unwrap();
            let mut sizes = [0; 7];
            for i in 0..50 {
                sizes[made.cluster[i]] += 1;
                for j in 0..50 {
                    assert_eq!(made.cluster[i] == made.cluster[j], made.truth.row(i) == made.truth.row(j));
                }
            }
            assert!(sizes.iter().all(|s| (7..=8).contains(s)), "{sizes:?}");
        }
    }

    #[test]
    fn bernoulli_prototypes_have_two_values() {
        let options = Options { prototypes: Prototypes::Bernoulli, scale: 0.5, dim: 1_000, ..Default::default() };
        let truth = generate(&options).unwrap().truth;
        assert!(truth.as_slice().iter().all(|&v| v == 0.0 || v == 0.5));
        let ones = truth.row(0).iter().filter(|&&v| v == 0.5).count();
        assert!((400..600).contains(&ones));
    }

    #[test]
    fn mixed_weights_are_convex_combinations() {
        let base = Options { clusters: 2, nodes: 100, ..Default::default() };
        let pure = generate(&base).unwrap().truth;
        let (a, b) = (pure.row(0).to_vec(), pure.row(99).to_vec());
        let between: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        for mixing in [0.3, 1.0] {
            let made = generate(&Options { mixing, ..base }).unwrap();
            let mut places = Vec::new();
            for i in 0..100 {
                let from_a: Vec<f64> = made.truth.row(i).iter().zip(&a).map(|(w, a)| w - a).collect();
                // On the segment from a to b, at t; inside the part of it that the own prototype allows.
                let t = dot(&from_a, &between) / dot(&between, &between);
                let off: Vec<f64> = from_a.iter().zip(&between).map(|(v, d)| v - t * d).collect();
                let own = made.cluster[i] as f64;
                assert!(norm2(&off) < 1e-12 && (t - own).abs() <= mixing && (0.0..=1.0).contains(&t));
                places.push((t - own).abs());
            }
            let (mean, _) = mean_and_deviation(&places);
            assert!((mean - mixing / 2.0).abs() < 0.1 * mixing, "{mean}");
        }
    }

    #[test]
    fn the_chain_is_weak_between_segments_or_cut() {
        let make = |between| {
            let options = Options { network: Network::Chain { between }, nodes: 10, clusters: 2, ..Default::default() };
            generate(&options).unwrap().graph
        };
        let weak = make(0.25);
        let weights: Vec<f64> = weak.weights().to_vec();
        assert_eq!(weights, [1.0, 1.0, 1.0, 1.0, 0.25, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(make(0.0).edges(), 8);
    }

    #[test]
    fn geometric_neighbours_and_clusters_are_near() {
        let network = Network::Geometric { neighbours: 8 };
        let made =
            generate(&Options { network, nodes: 3_000, clusters: 4, dim: 2, rows: 1, ..Default::default() }).unwrap();
        let points = made.coordinates.as_ref().unwrap();
        assert_eq!(made.graph, k_nearest(points, 8).unwrap());
        assert!(points.as_slice().iter().all(|v| (0.0..1.0).contains(v)));
        // Spatial clusters: few edges cross.
        let crosses = |e: &usize| made.cluster[made.graph.nodes_of(*e).0] != made.cluster[made.graph.nodes_of(*e).1];
        let crossing = (0..made.graph.edges()).filter(crosses).count();
        assert!(crossing > 0 && crossing * 5 < made.graph.edges());
    }

    #[test]
    fn nodes_without_rows_are_counted_and_change_nothing_else() {
        let full = generate(&Options::default()).unwrap();
        let some = generate(&Options { without_rows: 0.4, ..Default::default() }).unwrap();
        let empty: Vec<usize> = (0..200).filter(|&i| some.data.rows(i).is_empty()).collect();
        assert_eq!((empty.len(), &some.truth, &some.graph), (80, &full.truth, &full.graph));
        assert_ne!(empty, (0..80).collect::<Vec<_>>());
        for i in (0..200).filter(|i| !empty.contains(i)) {
            assert_eq!((some.data.features(i), some.data.labels(i)), (full.data.features(i), full.data.labels(i)));
        }
        assert!(generate(&Options { without_rows: 1.0, ..Default::default() }).unwrap().data.is_empty());
    }

    #[test]
    fn the_seed_decides_and_threads_do_not() {
        let options = |seed| Options { seed, mixing: 0.5, skew: 1.0, ..Default::default() };
        let on = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate(&options(seed)).unwrap())
        };
        assert_eq!(on(1, 7), on(4, 7));
        let (a, b) = (on(1, 7), on(1, 8));
        assert!(a.graph != b.graph && a.truth != b.truth && a.data != b.data);
        // Different nodes draw different rows.
        assert_ne!(a.data.features(0), a.data.features(1));
    }

    #[test]
    fn options_out_of_range_are_named() {
        let default = Options::default();
        let cases = [
            ("nodes", Options { nodes: 0, ..default }),
            ("clusters", Options { clusters: 0, ..default }),
            ("clusters", Options { clusters: 201, ..default }),
            ("dim", Options { dim: 0, ..default }),
            ("rows", Options { rows: 0, ..default }),
            ("noise", Options { noise: -1.0, ..default }),
            ("scale", Options { scale: f64::INFINITY, ..default }),
            ("skew", Options { skew: f64::NAN, ..default }),
            ("without_rows", Options { without_rows: 1.5, ..default }),
            ("mixing", Options { mixing: -0.1, ..default }),
            ("between", Options { network: Network::Chain { between: -1.0 }, ..default }),
            ("p_in", Options { network: Network::Blocks { p_in: 2.0, p_out: 0.0 }, ..default }),
            ("k", Options { network: Network::Geometric { neighbours: 200 }, ..default }),
        ];
        for (wanted, options) in cases {
            let error = generate(&options).unwrap_err();
            assert!(matches!(error, Error::Parameter { name, .. } if name == wanted), "{wanted}: {error}");
        }
    }
}
