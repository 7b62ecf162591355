//! Linear models are compared with the solver for linear models, trees with a fit by hand.

use super::*;
use crate::loss::{Family, LossOptions};
use crate::model::Workspace;
use crate::penalty::SquaredNorm;
use crate::problem::Problem;
use crate::solve::{FedRelax, Method};
use crate::synthetic::{Options, Synthetic, generate};

fn made(nodes: usize, dim: usize, rows: usize) -> Synthetic {
    generate(&Options { nodes, dim, rows, noise: 0.5, skew: 0.3, ..Options::default() }).unwrap()
}

fn spec(text: &str) -> Vec<ModelSpec> {
    vec![text.parse().unwrap()]
}

fn as_dataset(public: &[PublicRows]) -> Dataset {
    let (d, rows) = (public[0].x().cols(), public[0].len());
    let x: Vec<f64> = public.iter().flat_map(|p| p.x().as_slice().to_vec()).collect();
    let total = rows * public.len();
    let offsets = (0..=public.len()).map(|i| i * rows).collect();
    Dataset::new(offsets, Matrix::from_rows(d, x), vec![0.0; total], vec![1.0; total]).unwrap()
}

/// Every round of both orders, judged on both kinds of rows, is that of the solver for linear models.
#[test]
fn linear_models_agree_with_the_solver_on_public_data() {
    let made = made(12, 4, 9);
    let public = sample_public(&made.data, PublicSource::Moments, 20, 3).unwrap();
    let loss = Family::Squared.build(made.data.clone(), &LossOptions::default()).unwrap();
    let problem = Problem::build(made.graph.clone(), loss, Box::new(SquaredNorm), 0.3).unwrap();
    for judged_on in [JudgedOn::Neighbours, JudgedOn::Both] {
        for order in [Order::Together, Order::InTurn] {
            let options =
                RelaxOptions { lambda: 0.3, order, judged_on, start: RelaxStart::Blank, ..RelaxOptions::default() };
            let specs = spec("linear intercept=false");
            let mut ours =
                Relax::new(&made.graph, &made.data, Task::Regression, &specs, public.clone(), options).unwrap();
            let mut solver = FedRelax::on_public_data(&problem, &as_dataset(&public), judged_on, order).unwrap();
            for _ in 0..15 {
                ours.round().unwrap();
                solver.round();
            }
            let identity: Vec<f64> = (0..16).map(|k| if k / 4 == k % 4 { 1.0 } else { 0.0 }).collect();
            for i in 0..12 {
                let w = ours.predict(i, Rows::new(4, &identity)).unwrap();
                let gap =
                    w.as_slice().iter().zip(solver.models().row(i)).fold(0.0f64, |g, (a, b)| g.max((a - b).abs()));
                assert!(gap < 1e-8, "{judged_on:?}, {order:?}, node {i}: {gap}");
            }
            assert_eq!(ours.traffic().bytes(), solver.traffic().bytes());
            assert_eq!(ours.traffic().messages(), solver.traffic().messages());
        }
    }
}

#[test]
fn the_objective_never_grows_in_turn_when_judged_on_both() {
    let made = made(15, 5, 4);
    let public = sample_public(&made.data, PublicSource::Normal, 30, 1).unwrap();
    let objectives = |judged_on| {
        let options = RelaxOptions { lambda: 0.5, order: Order::InTurn, judged_on, ..RelaxOptions::default() };
        let mut relax =
            Relax::new(&made.graph, &made.data, Task::Regression, &spec("linear"), public.clone(), options).unwrap();
        let mut seen = vec![relax.objective(Discrepancy::Squared).unwrap()];
        for _ in 0..20 {
            relax.round().unwrap();
            seen.push(relax.objective(Discrepancy::Squared).unwrap());
        }
        seen
    };
    let both = objectives(JudgedOn::Both);
    assert!(both.windows(2).all(|p| p[1] <= p[0] * (1.0 + 1e-12)), "{both:?}");
    // The paper's update solves another fixed-point equation, and ends above.
    let paper = objectives(JudgedOn::Neighbours);
    assert!(paper[20] > both[20] && both[20] < both[0]);
}

/// One round on one edge, by hand: a weighted least-squares fit to own rows and to the neighbour's public rows.
#[test]
fn a_round_is_one_weighted_fit_to_own_and_labelled_public_rows() {
    let made = made(2, 2, 6);
    let graph = Graph::new(2, &[(0, 1, 0.7)]).unwrap();
    let public = sample_public(&made.data, PublicSource::Normal, 8, 5).unwrap();
    for weighting in [Weighting::Means, Weighting::Plain] {
        let options = RelaxOptions { lambda: 0.4, weighting, ..RelaxOptions::default() };
        let specs = spec("ridge alpha=0.1");
        let mut relax = Relax::new(&graph, &made.data, Task::Regression, &specs, public.clone(), options).unwrap();
        let labels = relax.predict(1, public[1].x()).unwrap();
        relax.round().unwrap();
        let (own, each) = match weighting {
            Weighting::Means => (1.0 / 6.0, 0.4 * 0.7 / 8.0),
            Weighting::Plain => (1.0, 0.4 * 0.7),
        };
        let mut model = specs[0].build(Task::Regression, 0).unwrap();
        let x = [made.data.features(0), public[1].x().as_slice()].concat();
        let y = [made.data.labels(0), labels.as_slice()].concat();
        let weight = [vec![own; 6], vec![each; 8]].concat();
        model.fit(Rows::new(2, &x), Rows::new(1, &y), &weight, &mut Workspace::default()).unwrap();
        let mut expected = vec![0.0; 8];
        model.predict(public[0].x(), &mut expected).unwrap();
        assert_eq!(relax.predict(0, public[0].x()).unwrap().as_slice(), expected);
    }
}

#[test]
fn nodes_without_rows_or_edges_have_defined_models() {
    let made = made(4, 2, 6);
    // 0 - 1, 2 alone with rows, 3 without rows or edges; 1 has no rows.
    let graph = Graph::new(4, &[(0, 1, 1.0)]).unwrap();
    let keep: Vec<bool> = (0..24).map(|r| r < 6 || (12..18).contains(&r)).collect();
    let data = made.data.select(&keep);
    let public = sample_public(&data, PublicSource::Normal, 10, 0).unwrap();
    let options = RelaxOptions { lambda: 1.0, order: Order::InTurn, ..RelaxOptions::default() };
    let mut relax = Relax::new(&graph, &data, Task::Regression, &spec("linear"), public.clone(), options).unwrap();
    let at = |relax: &Relax, i: usize| relax.predict(i, public[0].x()).unwrap();
    let alone = at(&relax, 2);
    assert!(at(&relax, 3).as_slice().iter().all(|v| *v == 0.0));
    relax.round().unwrap();
    assert_eq!(at(&relax, 2), alone);
    let gap =
        at(&relax, 0).as_slice().iter().zip(at(&relax, 1).as_slice()).fold(0.0f64, |g, (a, b)| g.max((a - b).abs()));
    assert!(gap < 1e-8, "a node without rows says what its only neighbour says: {gap}");
    assert_eq!(relax.errors(&data, Discrepancy::Squared).unwrap()[1], None);
}

#[test]
fn input_that_does_not_fit_is_an_error_that_names_the_node() {
    let made = made(4, 2, 6);
    let public = sample_public(&made.data, PublicSource::Normal, 10, 0).unwrap();
    let options = RelaxOptions { lambda: 1.0, ..RelaxOptions::default() };
    let new = |specs: &[ModelSpec], task, public: Vec<PublicRows>, options| {
        Relax::new(&made.graph, &made.data, task, specs, public, options).err().unwrap().to_string()
    };
    let linear = spec("linear");
    let wide = vec![PublicRows::new(Matrix::zeros(3, 5)).unwrap()];
    assert!(new(&linear, Task::Regression, wide, options).contains("features of the public rows: expected 2, found 5"));
    assert!(new(&linear, Task::Regression, public[..3].to_vec(), options).contains("public datasets"));
    let labels = new(&linear, Task::Classification { classes: 2 }, public.clone(), options);
    assert!(labels.contains("node 0") && labels.contains("does not fit a classifier"), "{labels}");
    assert!(
        new(&linear, Task::Regression, public.clone(), RelaxOptions { lambda: f64::NAN, ..options }).contains("lambda")
    );
    let many = vec![linear[0].clone(); 3];
    assert!(new(&many, Task::Regression, public.clone(), options).contains("models"));
    assert!(PublicRows::new(Matrix::zeros(0, 2)).is_err());
    assert!(PublicRows::new(Matrix::from_rows(1, vec![f64::NAN])).is_err());
}
