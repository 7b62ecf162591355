//! The primal-dual method as the judge runs it, and the decision to hand over to Newton's method.

use super::PrimalDual;
use super::step_ratio::StepRatio;
use crate::problem::Problem;
use crate::solve::auto::begin_cold;
use crate::solve::judge::Judge;
use crate::solve::tuning::{
    LOOK_SPACING, LOOK_SPACING_BLIND, LOOK_SPACING_FIRST, RATIO_CHANGE_MIN, RATIO_CHANGE_MIN_WARM, SETTLING_PAUSES,
    TAIL_ITERATIONS_MAX, TAIL_KNOWN_ITERATION,
};
use crate::solve::{Choice, Settings, Solution, Start, newton, quiet_iterations};

/// Iterates until the judge is content; with `hybrid`, until Newton's method promises to be faster. `done` iterations were spent
/// before.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    mut start: Start,
    mut judge: Judge,
    choice: Choice,
    hybrid: bool,
    done: usize,
) -> Solution {
    if hybrid {
        begin_cold(problem, &mut start);
    }
    let ratio = settings.step_ratio.unwrap_or(start.step_ratio);
    let worthwhile = if start.is_warm() { RATIO_CHANGE_MIN_WARM } else { RATIO_CHANGE_MIN };
    let mut method = PrimalDual::new(problem, &start.w, &start.u, ratio, settings.relaxation, !hybrid);
    drop(start);
    let mut balance = settings.step_ratio.is_none().then(|| StepRatio::new(&method, worthwhile));
    let tick_every = quiet_iterations(problem);
    let (mut iteration, check_every) = (done, settings.check_every.max(1));
    // A look costs several iterations. Hardly any start is good enough, unless a correction of it may be.
    let mut looks = !hybrid || judge.corrects_start() || settings.iterations_max == done;
    let mut stops = false;
    loop {
        if std::mem::replace(&mut looks, true) {
            let candidate = method.candidate();
            let settles = (1..SETTLING_PAUSES * check_every).contains(&(iteration - done));
            let early = hybrid && settles && iteration < settings.iterations_max && !stops;
            if !(early && judge.glance(&candidate, iteration - done == check_every))
                && let Some(status) = judge.look(iteration, candidate)
            {
                return judge.solution(status, iteration, choice);
            }
        }
        if hybrid && iteration >= TAIL_KNOWN_ITERATION && judge.tail().is_none_or(|tail| tail > TAIL_ITERATIONS_MAX) {
            let candidate = method.candidate();
            let (w, step_ratio) = (judge.w().clone(), candidate.step_ratio);
            let start = Start { w, u: candidate.flow, step_ratio, clusters: None };
            drop(method);
            let choice = choice.then("newton", "the last digits would have taken too many more iterations");
            return match problem.loss().has_hessian() {
                true => newton::run(problem, settings, start, candidate.sigma, judge, choice, iteration),
                false => newton::run_softened(problem, settings, start, candidate.sigma, judge, choice, iteration),
            };
        }
        let next = iteration + pause(iteration, check_every, judge.tail());
        while iteration < next.min(settings.iterations_max) {
            method.iterate();
            iteration += 1;
            if let Some(balance) = &mut balance {
                balance.after(iteration - done, &mut method);
            }
            if iteration.is_multiple_of(tick_every) && !judge.tick(iteration) {
                stops = true;
                break;
            }
        }
    }
}

/// Iterations until the next look: not many more than the tail is long.
fn pause(iteration: usize, check_every: usize, tail: Option<f64>) -> usize {
    let share = match tail {
        None if iteration < TAIL_KNOWN_ITERATION => LOOK_SPACING_FIRST,
        Some(tail) if tail.is_finite() => (tail / iteration as f64).clamp(LOOK_SPACING.0, LOOK_SPACING.1),
        _ => LOOK_SPACING_BLIND,
    };
    check_every.max((share * iteration as f64) as usize)
}
