//! The likelihood against the density of all rows written out, and its gradient against finite differences.

use faer::{Mat, Side};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::likelihood::{Likelihood, Model};
use super::moments::Moments;
use super::network::Network;
use super::structure::{Shape, Structure};
use super::system::{Plan, Root};
use crate::dataset::Dataset;
use crate::graph::Graph;
use crate::matrix::{Matrix, dot};
use crate::random::{Purpose, stream};

/// Eight nodes in two components, one without rows, one with a single row.
pub(super) fn small() -> (Graph, Dataset) {
    let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.5), (3, 0, 1.0), (4, 5, 1.5), (5, 6, 1.0)];
    let graph = Graph::new(8, &edges).unwrap();
    let mut rng = stream(5, Purpose::LocalData, 0);
    let mut normal = || -> f64 { rng.sample(StandardNormal) };
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    for rows in [4, 5, 1, 6, 0, 5, 7, 4] {
        let own: Vec<f64> = (0..3).map(|_| normal()).collect();
        for _ in 0..rows {
            let row = [3.0 + 2.0 * normal(), 0.1 * normal(), 1.0];
            y.push(dot(&row, &own) + 0.5 * normal());
            x.extend(row);
        }
        offsets.push(y.len());
    }
    let weight = (0..y.len()).map(|r| 1.0 + 0.1 * (r % 3) as f64).collect();
    (graph, Dataset::new(offsets, Matrix::from_rows(3, x), y, weight).unwrap())
}

fn some_root() -> Root {
    Root { d: 3, p: 3, entries: vec![0.8, 0.0, 0.0, 0.3, 0.5, 0.0, -0.2, 0.1, 0.9] }
}

/// `-2 log` of the normal density with covariance `s2 V`, `s2` at its best, written out.
fn dense_deviance(graph: &Graph, data: &Dataset, root: &Root, rho: f64, likelihood: Likelihood) -> (f64, Vec<f64>) {
    let (n, d, rows) = (graph.nodes(), data.dim(), data.len());
    let mut r = Mat::<f64>::zeros(n, n);
    for i in 0..n {
        r[(i, i)] = 1.0 - rho + rho * graph.weighted_degree(i);
    }
    for e in 0..graph.edges() {
        let (i, j) = graph.nodes_of(e);
        (r[(i, j)], r[(j, i)]) = (-rho * graph.weight(e), -rho * graph.weight(e));
    }
    let spread = inverse(&r);
    let covariance = root.covariance();
    let node_of: Vec<usize> = (0..n).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    let share = |row: usize| {
        let weights = data.weights(node_of[row]);
        let at = row - data.rows(node_of[row]).start;
        weights[at] * weights.len() as f64 / weights.iter().sum::<f64>()
    };
    let v = Mat::from_fn(rows, rows, |a, b| {
        let half = super::dense::product(data.x(a), &covariance, 1, d, d);
        let noise = if a == b { 1.0 / share(a) } else { 0.0 };
        spread[(node_of[a], node_of[b])] * dot(&half, data.x(b)) + noise
    });
    let x = Mat::from_fn(rows, d, |a, j| data.x(a)[j]);
    let y = Mat::from_fn(rows, 1, |a, _| data.y()[a]);
    let vi = inverse(&v);
    let s = x.transpose() * &vi * &x;
    let mu = inverse(&s) * (x.transpose() * &vi * &y);
    let left = &y - &x * &mu;
    let rss = (left.transpose() * &vi * &left)[(0, 0)];
    let shares: f64 = (0..rows).map(|a| share(a).ln()).sum();
    let restricted = likelihood == Likelihood::Restricted;
    let freedom = rows as f64 - if restricted { d as f64 } else { 0.0 };
    let s2 = rss / freedom;
    // The density of the weighted rows: their shares are a constant.
    let mut deviance = log_det(&v) + shares + freedom * ((2.0 * std::f64::consts::PI * s2).ln() + 1.0);
    if restricted {
        deviance += log_det(&s);
    }
    (deviance, (0..d).map(|j| mu[(j, 0)]).collect())
}

fn inverse(m: &Mat<f64>) -> Mat<f64> {
    use faer::linalg::solvers::DenseSolveCore;
    m.llt(Side::Lower).unwrap().inverse()
}

fn log_det(m: &Mat<f64>) -> f64 {
    let llt = m.llt(Side::Lower).unwrap();
    (0..m.nrows()).map(|k| 2.0 * llt.L()[(k, k)].ln()).sum()
}

#[test]
fn the_likelihood_is_the_density_of_all_rows() {
    let (graph, data) = small();
    let (moments, network) = (Moments::new(&data, true), Network::new(&graph));
    let plan = Plan::new(&network, 3);
    for likelihood in [Likelihood::Maximum, Likelihood::Restricted] {
        for rho in [0.0, 0.3, 0.95] {
            let model = Model { network: &network, moments: &moments, plan: &plan, likelihood };
            let kappa = network.kappa(rho);
            let at = model.evaluate(&some_root(), kappa).unwrap();
            // The same covariance in the features as given, for R with rho.
            let factor = network.covariance_factor(&at.system.precision) / moments.variance_unit();
            let given = moments.restore_covariance(&at.system.root.covariance());
            let given: Vec<f64> = given.iter().map(|c| c * factor).collect();
            let root = Root { d: 3, p: 3, entries: super::dense::semi_cholesky(&given, 3) };
            let (deviance, mu) = dense_deviance(&graph, &data, &root, rho, likelihood);
            let found = -2.0 * likelihood.log_likelihood(&moments, at.deviance);
            assert!((found - deviance).abs() < 1e-8, "{likelihood:?} {rho}: {found} {deviance}");
            let close = moments.restore(&at.mu).iter().zip(&mu).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close, "{rho}: {:?} {mu:?}", moments.restore(&at.mu));
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    let (graph, data) = small();
    let (moments, network) = (Moments::new(&data, true), Network::new(&graph));
    let covariance = some_root().covariance();
    for likelihood in [Likelihood::Maximum, Likelihood::Restricted] {
        for structure in [Structure::Intercept, Structure::Diagonal, Structure::Full, Structure::LowRank(1)] {
            let plan = Plan::new(&network, structure.columns(3));
            let model = Model { network: &network, moments: &moments, plan: &plan, likelihood };
            let (shape, mut x) = Shape::around(structure, &covariance, 3);
            x.iter_mut().enumerate().for_each(|(k, x)| *x += 0.1 * (k as f64).sin());
            x.push(0.4);
            let value = |x: &[f64]| model.evaluate(&shape.root(x), x[x.len() - 1].exp()).unwrap().deviance;
            let root = shape.root(&x);
            let mut at = model.evaluate(&root, 0.4f64.exp()).unwrap();
            let slopes = model.slopes(&mut at);
            let mut gradient = shape.slopes(&x, &root, &slopes.root);
            gradient.push(slopes.log_kappa);
            for k in 0..x.len() {
                let shifted = |by: f64| {
                    let mut x = x.clone();
                    x[k] += by;
                    value(&x)
                };
                let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                let error = (gradient[k] - expected).abs();
                assert!(error < 1e-5 * (1.0 + expected.abs()), "{structure:?} {k}: {} {expected}", gradient[k]);
            }
        }
    }
}

/// Expectation-maximisation never lowers the likelihood, with means integrated out or not.
#[test]
fn expected_covariances_raise_the_likelihood() {
    let (graph, data) = small();
    let (moments, network) = (Moments::new(&data, true), Network::new(&graph));
    let plan = Plan::new(&network, 3);
    for (likelihood, kappa) in [(Likelihood::Maximum, 0.0), (Likelihood::Maximum, 2.0), (Likelihood::Restricted, 2.0)] {
        let model = Model { network: &network, moments: &moments, plan: &plan, likelihood };
        let (mut root, mut last) = (some_root(), f64::INFINITY);
        for _ in 0..20 {
            let mut at = model.evaluate(&root, kappa).unwrap();
            assert!(at.deviance <= last + 1e-9, "{} {last}", at.deviance);
            last = at.deviance;
            let expected = model.slopes(&mut at).expected;
            let covariance = super::dense::sandwich(&root.entries, &expected, 3, 3);
            root.entries = super::dense::semi_cholesky(&covariance, 3);
        }
    }
}

/// Laplace's approximation for counts and for classes, with the movement of the mode.
#[test]
fn gradients_of_other_losses_are_finite_differences() {
    use super::Prepared;
    use crate::loss::Family;
    let (graph, data) = small();
    let counts = data.clone().map_labels(|y| y.abs().round().min(6.0));
    let classes = data.clone().map_labels(|y| if y > 0.5 { 1.0 } else { 0.0 });
    let covariance = some_root().covariance();
    for (family, data) in [(Family::Poisson, counts), (Family::Logistic, classes)] {
        for likelihood in [Likelihood::Maximum, Likelihood::Restricted] {
            let prepared = Prepared::new(&graph, &data, family, true).unwrap();
            let task = prepared.task(likelihood, false);
            let plan = Plan::new(task.network, 3);
            let (shape, mut x) = Shape::around(Structure::Full, &covariance, 3);
            x.push(0.4);
            let value = |x: &[f64]| task.at(&plan, &shape.root(x), x[x.len() - 1].exp()).unwrap().deviance;
            let root = shape.root(&x);
            let slopes = task.slopes(&plan, &root, 0.4f64.exp()).unwrap();
            let mut gradient = shape.slopes(&x, &root, &slopes.root);
            gradient.push(slopes.log_kappa);
            for k in 0..x.len() {
                let shifted = |by: f64| {
                    let mut x = x.clone();
                    x[k] += by;
                    value(&x)
                };
                let expected = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
                let error = (gradient[k] - expected).abs();
                assert!(
                    error < 1e-4 * (1.0 + expected.abs()),
                    "{family} {likelihood:?} {k}: {} {expected}",
                    gradient[k]
                );
            }
        }
    }
}
