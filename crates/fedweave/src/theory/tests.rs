//! Every bound can fail: with something in it planted wrong it does.

use super::clusters::from_pooled;
use super::connectivity::{Connectivity, proposition_7_1};
use super::descent::{Descent, contraction, inexact, steps_needed};
use super::pooled::{self, Cluster};
use super::quadratic::{Quadratic, by_degree, by_laplacian, proposition_5_2};
use super::recovery::{self, Clustered, Constant};
use super::sensitivity::{Changed, own_model, proposition_8_1, with_means};
use super::variation::{equation_8_9, proposition_3_1, proposition_6_1, relax_25, sharper};
use super::well_connected::{conclusions, margin};
use super::*;
use crate::graph::generate::{complete, star};
use crate::loss::{Family, LossOptions};
use crate::matrix::Matrix;
use crate::penalty::{Norm2, Penalty, SquaredNorm};
use crate::solve::{Settings, Watch, solve};
use crate::synthetic::{Network, Options, generate};

struct Scene {
    problem: Problem,
    solution: Solution,
    planted: Partition,
    data: Dataset,
}

impl Scene {
    fn new(problem: Problem, planted: Partition, data: Dataset) -> Self {
        let settings = Settings { tolerance: 1e-11, ..Settings::default() };
        let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        Scene { problem, solution, planted, data }
    }

    fn question(&self) -> Question<'_> {
        Question::new(&self.problem, &self.solution, &self.planted).with_data(&self.data)
    }

    fn clusters(&self) -> Vec<Cluster> {
        pooled::clusters(&self.question()).unwrap()
    }
}

/// Two blocks of nodes with linear models.
fn blocks(penalty: Box<dyn Penalty>, lambda: f64) -> Scene {
    let network = Network::Blocks { p_in: 1.0, p_out: 0.15 };
    let made = generate(&Options {
        network,
        nodes: 12,
        clusters: 2,
        dim: 2,
        rows: 6,
        noise: 0.1,
        seed: 4,
        ..Options::default()
    });
    let made = made.unwrap();
    let loss = Family::Squared.build(made.data.clone(), &LossOptions::default()).unwrap();
    let problem = Problem::build(made.graph, loss, penalty, lambda).unwrap();
    Scene::new(problem, Partition::of_labels(&made.cluster), made.data)
}

/// Points around two centres on the complete graph.
fn points(lambda: f64, label: impl Fn(usize) -> usize) -> Scene {
    let n = 10;
    let point = |i: usize| [10.0 * (i % 2) as f64 + 0.02 * i as f64, 0.01 * (i * i % 7) as f64];
    let x = Matrix::from_rows(2, (0..n).flat_map(point).collect());
    let data = Dataset::new((0..=n).collect(), x, vec![0.0; n], vec![1.0; n]).unwrap();
    let loss = Family::Point.build(data.clone(), &LossOptions::default()).unwrap();
    let problem = Problem::build(complete(n).unwrap(), loss, Box::new(Norm2), lambda).unwrap();
    Scene::new(problem, Partition::of_labels(&(0..n).map(label).collect::<Vec<_>>()), data)
}

fn holds(found: Result<Comparison, String>) -> bool {
    found.unwrap().holds()
}

#[test]
fn eigenvalues_planted_wrong_are_noticed() {
    let scene = blocks(Box::new(SquaredNorm), 0.5);
    let right = Quadratic::of(&scene.problem).unwrap();
    assert!(holds(by_laplacian(&right)) && holds(by_degree(&right)) && holds(proposition_5_2(&right)));
    let connectivity = Connectivity { lambda_n: 0.5 * right.connectivity.lambda_n, ..right.connectivity };
    let wrong = Quadratic { connectivity, lambda_max: 0.5 * right.lambda_max, ..right.clone() };
    assert!(!holds(by_laplacian(&wrong)));
    assert!(!holds(by_degree(&Quadratic { degree_max: 0.0, ..right.clone() })));
    let (low, high) = right.extremes.unwrap();
    assert!(!holds(proposition_5_2(&Quadratic { extremes: Some((1e-9 * low, high)), ..right.clone() })));
    let graph = star(5).unwrap();
    let connectivity = Connectivity::of(&graph);
    assert!((connectivity.lambda_2 - 1.0).abs() < 1e-10 && (connectivity.lambda_n - 5.0).abs() < 1e-10);
    assert!(holds(proposition_7_1(&graph, connectivity)));
    assert!(!holds(proposition_7_1(&graph, Connectivity { lambda_2: 1.3, ..connectivity })));
}

#[test]
fn steps_that_go_slower_than_promised_are_noticed() {
    let scene = blocks(Box::new(SquaredNorm), 0.5);
    let q = Quadratic::of(&scene.problem).unwrap();
    let right = || Descent::new(&scene.problem, &scene.solution.w, &q).unwrap();
    assert!(holds(contraction(&right())) && holds(steps_needed(&right())) && holds(inexact(&right())));
    let kappa = right().kappa;
    assert!(!holds(contraction(&Descent { kappa: 0.9 * kappa, ..right() })));
    assert!(!holds(steps_needed(&Descent { kappa: kappa.powi(4), ..right() })));
    assert!(!holds(inexact(&Descent { kappa: 0.2 * kappa, ..right() })));
    // So are steps of another length than the best.
    assert!(!holds(contraction(&Descent { step: 0.2 * right().step, ..right() })));
}

#[test]
fn models_that_vary_too_much_are_noticed() {
    let (scene, loose) = (blocks(Box::new(SquaredNorm), 50.0), blocks(Box::new(SquaredNorm), 1e-4));
    let q = Quadratic::of(&scene.problem).unwrap();
    let whole = |question: &Question| {
        pooled::clusters(&Question { partition: question.problem.components(), ..*question }).unwrap()
    };
    // The models of another lambda are passed off as those of this one.
    let wrong = Question { w: &loose.solution.w, certified_gap: Some(0.0), ..scene.question() };
    for (question, expected) in [(&scene.question(), true), (&wrong, false)] {
        assert_eq!(holds(proposition_3_1(question, &q, &whole(question))), expected);
        assert_eq!(holds(relax_25(question, &whole(question)[0])), expected);
    }
    let noisy = |w: &Matrix| {
        let mut w = w.clone();
        w.row_mut(0).iter_mut().for_each(|w| *w += 1e3);
        w
    };
    let cluster = &scene.clusters()[0];
    assert!(cluster.nodes.contains(&0));
    let far = noisy(&scene.solution.w);
    for (w, expected) in [(&scene.solution.w, true), (&far, false)] {
        let question = Question { w, ..scene.question() };
        assert_eq!(holds(proposition_6_1(&question, cluster)), expected);
        assert_eq!(holds(sharper(&question, cluster)), expected);
    }
    let (question, all) = (scene.question(), whole(&scene.question()));
    assert!(holds(equation_8_9(&question, &q, &all)));
    let wrong = Quadratic { lambda_bar_min: 1e4 * q.lambda_bar_min, ..q.clone() };
    assert!(!holds(equation_8_9(&question, &wrong, &all)));
}

#[test]
fn labels_that_matter_more_than_promised_are_noticed() {
    let scene = blocks(Box::new(SquaredNorm), 0.5);
    let question = scene.question();
    let q = Quadratic::of(&scene.problem).unwrap();
    let scaled: Vec<f64> = q.hessians.iter().map(|h| 1e3 * h).collect();
    assert!(holds(own_model(&question, &q.hessians, 3)) && !holds(own_model(&question, &scaled, 3)));
    let right = Changed::new(&question, &q).unwrap();
    assert!(holds(proposition_8_1(&right, &q)) && holds(with_means(&right, &q)));
    let wrong = Changed { labels: 1e-12 * right.labels, mean_labels: 1e-12 * right.mean_labels, ..right };
    assert!(!holds(proposition_8_1(&wrong, &q)) && !holds(with_means(&wrong, &q)));
}

/// The change of the models is what solving the problem with other labels gives.
#[test]
fn changed_labels_change_models_as_a_second_solve_says() {
    let scene = blocks(Box::new(SquaredNorm), 0.5);
    let q = Quadratic::of(&scene.problem).unwrap();
    let found = Changed::new(&scene.question(), &q).unwrap();
    let mut y = scene.data.y().to_vec();
    for i in 0..scene.data.nodes() {
        let mut rng = crate::random::stream(1, crate::random::Purpose::Noise, i);
        scene.data.rows(i).for_each(|r| y[r] += 2.0 * rand::RngExt::random::<f64>(&mut rng) - 1.0);
    }
    let changed: f64 = y.iter().zip(scene.data.y()).map(|(a, b)| (a - b) * (a - b)).sum();
    assert!((changed - found.labels).abs() < 1e-12 * changed);
    let x: Vec<f64> = (0..scene.data.len()).flat_map(|r| scene.data.x(r).to_vec()).collect();
    let offsets = (0..=scene.data.nodes()).map(|i| if i == 0 { 0 } else { scene.data.rows(i - 1).end }).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(2, x), y.clone(), vec![1.0; y.len()]).unwrap();
    let loss = Family::Squared.build(data.clone(), &LossOptions::default()).unwrap();
    let problem = Problem::build(scene.problem.graph().clone(), loss, Box::new(SquaredNorm), 0.5).unwrap();
    let other = Scene::new(problem, scene.planted.clone(), data);
    let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
    let moved: f64 = other.solution.w.as_slice().iter().zip(scene.solution.w.as_slice()).map(square).sum();
    assert!((moved - found.models).abs() <= 1e-4 * moved, "{moved} {}", found.models);
}

#[test]
fn clusters_that_are_too_far_from_their_pooled_models_are_noticed() {
    let scene = points(0.2, |i| i % 2);
    let clusters = scene.clusters();
    let question = scene.question();
    assert!(holds(from_pooled(&question, &clusters[0])));
    assert!(!holds(from_pooled(&question, &Cluster { alpha: 100.0 * clusters[0].alpha, ..clusters[0].clone() })));
    assert!(margin(&question, &clusters).unwrap() < 1.0, "a complete graph has no well connected clusters");
    let (constant, near) = conclusions(&question, &clusters);
    assert!(holds(constant) && holds(near));
    let wrong: Vec<Cluster> = clusters.iter().map(|c| Cluster { alpha: 100.0 * c.alpha, ..c.clone() }).collect();
    assert!(!holds(conclusions(&question, &wrong).1));
    let mixed = points(0.2, |i| i / 5);
    assert!(!holds(conclusions(&mixed.question(), &mixed.clusters()).0));
}

#[test]
fn clusters_that_are_not_recovered_are_noticed() {
    // Above 0.1 the centres are pulled together; below 0.03 points come apart.
    let scene = points(0.2, |i| i % 2);
    let question = scene.question();
    let right = Clustered::new(&question).unwrap();
    assert!(right.needed < 0.2, "{}", right.needed);
    assert!(holds(recovery::theorem_1(&question, &right)) && holds(recovery::theorem_2(&question, &right)));
    let constant = Constant::new(&question);
    assert!(holds(recovery::theorem_3(&question, &right, &constant)));
    let constant = constant.unwrap();
    assert!(holds(recovery::theorem_4_inside(&question, &constant)));
    assert!(holds(recovery::theorem_4_between(&question, &constant)));
    let wrong = Constant { mu: 10.0 * constant.mu, beta: 0.1 * constant.beta, ..Constant::new(&question).unwrap() };
    assert!(!holds(recovery::theorem_4_inside(&question, &wrong)));
    assert!(!holds(recovery::theorem_4_between(&question, &wrong)));
    let mut met = right.w.clone();
    (0..10).for_each(|i| met.row_mut(i).copy_from_slice(right.w.row(0)));
    assert!(!holds(recovery::theorem_2(&question, &Clustered { w: met, ..right })));
    // Clusters that are none, said to be recovered at any lambda.
    let mixed = points(1e-3, |i| i / 5);
    let question = mixed.question();
    let found = Clustered::new(&question).unwrap();
    assert!(found.needed > 1e-3 && recovery::theorem_1(&question, &found).is_err());
    let said = Clustered { needed: 0.0, ..found };
    assert!(!holds(recovery::theorem_1(&question, &said)));
    let constant = Constant { inside: vec![0.0; 2], ..Constant::new(&question).unwrap() };
    assert!(!holds(recovery::theorem_3(&question, &said, &Ok(constant))));
}

#[test]
fn theorems_that_do_not_apply_are_silent() {
    let scene = blocks(Box::new(Norm2), 0.1);
    let found = check(&scene.question());
    let of = |source: &str| found.iter().find(|f| f.source == source).unwrap();
    assert_eq!(of("Prop. 5.2").holds(), None);
    assert_eq!(of("FedRelax (25)").holds(), None);
    assert_eq!(of("clustering Theorem 4").holds(), None);
    let scene = blocks(Box::new(SquaredNorm), 0.1);
    let uncertain = Question { certified_gap: None, ..scene.question() };
    assert_eq!(check(&uncertain).iter().find(|f| f.source == "Prop. 3.1").unwrap().holds(), None);
}
