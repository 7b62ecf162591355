//! The primal-dual method under the judge's eyes, and the decision to hand over to Newton's method.

use super::judge::Judge;
use super::step_ratio::{StepRatio, WORTHWHILE, WORTHWHILE_WARM};
use super::{Choice, PrimalDual, Settings, Solution, Start, cold, quiet_iterations, second_order, softened};
use crate::problem::Problem;

/// A look costs a few iterations: looks are spaced by these shares of the iterations done, the first ones, those with no
/// progress in sight, and the others between the last two.
const SPACING_FIRST: f64 = 0.5;
const SPACING_BLIND: f64 = 0.2;
const SPACING: (f64, f64) = (0.1, 0.4);
/// Clusters are given so many of the smallest pauses to settle.
const SETTLING: usize = 4;
/// Newton's method takes about as much work as so many iterations; a longer tail is left to it.
const TAIL: f64 = 2000.0;
/// Before so many iterations nothing is known about the tail.
const WARM_UP: usize = 300;

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
        cold::begin(problem, &mut start);
    }
    let ratio = settings.step_ratio.unwrap_or(start.step_ratio);
    let worthwhile = if start.is_warm() { WORTHWHILE_WARM } else { WORTHWHILE };
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
            let sight = method.sight();
            let settles = (1..SETTLING * check_every).contains(&(iteration - done));
            let early = hybrid && settles && iteration < settings.iterations_max && !stops;
            if !(early && judge.glance(&sight, iteration - done == check_every))
                && let Some(status) = judge.look(iteration, sight)
            {
                return judge.solution(status, iteration, choice);
            }
        }
        if hybrid && iteration >= WARM_UP && judge.tail().is_none_or(|tail| tail > TAIL) {
            let sight = method.sight();
            let (w, step_ratio) = (judge.w().clone(), sight.step_ratio);
            let start = Start { w, u: sight.flow, step_ratio, clusters: None };
            drop(method);
            let choice = choice.then("newton", "the last digits would have taken too many more iterations");
            return match problem.loss().has_hessian() {
                true => second_order::run(problem, settings, start, sight.sigma, judge, choice, iteration),
                false => softened::run(problem, settings, start, sight.sigma, judge, choice, iteration),
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
        None if iteration < WARM_UP => SPACING_FIRST,
        Some(tail) if tail.is_finite() => (tail / iteration as f64).clamp(SPACING.0, SPACING.1),
        _ => SPACING_BLIND,
    };
    check_every.max((share * iteration as f64) as usize)
}
