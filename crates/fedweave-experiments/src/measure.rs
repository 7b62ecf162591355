//! What several experiments share: problems from data, the runs of Algorithm 1, and errors against a known truth.

use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Norm2, Penalty};
use fedweave::solve::{PrimalDual, Settings, Solution, Solver, Watch, solve};
use fedweave::{Dataset, Graph, Matrix, Problem};

use crate::Error;

/// Squared loss on `data`, coupled by `penalty`.
pub fn regression(graph: &Graph, data: &Dataset, penalty: Box<dyn Penalty>, lambda: f64) -> Result<Problem, Error> {
    let loss = Family::Squared.build(data.clone(), &LossOptions::default())?;
    Ok(Problem::build(graph.clone(), loss, penalty, lambda)?)
}

/// Squared loss and the penalty of the GTV paper.
pub fn network_lasso(graph: &Graph, data: &Dataset, lambda: f64) -> Result<Problem, Error> {
    regression(graph, data, Box::new(Norm2), lambda)
}

/// `(1/n) sum_i |w_i - truth_i|^2`, (41) of the GTV paper.
pub fn estimation_error(w: &Matrix, truth: &Matrix) -> f64 {
    let squares: f64 = w.as_slice().iter().zip(truth.as_slice()).map(|(a, b)| (a - b) * (a - b)).sum();
    squares / truth.rows() as f64
}

/// Algorithm 1 with its printed steps (`tau_i = 1 / degree_i`, `sigma_e = 1/2`, no relaxation) from zero; `see` looks at the
/// models after each of the rounds in `at`, which ascend.
pub fn algorithm_1(problem: &Problem, at: &[usize], mut see: impl FnMut(usize, &Matrix)) {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let mut method = PrimalDual::new(problem, &Matrix::zeros(n, d), &Matrix::zeros(edges, d), 1.0, 1.0, true);
    let mut round = 0;
    for &stop in at {
        while round < stop {
            method.iterate();
            round += 1;
        }
        see(round, &method.w());
    }
}

/// Algorithm 1 with adapted steps and relaxation, for so many rounds.
pub fn adaptive(problem: &Problem, rounds: usize) -> Solution {
    // A tolerance that is never met: the number of rounds decides.
    let settings = Settings {
        tolerance: 1e-15,
        iterations_max: rounds,
        solver: Solver::PrimalDual,
        check_every: rounds,
        ..Settings::default()
    };
    solve(problem, &settings, None, &mut |_| Watch::Continue)
}

/// The minimiser, to a certified gap (or residual) of `tolerance`.
pub fn optimum(problem: &Problem, tolerance: f64) -> Solution {
    solve(problem, &Settings { tolerance, ..Settings::default() }, None, &mut |_| Watch::Continue)
}

/// Mean and standard deviation (of a sample).
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}
