//! Models and clusters over a grid of lambda.

mod choose;
mod partition;
mod summary;
mod text;
mod walk;
mod write;

use fedweave::graph::partition::Partition;
use fedweave::loss::LossSpec;
use fedweave::path::{Bracket, Path, PathPoint, PathSettings, Recovery, geometric, lambda_max, path, recovery};
use fedweave::problem::Problem;
use fedweave::solve::{Solution, Start, Status, solve};
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, stiff_lambda};
use fedweave_io::Input;

use crate::checks::{Checked, check, hold_out, tame_runaway};
use crate::error::{Result, require};
use crate::fit::{FitResult, Solved, build_on, finish};
use crate::held_out::HeldOutRows;
use crate::request::{FitRequest, PathRequest};
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage, time_left};
use choose::choose;
use walk::{Walk, Walked};

pub(crate) use partition::partition as partition_of;
pub use summary::summary;
pub use text::text;
pub use write::{path_report, write_run};

/// Relative width to which lambda_max and the ends of recovery intervals are bracketed.
const WIDTH: f64 = 1e-3;
/// A grid from the data ends at this share of lambda_max ...
const SMALLEST: f64 = 1e-3;
/// ... or of a lambda at which all models are stiff, for penalties without lambda_max.
const SMALLEST_STIFF: f64 = 1e-7;

/// Grids that go on end here.
const SMALLEST_EXTENDED: f64 = 1e-8;

/// A solved path, and the fit at one of its values.
pub struct PathResult {
    /// The fit at the chosen value; its status is that of the whole path.
    pub fit: FitResult,
    /// The smallest lambda with one model per component.
    pub lambda_max: Option<Bracket>,
    /// Seconds to find it.
    pub lambda_max_seconds: f64,
    /// The points, in the order they were solved.
    pub path: Path,
    /// Errors of every point.
    pub errors: Vec<PointErrors>,
    /// The models of every point in the units of the input, one after the other, if they were to be kept.
    pub models: Vec<f64>,
    /// Position of the value chosen.
    pub chosen: usize,
    /// How it was chosen.
    pub why: &'static str,
    /// Where the partition is provably recovered.
    pub recovery: Option<Recovery>,
    /// Whether the changes of clusters were asked for.
    pub breakpoints_asked: bool,
    /// The partition asked for was given, not found.
    pub given: bool,
    /// Values on the grid.
    pub wanted: usize,
}

/// Errors at one lambda.
pub struct PointErrors {
    /// On training rows.
    pub train: Errors,
    /// On held-out rows.
    pub validation: Option<Errors>,
}

/// What a path is walked with.
struct Setup {
    loss: LossSpec,
    split: Option<Split>,
    training: TrainingRows,
    problem: Problem,
    given: Option<Partition>,
}

/// Solves the path; `None` if it was stopped before its first point.
pub fn path_of(mut request: PathRequest, mut input: Input, observer: &dyn Observer) -> Result<Option<PathResult>> {
    require!(input.graph.edges() > 0, "there are no edges, so nothing depends on lambda: give --edges or --knn");
    let mut setup = setup(&mut request, &mut input)?;
    let fit = &request.fit;
    begin("lambda_max", fit, observer);
    let began = observer.seconds();
    let bracket = lambda_max(&mut setup.problem, WIDTH, &mut |record| observer.see(record))?;
    let lambda_max_seconds = observer.seconds() - began;
    let mut grid = grid(&request, &setup.problem, bracket.as_ref());
    let loss = setup.loss.clone();
    let held = setup.split.as_ref().map(|split| HeldOutRows::new(fit, &input, &loss, split));
    let began = observer.seconds();
    let mut walked = walk_grid(&request, &mut setup, &grid, bracket.as_ref(), held.as_ref(), observer)?;
    while let Some(longer) = longer_grid(&request, &grid, &walked) {
        grid = longer;
        walked = walk_grid(&request, &mut setup, &grid, bracket.as_ref(), held.as_ref(), observer)?;
    }
    let seconds = observer.seconds() - began;
    let Walked { path, errors, models, last: Some((at, last)) } = walked else { return Ok(None) };
    let joined = bracket.as_ref().is_some_and(|b| grid.iter().any(|lambda| *lambda >= b.above));
    let (chosen, why) = choose(&path, &errors, fit.lambda.rule, request.clusters, input.names.len(), joined);
    // A path that was broken off shows the models it has.
    let (chosen, why) = if path.stopped.is_some() { (at, "the last value solved") } else { (chosen, why) };
    let point = &path.points[chosen];
    let mut solution = if at == chosen { last } else { solve_again(fit, &mut setup.problem, point, &last, observer)? };
    setup.problem.set_lambda(point.lambda)?;
    let recovery = find_recovery(&request, &mut setup, &path, chosen, &grid, observer)?;
    solution.status = if observer.interrupted() { Status::Interrupted } else { worst(&path, solution.status) };
    let held_out = match (held, setup.split.clone(), &errors[chosen].validation) {
        (Some(rows), Some(split), Some(validation)) => {
            Some(rows.judge(&request.fit, split, validation.clone(), Some(&solution.w))?)
        }
        _ => None,
    };
    let (breakpoints_asked, given, wanted) = (request.breakpoints.is_some(), setup.given.is_some(), grid.len());
    let solved = Solved { solution, traffic: None, seconds };
    let fit = finish(request.fit, input, setup.loss, setup.problem, setup.training, solved);
    Ok(Some(PathResult {
        fit: FitResult { held_out, ..fit },
        lambda_max: bracket,
        lambda_max_seconds,
        path,
        errors,
        models,
        chosen,
        why,
        recovery,
        breakpoints_asked,
        given,
        wanted,
    }))
}

fn walk_grid(
    request: &PathRequest,
    setup: &mut Setup,
    grid: &[f64],
    lambda_max: Option<&Bracket>,
    held: Option<&HeldOutRows>,
    observer: &dyn Observer,
) -> Result<Walked> {
    let validation = held.map(|rows| rows.plain(&rows.validation)).transpose()?;
    let mut walk = Walk::new(request, &setup.loss, &setup.training, validation, grid.len(), observer)?;
    let settings = PathSettings { solve: request.fit.solve.clone(), breakpoints: request.breakpoints, lambda_max };
    let path = path(&mut setup.problem, grid, &settings, &mut walk)?;
    Ok(walk.end(path))
}

fn setup(request: &mut PathRequest, input: &mut Input) -> Result<Setup> {
    let fit = &mut request.fit;
    let loss = fit.model.loss(input)?;
    let checked = check(&fit.model, input, &loss)?;
    let given = request.partition.as_ref().map(|choice| partition_of(choice, input)).transpose()?;
    let spec = fit.held_out.spec.as_ref();
    let split = spec.map(|spec| hold_out(input, &fit.held_out, spec, "leave out --validation")).transpose()?;
    let Checked { rows: training, loss: built } = match &split {
        Some(split) => {
            let rows = TrainingRows::new(&fit.model, input.data.select(&split.mask(Part::Train)));
            Checked { loss: loss.build(rows.scaled.clone(), &fit.model.options)?, rows }
        }
        None => checked,
    };
    // Any positive lambda couples the same nodes.
    let built = match tame_runaway(&mut fit.model, input, &loss, &training.scaled, 1.0)? {
        true => loss.build(training.scaled.clone(), &fit.model.options)?,
        false => built,
    };
    let problem = build_on(fit, input, &loss, &training, built, 1.0)?;
    Ok(Setup { loss, split, training, problem, given })
}

fn grid(request: &PathRequest, problem: &Problem, lambda_max: Option<&Bracket>) -> Vec<f64> {
    let mut grid = match (&request.fit.lambda.grid, lambda_max) {
        (Some(grid), _) => grid.clone(),
        (None, Some(b)) if b.above > 0.0 => geometric(b.above, request.ratio.unwrap_or(SMALLEST), request.count),
        (None, _) => geometric(stiff_lambda(problem), request.ratio.unwrap_or(SMALLEST_STIFF), request.count),
    };
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if !request.up {
        grid.reverse();
    }
    grid
}

/// A grid that nobody asked for goes on below its smallest value while that predicts held-out rows best.
fn longer_grid(request: &PathRequest, grid: &[f64], walked: &Walked) -> Option<Vec<f64>> {
    let asked = request.fit.lambda.grid.is_some() || request.ratio.is_some() || request.clusters.is_some();
    let whole = walked.path.stopped.is_none() && walked.path.points.len() == grid.len();
    if asked || !whole || grid.len() < 2 {
        return None;
    }
    let error = |k: usize| walked.errors[k].validation.as_ref().and_then(Errors::mean);
    let best = (0..grid.len())
        .filter(|&k| error(k).is_some())
        .min_by(|a, b| error(*a).partial_cmp(&error(*b)).expect("means are numbers"))?;
    let mut sorted = grid.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    if walked.path.points[best].lambda > least || least <= 0.0 || least < SMALLEST_EXTENDED * most {
        return None;
    }
    let step = sorted[1] / least;
    let mut longer: Vec<f64> = (1..=grid.len()).rev().map(|k| least / step.powi(k as i32)).collect();
    longer.extend(sorted);
    if !request.up {
        longer.reverse();
    }
    Some(longer)
}

fn begin(what: &str, fit: &FitRequest, observer: &dyn Observer) {
    observer.begin(Stage { seconds_max: time_left(fit.time_limit, observer), ..Stage::new(what, WIDTH) });
}

/// The models of one point again; the path keeps only its last ones.
fn solve_again(
    fit: &FitRequest,
    problem: &mut Problem,
    point: &PathPoint,
    last: &Solution,
    observer: &dyn Observer,
) -> Result<Solution> {
    problem.set_lambda(point.lambda)?;
    let settings = &fit.solve;
    observer.begin(Stage {
        iterations_max: settings.iterations_max,
        seconds_max: time_left(fit.time_limit, observer),
        ..Stage::new("chosen", settings.tolerance)
    });
    Ok(solve(problem, settings, Some(Start::from(last)), &mut |record| observer.see(record)))
}

/// Where the partition given, or that at the chosen value, is provably recovered. Those who keep all models ask only about
/// partitions of their own.
fn find_recovery(
    request: &PathRequest,
    setup: &mut Setup,
    path: &Path,
    chosen: usize,
    grid: &[f64],
    observer: &dyn Observer,
) -> Result<Option<Recovery>> {
    if path.stopped.is_some() || (request.keep_models && setup.given.is_none()) {
        return Ok(None);
    }
    let point = &path.points[chosen];
    let partition = setup.given.as_ref().unwrap_or(&point.partition);
    begin("recovery", &request.fit, observer);
    let watch = &mut |record: &_| observer.see(record);
    Ok(Some(recovery(&mut setup.problem, partition, grid, point.lambda, WIDTH, watch)?))
}

/// How the whole path ended: as its worst part.
fn worst(path: &Path, chosen: Status) -> Status {
    let limited = path.points.iter().map(|p| p.status).find(|s| *s != Status::Converged);
    path.stopped.or(limited).unwrap_or(chosen)
}

impl PathResult {
    /// What a choice by held-out rows at an end of the grid leaves open.
    pub(crate) fn end_of_grid(&self) -> Option<String> {
        let lambda = self.fit.problem.lambda();
        let mut others = self.path.points.iter().map(|point| point.lambda).filter(|other| *other != lambda);
        self.fit.held_out.as_ref().filter(|_| self.path.points.len() > 1 && self.path.stopped.is_none())?;
        let (smaller, larger) = (others.clone().any(|other| other < lambda), others.any(|other| other > lambda));
        // From lambda_max on nothing changes.
        let joined = self.lambda_max.as_ref().is_some_and(|bracket| lambda >= bracket.above);
        let end = match (smaller, larger) {
            (false, true) => "smallest tried; a smaller one might do better",
            (true, false) if !joined => "largest tried; a larger one might do better",
            _ => return None,
        };
        Some(format!("the chosen lambda {} is the {end}", crate::wording::number(lambda)))
    }

    /// Positions of the points by increasing lambda.
    pub fn increasing(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.path.points.len()).collect();
        order.sort_by(|a, b| self.path.points[*a].lambda.total_cmp(&self.path.points[*b].lambda));
        order
    }
}
