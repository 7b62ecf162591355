//! Methods that exchange messages, against the golden optima, the formulas of what they send, and each other.

#[allow(dead_code)]
mod common;

use common::Golden;
use fedweave::solve::{FedGd, History, Method, run_rounds_until};
use std::ops::ControlFlow;

fn squared() -> Vec<Golden> {
    common::all().into_iter().filter(|g| g.problem.penalty().name() == "squared").collect()
}

/// Relative distance of the objective from the golden one.
fn error(golden: &Golden, method: &dyn Method) -> f64 {
    (golden.problem.objective(method.models()) - golden.objective) / golden.objective.abs().max(1.0)
}

/// Runs until the golden optimum is reached to `wanted`; golden values themselves are good to 1e-8.
fn reach(golden: &Golden, method: &mut dyn Method, rounds: usize, wanted: f64) -> History {
    let history = run_rounds_until(method, rounds, 20, &mut |m| match error(golden, m) {
        e if e <= wanted => ControlFlow::Break(e),
        e => ControlFlow::Continue(e),
    });
    let (name, last) = (&golden.name, history.last());
    println!("{name}: {} {} rounds, error {:.2e}", method.name(), last.round, last.value);
    assert!(last.value <= wanted, "{name}: {} after {} rounds: {:e}", method.name(), last.round, last.value);
    assert!(last.value >= -1e-8, "{name}: {} is below the optimum by {:e}", method.name(), last.value);
    history
}

#[test]
fn fedgd_reaches_every_optimum_of_the_squared_penalty() {
    let golden = squared();
    assert_eq!(golden.len(), 4);
    for g in &golden {
        reach(g, &mut FedGd::new(&g.problem, None).unwrap(), 200_000, 1e-7);
    }
}
