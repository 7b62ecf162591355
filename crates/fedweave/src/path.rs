//! The solution as a function of `lambda`: a grid solved with warm starts, the largest `lambda` that matters, the values at
//! which clusters change, and where a partition is provably the right one.
//!
//! The number of clusters need not fall when `lambda` grows, so nothing here assumes that clusters only merge.

mod balance;
mod breakpoints;
mod chain;
mod lambda_max;
mod lineage;
mod pooled;
mod recovery;
mod start;

use rayon::prelude::*;

use crate::cluster::clusters;
use crate::error::Result;
use crate::graph::partition::Partition;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::{Record, Settings, Solution, Status, Watch, solve};

pub(crate) use balance::balance;
pub use breakpoints::Breakpoint;
use chain::{Chain, Heeding, chains};
pub use lambda_max::{Bracket, lambda_max};
pub use lineage::{LineageLink, lineage, same, splits};
pub use recovery::{Conditions, Recovery, recovery};
use start::Predictor;

/// The solution at one `lambda`, without its models.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPoint {
    /// `lambda`.
    pub lambda: f64,
    /// `F(w)`.
    pub objective: f64,
    /// Rigorous bound on `F(w) - min F`, or none.
    pub certified_gap: Option<f64>,
    /// Who has the same model, largest cluster first.
    pub partition: Partition,
    /// Why the solver stopped.
    pub status: Status,
    /// Its iterations.
    pub iterations: usize,
}

/// A solved grid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// One point per `lambda`, in the order they were solved. Shorter than the grid if the watcher stopped it: what was
    /// broken off is not there.
    pub points: Vec<PathPoint>,
    /// Changes of the clusters, by increasing `lambda`, if they were asked for.
    pub breakpoints: Vec<Breakpoint>,
    /// Why it ended before the end of the grid, if it did.
    pub stopped: Option<Status>,
}

/// What happens at one `lambda`, for whoever watches.
pub trait PathWatch: Send {
    /// A check of the solver at position `k` of the grid (also while a change after it is bracketed).
    fn see(&mut self, _k: usize, _record: &Record) -> Watch {
        Watch::Continue
    }
    /// The solution at position `k`.
    fn keep(&mut self, _k: usize, _point: &PathPoint, _solution: &Solution) {}
    /// Models in which to look for clusters, if not those of the solver.
    fn models(&self, w: &Matrix) -> Option<Matrix> {
        let _ = w;
        None
    }
}

/// Watches nothing.
impl PathWatch for () {}

/// How to solve a grid.
#[derive(Debug, Clone, Default)]
pub struct PathSettings<'s> {
    /// How accurately to solve each value.
    pub solve: Settings,
    /// Bracket the changes of the clusters to this relative width.
    pub breakpoints: Option<f64>,
    /// What is known about `lambda_max`: values beyond need no search.
    pub lambda_max: Option<&'s Bracket>,
}

/// Solves the grid, each value started from the ones before. Long grids of small problems are solved in several parts at once.
pub fn path(
    problem: &mut Problem,
    lambdas: &[f64],
    settings: &PathSettings,
    watch: &mut dyn PathWatch,
) -> Result<Path> {
    let chains = chains(problem, lambdas.len(), settings);
    let heeding = &Heeding::new(watch, chains.len());
    let chain = |(number, positions)| Chain { number, positions, settings, heeding };
    let mut chains = chains.into_iter().enumerate().map(chain);
    let first = chains.next().expect("there is one");
    let others: Vec<_> = chains.map(|chain| (chain, problem.clone())).collect();
    let (first, others) = rayon::join(
        || first.walk(problem, lambdas, &mut |k, point, solution| heeding.keep(k, point, solution)),
        || -> Vec<_> { others.into_par_iter().map(|(chain, problem)| ahead(&chain, problem, lambdas)).collect() },
    );
    let mut found = first?;
    for other in others {
        // What comes after a value that was broken off is left out.
        if found.stopped.is_some() {
            break;
        }
        let (next, solutions) = other?;
        next.points.iter().zip(&solutions).for_each(|(point, (k, solution))| heeding.keep(*k, point, solution));
        found.points.extend(next.points);
        found.stopped = next.stopped;
    }
    found.breakpoints.sort_by(|a, b| a.below.total_cmp(&b.below));
    Ok(found)
}

/// Solves a chain and keeps its solutions, for when those before it are there.
fn ahead(chain: &Chain, mut problem: Problem, lambdas: &[f64]) -> Result<(Path, Vec<(usize, Solution)>)> {
    let mut solutions = Vec::new();
    let found = chain.walk(&mut problem, lambdas, &mut |k, _, solution| solutions.push((k, solution.clone())))?;
    Ok((found, solutions))
}

fn solve_at(
    problem: &mut Problem,
    lambda: f64,
    settings: &Settings,
    predictor: &Predictor,
    k: usize,
    chain: &Chain,
) -> Result<(PathPoint, Solution)> {
    problem.set_lambda(lambda)?;
    let start = predictor.start(problem);
    let solution = solve(problem, settings, start, &mut |record| chain.see(k, record));
    let point = PathPoint {
        lambda,
        objective: solution.objective,
        certified_gap: solution.certified_gap,
        partition: partition(problem, &solution, predictor, chain.heeding),
        status: solution.status,
        iterations: solution.iterations,
    };
    Ok((point, solution))
}

/// The clusters; where there is one model per component, no tolerance is needed to see it.
fn partition(problem: &Problem, solution: &Solution, predictor: &Predictor, heeding: &Heeding) -> Partition {
    if predictor.one_model(problem.lambda()).is_some() {
        return problem.components().by_size();
    }
    let models = heeding.models(&solution.w);
    clusters(problem, models.as_ref().unwrap_or(&solution.w), &solution.u).partition
}

/// The watcher wants no more.
fn broken_off(status: Status) -> Option<Status> {
    matches!(status, Status::Interrupted | Status::TimeLimit).then_some(status)
}

/// A geometric grid of `count` values from `top` down to `top * ratio`.
pub fn geometric(top: f64, ratio: f64, count: usize) -> Vec<f64> {
    let steps = count.max(2) - 1;
    (0..count).map(|k| top * ratio.powf(k as f64 / steps as f64)).collect()
}
