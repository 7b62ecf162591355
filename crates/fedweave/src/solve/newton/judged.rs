//! The augmented Lagrangian method as the judge runs it.

use super::{Losses, Newton};
use crate::problem::Problem;
use crate::solve::judge::{Candidate, Judge};
use crate::solve::{Choice, Settings, Solution, Start, Status};

/// Growth of the dual step from round to round.
const GROWTH: f64 = 4.0;
/// Longest step, relative to the mean curvature: beyond, rounding of differences shows in the flows.
const LONGEST: f64 = 1e6;
/// For smooth penalties there is nothing to be gained from small steps: rounds end after one or two.
const SMOOTH: f64 = 1e6;
/// Residual of the one system of a quadratic problem, in units of the root of the tolerance.
const QUADRATIC: f64 = 0.05;
const ROUNDS_MAX: usize = 60;
const STEPS_PER_ROUND: usize = 40;
/// Rounds without a smaller gap or residual after which rounding is to blame.
const PATIENCE: usize = 6;
/// The proximal term, relative to the mean curvature of the losses.
pub const PROXIMAL: f64 = 1e-9;

/// Rounds of Newton's method from `start`; `done` iterations were spent before.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    start: Start,
    sigma: f64,
    mut judge: Judge,
    mut choice: Choice,
    done: usize,
) -> Solution {
    let (graph, penalty, weights) = (problem.graph(), problem.penalty(), problem.edge_weights());
    let terms = Losses::of(problem.loss());
    let smooth = penalty.is_smooth();
    let sigma = if smooth { SMOOTH * mean(weights) } else { sigma };
    let worth = settings.factor_worth();
    let mut newton = Newton::new(&terms, penalty, graph, weights, worth, start.w, start.u, sigma, PROXIMAL);
    // One linear system is the whole problem: the gap is like the square of its residual.
    let linear = penalty.is_quadratic() && problem.loss().is_quadratic();
    if linear {
        newton.set_reduction(QUADRATIC * settings.tolerance.sqrt());
    }
    let steps_max = if linear { 1 } else { STEPS_PER_ROUND };
    let floor = 1e-14 * newton.curvature() * (problem.nodes() as f64).sqrt();
    let (mut best, mut idle, mut solved) = (f64::INFINITY, 0, true);
    choice.reason = format!("{}; linear systems by {}", choice.reason, newton.linear_solver());
    for round in 0..ROUNDS_MAX {
        let left = settings.iterations_max.saturating_sub(done + newton.work().0);
        let iteration = |newton: &Newton| done + newton.work().0;
        // A start that one step leaves behind is not worth a look.
        if !(linear && round == 0) {
            let candidate = candidate(&newton, start.step_ratio);
            if let Some(status) = judge.look(iteration(&newton), candidate) {
                return judge.solution(status, iteration(&newton), choice);
            }
        }
        let progress = judge.gap().unwrap_or(f64::INFINITY).min(judge.residual());
        let longest = if smooth { sigma } else { sigma.max(LONGEST * newton.curvature()) };
        // As long as steps grow, rounds are the faster the later.
        let growing = solved && newton.sigma() < longest;
        (best, idle) = if growing || progress < 0.9 * best { (progress.min(best), 0) } else { (best, idle + 1) };
        if idle >= PATIENCE {
            break;
        }
        match round {
            0 => {}
            _ if solved || linear => newton.update((GROWTH * newton.sigma()).min(longest)),
            // Too long a step makes too hard a problem.
            _ => newton.set_sigma(newton.sigma() / GROWTH),
        }
        let at = iteration(&newton);
        solved = newton.minimise(floor, steps_max.min(left), &mut || judge.tick(at));
    }
    let iterations = done + newton.work().0;
    judge.solution(Status::Stalled, iterations, choice)
}

fn candidate(newton: &Newton, step_ratio: f64) -> Candidate {
    let (w, flow) = (newton.w().clone(), newton.flow().clone());
    Candidate { w, flow, fused: newton.fused(), sigma: newton.sigma(), step_ratio }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
