//! The primal-dual method under the judge's eyes, and the decision to hand over to Newton's method.

use super::judge::Judge;
use super::step_ratio::StepRatio;
use super::{Choice, PrimalDual, Settings, Solution, Start, second_order, softened};
use crate::problem::Problem;

/// A look costs a few iterations, a fused problem more: looks are spaced by this share of the iterations done.
const SPACING: f64 = 0.2;
/// Iterations before the second look.
const FIRST_LOOK: usize = 5;
/// Numbers that may be read between two questions to the watcher.
const QUIET: usize = 100_000_000;
/// Newton's method takes about as much work as so many iterations; a longer tail is left to it.
const TAIL: f64 = 2000.0;
/// Before so many iterations nothing is known about the tail.
const WARM_UP: usize = 300;

/// Iterates until the judge is content; with `hybrid`, until Newton's method promises to be faster. `done` iterations were spent
/// before.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    start: Start,
    mut judge: Judge,
    choice: Choice,
    hybrid: bool,
    done: usize,
) -> Solution {
    let ratio = settings.step_ratio.unwrap_or(start.step_ratio);
    let mut method = PrimalDual::new(problem, &start.w, &start.u, ratio, settings.relaxation, !hybrid);
    drop(start);
    let mut balance = settings.step_ratio.is_none().then(|| StepRatio::new(&method));
    let mut tail = Tail::default();
    let tick_every = (QUIET / (16 * problem.dim() * (problem.nodes() + problem.graph().edges()))).max(1);
    let mut iteration = done;
    loop {
        if let Some(status) = judge.look(iteration, method.sight()) {
            return judge.solution(status, iteration, choice);
        }
        tail.see(iteration, judge.gap_over_allowed());
        if hybrid && iteration >= WARM_UP && tail.length() > TAIL {
            let sight = method.sight();
            let start = Start { w: judge.w().clone(), u: sight.flow, step_ratio: sight.step_ratio };
            drop(method);
            let choice = choice.then("newton", "the last digits would have taken too many more iterations");
            return match problem.loss().has_hessian() {
                true => second_order::run(problem, settings, start, sight.sigma, judge, choice, iteration),
                false => softened::run(problem, settings, start, sight.sigma, judge, choice, iteration),
            };
        }
        // A good start needs only a few iterations: the first looks come sooner.
        let early = settings.check_every.clamp(1, iteration.max(FIRST_LOOK));
        let next = iteration + early.max((SPACING * iteration as f64) as usize);
        while iteration < next.min(settings.iterations_max) {
            method.iterate();
            iteration += 1;
            if let Some(balance) = &mut balance {
                balance.after(iteration - done, &mut method);
            }
            if iteration.is_multiple_of(tick_every) && !judge.tick(iteration) {
                break;
            }
        }
    }
}

/// Guesses how many iterations are missing from how fast the gap shrinks.
#[derive(Default)]
struct Tail {
    seen: Vec<(usize, f64)>,
}

impl Tail {
    fn see(&mut self, iteration: usize, gap: Option<f64>) {
        if let Some(gap) = gap {
            self.seen.push((iteration, gap));
        }
    }

    /// Infinite without any gap or any progress.
    fn length(&self) -> f64 {
        let (Some(&(now, gap)), Some(&(before, larger))) = (self.seen.last(), self.seen.iter().rev().nth(3)) else {
            return f64::INFINITY;
        };
        let rate = (larger / gap).ln() / (now - before) as f64;
        if rate > 0.0 { gap.ln().max(0.0) / rate } else { f64::INFINITY }
    }
}
