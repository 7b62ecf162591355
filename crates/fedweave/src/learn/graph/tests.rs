use super::*;
use crate::learn::discrepancy::Discrepancy;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};
use crate::synthetic::{Network, Options, Synthetic, generate};
use rand::RngExt;

/// A planted block model with intercept-free linear regression.
fn planted(seed: u64, clusters: usize, dim: usize, noise: f64) -> Synthetic {
    let network = Network::Blocks { p_in: 0.2, p_out: 0.01 };
    generate(&Options { network, nodes: 60, clusters, dim, rows: 10, noise, seed, ..Options::default() }).unwrap()
}

fn options(measure: Measure, rule: Rule) -> GraphOptions {
    GraphOptions { measure, rule, weighting: Weighting::Rule, family: Family::Squared, intercept: false, seed: 0 }
}

/// Share of the weight that lies inside clusters.
fn inside(graph: &Graph, cluster: &[usize]) -> f64 {
    let within = |e: &usize| {
        let (i, j) = graph.nodes_of(*e);
        cluster[i] == cluster[j]
    };
    (0..graph.edges()).filter(within).map(|e| graph.weight(e)).sum::<f64>() / graph.weights().iter().sum::<f64>()
}

struct Distances(Matrix, bool);

impl Discrepancy for Distances {
    fn points(&self) -> &Matrix {
        &self.0
    }
    fn between(&self, i: usize, j: usize, _: &mut Vec<f64>) -> f64 {
        let squares = self.0.row(i).iter().zip(self.0.row(j)).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>().sqrt()
    }
    fn is_euclidean(&self) -> bool {
        self.1
    }
}

fn random_points(n: usize, dim: usize, seed: u64) -> Distances {
    let mut rng = stream(seed, Purpose::Coordinates, 0);
    Distances(Matrix::from_rows(dim, (0..n * dim).map(|_| rng.random()).collect()), true)
}

/// Edges between clusters weigh less where weights are validated, by any rule that has some.
#[test]
fn validation_weighs_edges_inside_clusters_more() {
    let made = planted(0, 2, 3, 0.3);
    // Moments of labels say something about models, but not all.
    let rule = options(Measure::Moments, Rule::Degree(6));
    let plain = learn_graph(&made.data, &rule).unwrap();
    let weighed = learn_graph(&made.data, &GraphOptions { weighting: Weighting::Validation, ..rule }).unwrap();
    let (before, after) = (inside(&plain.graph, &made.cluster), inside(&weighed.graph, &made.cluster));
    // The weight between clusters falls to less than a third.
    assert!(before < 0.9 && 1.0 - after < (1.0 - before) / 3.0, "{before} {after}");
    let means: Vec<f64> = [true, false]
        .into_iter()
        .map(|same| {
            let of =
                |e: &usize| made.cluster[weighed.graph.nodes_of(*e).0] == made.cluster[weighed.graph.nodes_of(*e).1];
            let factors = (0..plain.graph.edges())
                .filter(|e| of(e) == same)
                .map(|e| weighed.graph.weight(e) / plain.graph.weight(e));
            let all: Vec<f64> = factors.collect();
            assert!(all.iter().all(|f| (0.0..1.0).contains(f)));
            all.iter().sum::<f64>() / all.len() as f64
        })
        .collect();
    assert!(means[0] > 0.5 && means[1] < 0.5, "{means:?}");
}

/// All half-integral graphs of degree 1 on four nodes: matchings of two edges, and cycles of three or four with halves.
#[test]
fn degree_budgets_are_solved_like_by_looking_at_all_graphs() {
    for seed in 0..20 {
        let points = random_points(4, 2, seed);
        let d = |i, j| points.between(i, j, &mut Vec::new());
        let best = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]].map(|[a, b, c, e]| d(a, b) + d(c, e));
        let least = best.into_iter().fold(f64::INFINITY, f64::min);
        let (pairs, proof) = degree::solve(&points, 1);
        let total: f64 = pairs.iter().map(|&(i, j, w)| w * d(i, j)).sum();
        // On an even cycle a matching is as cheap as the halves.
        assert!((total - least).abs() < 1e-12 && (proof.value().unwrap() - least).abs() < 1e-12);
    }
    // Two far triangles: only halves stay inside.
    let points = Distances(Matrix::from_rows(1, vec![0.0, 1.0, 2.0, 100.0, 101.0, 102.0]), true);
    let (pairs, _) = degree::solve(&points, 1);
    assert_eq!(pairs.iter().map(|p| p.2).collect::<Vec<_>>(), [0.5; 6]);
}

#[test]
fn degrees_are_met_exactly_and_proved_optimal() {
    for (n, k, dim) in [(30, 1, 2), (51, 3, 2), (80, 7, 5), (12, 11, 3)] {
        let points = random_points(n, dim, n as u64);
        let (pairs, proof) = degree::solve(&points, k);
        let mut degree = vec![0.0; n];
        for &(i, j, weight) in &pairs {
            assert!(weight == 0.5 || weight == 1.0);
            degree[i] += weight;
            degree[j] += weight;
        }
        assert_eq!(degree, vec![k as f64; n]);
        let Proof::All { value, bound } = proof else { panic!("all pairs were looked at") };
        assert!((value - bound).abs() <= 1e-9 * value, "{value} {bound}");
    }
}

#[test]
fn an_edge_budget_takes_the_nearest_pairs() {
    let points = random_points(40, 3, 1);
    let mut all: Vec<(f64, usize, usize)> = (0..40)
        .flat_map(|i| (i + 1..40).map(move |j| (i, j)))
        .map(|(i, j)| (points.between(i, j, &mut Vec::new()), i, j))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    for e in [1, 25, 300, 780] {
        let mut wanted: Vec<_> = all[..e].iter().map(|&(_, i, j)| (i, j, 1.0)).collect();
        wanted.sort_by_key(|&(i, j, _)| (i, j));
        assert_eq!(edge_budget::solve(&points, e).0, wanted);
    }
}

#[test]
fn every_measure_finds_planted_clusters_better_than_chance() {
    let network = planted(3, 3, 4, 0.1);
    for measure in [Measure::Gradient, Measure::Parameters, Measure::Components, Measure::Wald, Measure::PooledFit] {
        let found = learn_graph(&network.data, &options(measure, Rule::Degree(4))).unwrap();
        let share = inside(&found.graph, &network.cluster);
        assert!(share > 0.6, "{}: {share}", measure.name());
        assert_eq!(found.discrepancy.len(), found.graph.edges());
    }
}

/// With as many edges as there are pairs in clusters, the pairs found are nearly those.
#[test]
fn planted_clusters_are_found_by_tests_of_pairs() {
    for seed in 0..3 {
        let network = planted(seed, 3, 5, 0.5);
        let same = |i: usize, j: usize| network.cluster[i] == network.cluster[j];
        let pairs = (0..60).map(|i| (i + 1..60).filter(|&j| same(i, j)).count()).sum();
        for measure in [Measure::Wald, Measure::PooledFit] {
            let found = learn_graph(&network.data, &options(measure, Rule::Edges(pairs))).unwrap();
            assert_eq!(found.graph.edges(), pairs);
            // Precision and recall are the same number here.
            let f1 = inside(&found.graph, &network.cluster);
            assert!(f1 >= 0.95, "{} seed {seed}: {f1}", measure.name());
        }
    }
}

#[test]
fn wrong_edges_stay_below_the_share_asked_for() {
    let (mut wrong, mut kept) = (0.0, 0);
    for seed in 0..10 {
        let network = planted(seed, 3, 4, 0.5);
        let found = learn_graph(&network.data, &options(Measure::PooledFit, Rule::Fdr(0.1))).unwrap();
        if found.graph.edges() > 0 {
            wrong += (1.0 - inside(&found.graph, &network.cluster)) / 10.0;
        }
        kept += found.graph.edges();
        assert!(found.mixture.unwrap().expected_wrong <= 0.1);
    }
    assert!(wrong <= 0.1 && kept > 1_000, "{wrong} {kept}");
}

#[test]
fn joint_learning_lowers_its_objective_and_meets_its_budget() {
    let network = planted(1, 3, 4, 0.3);
    let options =
        JointOptions { family: Family::Squared, intercept: false, degree: 3, lambda: None, rounds: 20, seed: 0 };
    let found = joint(&network.data, &options).unwrap();
    assert!(found.objective.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-8)), "{:?}", found.objective);
    assert!(found.objective.len() >= 3);
    assert!((0..60).all(|i| found.learnt.graph.weighted_degree(i) == 3.0));
}

#[test]
fn nodes_without_rows_stay_alone_and_budgets_that_cannot_be_met_are_refused() {
    let network = planted(0, 2, 3, 0.1);
    let mask: Vec<bool> = (0..network.data.len()).map(|row| row >= 20).collect();
    let found = learn_graph(&network.data.select(&mask), &options(Measure::Gradient, Rule::Degree(2))).unwrap();
    assert_eq!((found.graph.degree(0), found.graph.degree(1)), (0, 0));
    for rule in [Rule::Degree(0), Rule::Degree(60), Rule::Edges(0), Rule::Edges(1_771), Rule::Fdr(0.0), Rule::Fdr(1.0)]
    {
        assert!(matches!(learn_graph(&network.data, &options(Measure::Gradient, rule)), Err(Error::Parameter { .. })));
    }
}
