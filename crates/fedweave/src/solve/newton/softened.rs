//! Losses with kinks: their slopes become multipliers, next to the flows, and Newton's method sees smooth losses only.
//!
//! A round minimises over `w` with softened losses ([`Softening::softened`]), then takes the slopes and flows it finds as the
//! new multipliers. At the end the slopes are a dual point in sample space, which the certificate asks for.

use super::judged::PROXIMAL;
use super::{Losses, Newton};
use crate::certificate::Evidence;
use crate::loss::Softening;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::judge::{Candidate, Judge};
use crate::solve::{Choice, Settings, Solution, Start, primal_dual};

const ROUNDS_MAX: usize = 60;
const STEPS_PER_ROUND: usize = 60;
const GROWTH: f64 = 2.0;
/// The first step for slopes, and the last: longer ones multiply the rounding of the residuals.
const SLOPE_STEP: f64 = 1.0;
const SLOPE_STEP_MAX: f64 = 512.0;
/// Steps that reduce the gradient as far as rounding allows.
const POLISHING: usize = 3;
/// Rounds without a smaller gap or residual after which rounding is to blame.
const PATIENCE: usize = 8;

/// Rounds from `start`; `done` iterations were spent before.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    start: Start,
    sigma: f64,
    mut judge: Judge,
    choice: Choice,
    done: usize,
) -> Solution {
    let (mut w, mut u, mut beta) = (start.w, start.u, Vec::new());
    let (mut sigma, mut slope_step, mut iterations) = (sigma, SLOPE_STEP, done);
    let (mut best, mut idle) = (f64::INFINITY, 0);
    let softening = problem.loss().softening();
    if let Some(kinks) = softening {
        kinks.update_slopes(&w, slope_step, &mut beta);
    }
    let first = candidate(&w, &u, sigma, start.step_ratio);
    if let Some(status) = judge.look(iterations, first) {
        return judge.solution(status, iterations, choice);
    }
    for _ in 0..ROUNDS_MAX {
        let Some(kinks) = softening else { break };
        let loss = kinks.softened(&beta, slope_step);
        let terms = Losses::of(&*loss);
        let (weights, graph) = (problem.edge_weights(), problem.graph());
        let worth = settings.factor_worth();
        let mut newton = Newton::new(&terms, problem.penalty(), graph, weights, worth, w, u, sigma, PROXIMAL);
        let at = iterations;
        newton.minimise_steps(STEPS_PER_ROUND.min(settings.iterations_max.saturating_sub(at)), &mut || judge.tick(at));
        // What is left of the gradient is charged by the certificate.
        newton.minimise_gradient(0.0, POLISHING, usize::MAX);
        iterations += newton.work().0;
        (w, u) = (newton.w().clone(), newton.flow().clone());
        kinks.update_slopes(&w, slope_step, &mut beta);
        if let Some(lower) = lower_bound(problem, kinks, &w, &u, &beta) {
            judge.offer_bound(&u, lower);
        }
        let candidate = candidate(&w, &u, sigma, start.step_ratio);
        if let Some(status) = judge.look(iterations, candidate) {
            return judge.solution(status, iterations, choice);
        }
        let residual = judge.gap().unwrap_or(f64::INFINITY).min(judge.residual());
        (best, idle) = if residual < 0.9 * best { (residual, 0) } else { (best, idle + 1) };
        if idle >= PATIENCE {
            break;
        }
        if judge.residual() <= settings.tolerance {
            // Everything is in place but for rounding, and that is least with short steps.
            (sigma, slope_step) = (sigma * SLOPE_STEP / slope_step, SLOPE_STEP);
        } else if slope_step < SLOPE_STEP_MAX {
            (sigma, slope_step) = (GROWTH * sigma, GROWTH * slope_step);
        }
    }
    // Degenerate kinks: the iterations are slower and sure.
    let choice = choice.then("primal-dual", "Newton's method came to rest too early");
    let start = Start { w: judge.w().clone(), u, step_ratio: start.step_ratio, clusters: None };
    primal_dual::run(problem, settings, start, judge, choice, false, iterations)
}

/// What flows and slopes prove about the smallest objective.
fn lower_bound(problem: &Problem, kinks: &dyn Softening, w: &Matrix, u: &Matrix, beta: &[f64]) -> Option<f64> {
    let objective = problem.objective(w);
    let gap = |i: usize, w: &[f64], v: &[f64], work: &mut [f64]| kinks.fenchel_gap_at(i, w, v, beta, work);
    Some(objective - Evidence::new(problem, w, u, objective).bound_with(gap)?)
}

fn candidate(w: &Matrix, u: &Matrix, sigma: f64, step_ratio: f64) -> Candidate {
    Candidate { w: w.clone(), flow: u.clone(), fused: vec![false; u.rows()], sigma, step_ratio }
}
