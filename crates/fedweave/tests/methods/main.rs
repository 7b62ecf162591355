//! Methods that exchange messages, against golden optima, the exact solver, the formulas of what they send, and each other.

mod baseline;
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;
mod input;
mod optimum;
mod same;
mod traffic;
mod watched;

use fedweave::graph::generate::chain;
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::Penalty;
use fedweave::solve::{Settings, Watch, solve};
use fedweave::{Dataset, Graph, Matrix, Problem};

/// `rows` rows at each node, numbers without pattern, labels as `label` makes them of the position.
fn data(nodes: usize, rows: usize, d: usize, label: impl Fn(usize) -> f64) -> Dataset {
    let count = nodes * rows;
    let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 500.0 - 1.0;
    let x = Matrix::from_rows(d, (0..count * d).map(number).collect());
    let offsets = (0..=nodes).map(|i| i * rows).collect();
    Dataset::new(offsets, x, (0..count).map(label).collect(), vec![1.0; count]).unwrap()
}

fn problem(graph: Graph, family: Family, rows: usize, d: usize, penalty: Box<dyn Penalty>, lambda: f64) -> Problem {
    let label = move |r: usize| match family {
        Family::Poisson => (r % 4) as f64,
        Family::Logistic | Family::SquaredHinge => [1.0, -1.0, -1.0][r % 3],
        _ => (r % 11) as f64 / 3.0,
    };
    let loss = family.build(data(graph.nodes(), rows, d, label), &LossOptions::default()).unwrap();
    Problem::build(graph, loss, penalty, lambda).unwrap()
}

fn small(family: Family, penalty: Box<dyn Penalty>) -> Problem {
    problem(chain(6).unwrap(), family, 5, 3, penalty, 0.3)
}

/// The optimum by the exact solver.
fn optimum(problem: &Problem) -> f64 {
    let settings = Settings { tolerance: 1e-10, ..Settings::default() };
    solve(problem, &settings, None, &mut |_| Watch::Continue).objective
}
