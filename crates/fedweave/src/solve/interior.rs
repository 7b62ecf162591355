//! A primal-dual interior-point method for the whole network: few steps, each with one sparse factorisation.
//!
//! Kinks of losses have slopes in boxes as multipliers, edges have flows in balls or cubes; all are kept strictly inside. A
//! Newton step on the conditions of optimality with complementarity `mu` leaves, all multipliers eliminated,
//!
//! ```text
//! ( S'' + X' C X + D' M D ) dw = -( grad S + X'g + D'u ) - X' C pull - D' M pull
//! ```
//!
//! with a block for every node and every edge, as in [`BlockSystem`]. Steps follow Mehrotra: a first direction aims at `mu = 0`
//! and tells how far that goes, a second one with the same factor corrects for its curvature. Slopes and flows are a dual point
//! at every step, which the certificate uses as it is.

mod balls;
mod boxes;
mod edges;
mod state;

use crate::certificate::{Evidence, Kkt};
use crate::linalg::block_system::BlockSystem;
use crate::linalg::sparse::{Budget, FILL_MAX};
use crate::loss::Kinks;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::judge::Judge;
use crate::solve::{Choice, Settings, Solution, Start, Status, newton, primal_dual};
use state::State;

/// Steps at most: hard problems take 30.
const STEPS_MAX: usize = 100;
/// Steps without a smaller gap after which rounding is to blame.
const PATIENCE: usize = 8;
/// Multiplications that a factorisation may cost.
const FLOPS_MAX: f64 = 4e10;

/// A factorisation for every step, if the problem has the right form and factors do not fill up.
pub fn plan(problem: &Problem) -> Option<BlockSystem<'_>> {
    problem.penalty().dual_domain()?;
    let budget = Budget { flops: FLOPS_MAX, fill: FILL_MAX };
    BlockSystem::plan(problem.graph(), problem.dim(), budget)
}

/// Steps from `start`.
pub fn run(
    problem: &Problem,
    kinks: &dyn Kinks,
    system: BlockSystem,
    settings: &Settings,
    start: Start,
    mut judge: Judge,
    choice: Choice,
) -> Solution {
    let step_ratio = start.step_ratio;
    let mut state = State::new(problem, kinks, system, start.w);
    let (mut best, mut idle, mut steps) = (f64::INFINITY, 0, 0);
    loop {
        if let Some(status) = look(problem, kinks, &state, &mut judge, steps, step_ratio) {
            return judge.solution(status, steps, choice);
        }
        let left = judge.gap().unwrap_or(f64::INFINITY).min(state.complementarity());
        (best, idle) = if left < 0.9 * best { (left, 0) } else { (best, idle + 1) };
        if idle >= PATIENCE || steps >= STEPS_MAX.min(settings.iterations_max) || !state.step() {
            break;
        }
        steps += 1;
    }
    let u = state.flow();
    resume(problem, settings, judge, choice, Start { w: Matrix::default(), u, step_ratio, clusters: None }, steps)
}

/// Rounding ended the steps too early: a method that does not depend on factors of nearly singular matrices goes on.
fn resume(
    problem: &Problem,
    settings: &Settings,
    judge: Judge,
    choice: Choice,
    mut start: Start,
    steps: usize,
) -> Solution {
    if steps >= settings.iterations_max {
        return judge.solution(Status::Stalled, steps, choice);
    }
    start.w = judge.w().clone();
    let why = "the interior point came to rest too early";
    if problem.loss().softening().is_none() {
        let choice = choice.then("primal-dual", why);
        return primal_dual::run(problem, settings, start, judge, choice, false, steps);
    }
    let choice = choice.then("newton", why);
    let sigma = 0.5 / start.step_ratio;
    newton::run_softened(problem, settings, start, sigma, judge, choice, steps)
}

/// Shows the judge the models and what slopes and flows prove about them.
fn look(
    problem: &Problem,
    kinks: &dyn Kinks,
    state: &State,
    judge: &mut Judge,
    steps: usize,
    step_ratio: f64,
) -> Option<Status> {
    let (w, flow) = (state.w(), state.flow());
    let objective = problem.objective(w);
    let evidence = Evidence::new(problem, w, &flow, objective);
    let gap = |i: usize, w: &[f64], v: &[f64], work: &mut [f64]| kinks.fenchel_gap_at(i, w, v, state.slopes(i), work);
    let bound = evidence.bound_with(gap);
    let complementarity = state.complementarity() / objective.abs().max(1.0);
    let kkt = Kkt { stationarity: state.stationarity(), feasibility: 0.0, complementarity };
    judge.look_proved(steps, w.clone(), flow, bound, kkt, step_ratio)
}
