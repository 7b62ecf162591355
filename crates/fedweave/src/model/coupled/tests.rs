//! Without hidden layers perceptrons are linear models, whose problem has a certified optimum.

use super::*;
use crate::loss::{Family, LossOptions};
use crate::model::ModelSpec;
use crate::penalty::{Norm2, SquaredNorm};
use crate::problem::Problem;
use crate::solve::{Settings, Watch, solve};
use crate::synthetic::{Options, Synthetic, generate};

fn made() -> Synthetic {
    generate(&Options { nodes: 10, dim: 3, rows: 12, noise: 0.3, ..Options::default() }).unwrap()
}

fn mlp(text: &str) -> MlpOptions {
    match text.parse().unwrap() {
        ModelSpec::Mlp(options) => options,
        other => panic!("{other}"),
    }
}

/// The same rows with a column of ones last, where the perceptron has its bias.
fn with_ones(data: &Dataset) -> Dataset {
    let x = (0..data.len()).flat_map(|r| data.x(r).iter().copied().chain([1.0])).collect();
    let offsets = (0..=data.nodes()).map(|i| if i == 0 { 0 } else { data.rows(i - 1).end }).collect();
    Dataset::new(offsets, Matrix::from_rows(data.dim() + 1, x), data.y().to_vec(), vec![1.0; data.len()]).unwrap()
}

#[test]
fn linear_networks_reach_the_certified_optimum() {
    let made = made();
    let linear = mlp("mlp hidden=none optimiser=sgd momentum=0.5 learning-rate=0.05 alpha=0 batch=none");
    for (penalty, lambda) in [(true, 0.3), (false, 0.2)] {
        let make = || -> Box<dyn Penalty> { if penalty { Box::new(Norm2) } else { Box::new(SquaredNorm) } };
        let options = CoupledOptions { mlp: linear.clone(), lambda, epochs: 40, epsilon: 1.0, ..Default::default() };
        let mut coupled = Coupled::new(&made.graph, &made.data, Task::Regression, make(), options).unwrap();
        let start = coupled.objective().unwrap();
        for _ in 0..300 {
            coupled.round().unwrap();
        }
        assert!(coupled.residual() <= 1.0 / 300f64.powf(1.1));
        let loss = Family::Squared.build(with_ones(&made.data), &LossOptions::default()).unwrap();
        let problem = Problem::build(made.graph.clone(), loss, make(), lambda).unwrap();
        let settings = Settings { tolerance: 1e-9, ..Settings::default() };
        let optimum = solve(&problem, &settings, None, &mut |_| Watch::Continue).objective;
        let reached = coupled.objective().unwrap();
        assert!((reached - problem.objective(&coupled.parameters())).abs() < 1e-6 * reached, "both know the objective");
        assert!(
            reached >= optimum - 1e-6 && reached - optimum < 2e-3 * (start - optimum),
            "{start} {reached} {optimum}"
        );
        let (ends, rounds) = (2 * made.graph.edges() as u64, 300);
        assert_eq!(coupled.traffic().bytes(), ends * rounds * 4 * 8);
    }
}

#[test]
fn blocks_couple_the_early_layers_only() {
    let made = made();
    let mlp = mlp("mlp hidden=4 activation=tanh optimiser=sgd momentum=0 learning-rate=0.05 batch=none");
    let network = Mlp::new(&mlp, Task::Regression, 3, 0).unwrap();
    let options = CoupledOptions { mlp: mlp.clone(), lambda: 100.0, epochs: 20, ..Default::default() };
    let blocks = early_layers(&network, 1, Box::new(Norm2)).unwrap();
    let mut coupled = Coupled::new(&made.graph, &made.data, Task::Regression, Box::new(blocks), options).unwrap();
    for _ in 0..200 {
        coupled.round().unwrap();
    }
    let (w, first) = (coupled.parameters(), network.layers()[0].end);
    let spread = |range: std::ops::Range<usize>| {
        let gap = |e: usize| {
            let (i, j) = made.graph.nodes_of(e);
            norm2(&range.clone().map(|k| w.row(i)[k] - w.row(j)[k]).collect::<Vec<_>>())
        };
        (0..made.graph.edges()).map(gap).fold(0.0, f64::max)
    };
    assert!(spread(0..first) < 0.2 * spread(first..w.cols()), "{} {}", spread(0..first), spread(first..w.cols()));
    // No flow ever touches what is not coupled.
    assert!((0..made.graph.edges()).all(|e| coupled.flows.row(e)[first..].iter().all(|u| *u == 0.0)));
    assert!(early_layers(&network, 3, Box::new(Norm2)).is_err() && early_layers(&network, 0, Box::new(Norm2)).is_err());
}

#[test]
fn results_do_not_depend_on_threads_and_bad_input_is_refused() {
    let made = made();
    let mlp = mlp("mlp hidden=5 batch=4");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let options = CoupledOptions { mlp: mlp.clone(), lambda: 0.1, epochs: 2, ..Default::default() };
            let mut coupled =
                Coupled::new(&made.graph, &made.data, Task::Regression, Box::new(Norm2), options).unwrap();
            (0..5).for_each(|_| coupled.round().unwrap());
            coupled.parameters()
        })
    };
    assert_eq!(run(1), run(3));
    let new = |task, lambda, eta| {
        let options = CoupledOptions { mlp: mlp.clone(), lambda, eta, ..Default::default() };
        Coupled::new(&made.graph, &made.data, task, Box::new(Norm2), options).err().map(|e| e.to_string())
    };
    assert!(new(Task::Regression, f64::NAN, 1.0).unwrap().contains("lambda"));
    assert!(new(Task::Regression, 1.0, 0.0).unwrap().contains("eta"));
    assert!(new(Task::Classification { classes: 2 }, 1.0, 1.0).unwrap().contains("node 0"));
    assert!(new(Task::Regression, 0.0, 1.0).is_none());
}
