//! `fedweave path`: models and clusters over a grid of lambda.

mod choose;
mod partition;
mod words;

use std::time::Instant;

use anyhow::{Result, ensure};
use fedweave::graph::partition::Partition;
use fedweave::loss::{Loss, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::path::{
    Bracket, Path, PathPoint, PathSettings, PathWatch, Recovery, geometric, lambda_max, path, recovery,
};
use fedweave::problem::Problem;
use fedweave::solve::{Record, Solution, Start, Status, Watch, solve};
use fedweave::split::Part;
use fedweave::tune::{Errors, stiff_lambda};
use fedweave_io::{Input, RunWriter, load};

use crate::config::RawConfig;
use crate::fit::{Fit, Solved, Training, build, check, exit, hold_out, measures_positions, refuse_runaway, time_left};
use crate::plan::{Plan, at_least, choice};
use crate::progress::{Watcher, catch_interrupts, interrupted, use_threads};
use crate::trial::Trial;
use crate::{Exit, say};
use choose::choose;

pub const EXAMPLES: &str = "\
Examples:
  fedweave path points.csv --edges edges.csv --loss point --out path       convex clustering, all of it
  fedweave path nodes.csv --edges edges.csv --target y --validation 0.2    with held-out errors
  fedweave path nodes.csv --edges edges.csv --target y --breakpoints 1e-4  where clusters change
  fedweave path points.csv --edges all.csv --loss point --partition kind   where is `kind` provably recovered?

Without --lambda-grid the values go down from lambda_max, the smallest lambda with one model per component.";

/// Relative width to which lambda_max and the ends of recovery intervals are bracketed.
pub const WIDTH: f64 = 1e-3;
/// The grid ends at this share of lambda_max.
pub const SMALLEST: f64 = 1e-3;

/// A solved path, and the fit at one of its values.
pub struct Walk {
    /// The fit at the chosen value; its status is that of the whole path.
    pub fit: Fit,
    pub lambda_max: Option<Bracket>,
    pub lambda_max_seconds: f64,
    pub path: Path,
    /// Errors of every point.
    pub errors: Vec<PointErrors>,
    /// Position of the value chosen.
    pub chosen: usize,
    /// How it was chosen.
    pub why: &'static str,
    pub recovery: Option<Recovery>,
    /// The partition asked for was given, not found.
    pub given: bool,
    /// Values on the grid.
    pub wanted: usize,
}

/// Errors at one lambda.
pub struct PointErrors {
    pub train: Errors,
    pub validation: Option<Errors>,
}

/// What was asked about the grid.
struct Ask {
    count: usize,
    ratio: Option<f64>,
    up: bool,
    breakpoints: Option<f64>,
}

impl Ask {
    fn new(raw: &RawConfig) -> Result<Ask> {
        let count = raw.count.unwrap_or(50);
        ensure!((2..=100_000).contains(&count), "--count {count}: must be at least 2 and at most 100000");
        if let Some(ratio) = raw.lambda_min_ratio {
            ensure!(ratio > 0.0 && ratio < 1.0, "--lambda-min-ratio {ratio}: must be between 0 and 1");
        }
        if let Some(width) = raw.breakpoints {
            at_least("--breakpoints", width, 1e-9)?;
        }
        // Upwards every solve starts near its solution; downwards the first ones are the hardest.
        let up = choice("--direction", raw.direction.as_deref(), &[("up", true), ("down", false)])?;
        Ok(Ask { count, ratio: raw.lambda_min_ratio, up, breakpoints: raw.breakpoints })
    }

    fn grid(&self, raw: &RawConfig, problem: &Problem, lambda_max: Option<&Bracket>) -> Vec<f64> {
        let mut grid = match (&raw.lambda_grid, lambda_max) {
            (Some(grid), _) => grid.clone(),
            (None, Some(b)) if b.above > 0.0 => geometric(b.above, self.ratio.unwrap_or(SMALLEST), self.count),
            (None, _) => geometric(stiff_lambda(problem), self.ratio.unwrap_or(1e-7), self.count),
        };
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        if !self.up {
            grid.reverse();
        }
        grid
    }
}

/// Runs the command.
pub fn run(raw: RawConfig) -> Result<Exit> {
    let plan = Plan::path(raw.resolve()?)?;
    let ask = Ask::new(&plan.raw)?;
    use_threads(plan.raw.threads);
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    let input = load(&plan.input)?;
    ensure!(input.graph.edges() > 0, "there are no edges, so nothing depends on lambda: give --edges or --knn");
    let Some(walk) = walk(plan, input, &ask)? else {
        eprintln!("stopped before the first value of lambda was solved; nothing is written");
        return Ok(if interrupted() { Exit::Interrupted } else { Exit::Unfinished });
    };
    let written = writer.map(|writer| words::write(&walk, writer)).transpose()?;
    match walk.fit.plan.raw.json {
        true => say(&words::summary(&walk).to_string())?,
        false => say(&words::words(&walk, written.as_deref()))?,
    }
    Ok(exit(walk.fit.solution.status))
}

/// Solves the path; `None` if it was stopped before its first point.
fn walk(plan: Plan, input: Input, ask: &Ask) -> Result<Option<Walk>> {
    catch_interrupts();
    let started = Instant::now();
    let loss = plan.loss(&input)?;
    check(&plan, &input, &loss)?;
    let given = partition::given(&plan.raw, &input)?;
    let split = plan.split.as_ref().map(|spec| hold_out(&input, spec, "leave out --validation")).transpose()?;
    let rows = match &split {
        Some(split) => input.data.select(&split.mask(Part::Train)),
        None => input.data.clone(),
    };
    let training = Training::new(&plan, rows);
    refuse_runaway(&plan, &input, &loss, &training.scaled, 1.0, &plan.options)?;
    let trial = split.as_ref().map(|split| Trial::new(&plan, &input, &loss, split));
    let mut problem = build(&plan, &input, &loss, training.scaled.clone(), 1.0)?;
    let mut watcher = Watcher::new("lambda_max", WIDTH, usize::MAX, time_left(&plan, started));
    let bracket = lambda_max(&mut problem, WIDTH, &mut |record| watcher.see(record))?;
    let lambda_max_seconds = watcher.finish();
    let grid = ask.grid(&plan.raw, &problem, bracket.as_ref());
    let validation = trial.as_ref().map(|t| t.plain(&t.validation)).transpose()?;
    let mut steps = Steps {
        plan: &plan,
        loss: &loss,
        training: &training,
        started,
        wanted: grid.len(),
        error_loss: training.error_loss(&loss)?,
        validation,
        watcher: None,
        errors: Vec::new(),
        last: None,
    };
    let settings =
        PathSettings { solve: plan.settings.clone(), breakpoints: ask.breakpoints, lambda_max: bracket.as_ref() };
    let began = Instant::now();
    let path = path(&mut problem, &grid, &settings, &mut steps)?;
    let seconds = began.elapsed().as_secs_f64();
    let (errors, last) = (std::mem::take(&mut steps.errors), steps.last.take());
    drop(steps);
    let Some((at, last)) = last else { return Ok(None) };
    let (chosen, why) = choose(&path, &errors, plan.rule, input.names.len());
    // A path that was broken off shows the models it has.
    let (chosen, why) = if path.stopped.is_some() { (at, "the last value solved") } else { (chosen, why) };
    let mut solution =
        if at == chosen { last } else { solve_again(&plan, &mut problem, &path.points[chosen], &last, started)? };
    problem.set_lambda(path.points[chosen].lambda)?;
    let partition = given.clone().unwrap_or_else(|| path.points[chosen].partition.clone());
    let recovery = match path.stopped {
        Some(_) => None,
        None => Some(look_for_recovery(&plan, &mut problem, &partition, &grid, path.points[chosen].lambda, started)?),
    };
    solution.status = if interrupted() { Status::Interrupted } else { status(&path, solution.status) };
    let held_out = match (trial, split, &errors[chosen].validation) {
        (Some(trial), Some(split), Some(validation)) => Some(trial.judge(&plan, split, validation.clone())?),
        _ => None,
    };
    let wanted = grid.len();
    let fit = Solved { plan, input, loss, problem, training, solution, traffic: None, seconds, held_out, tuning: None }
        .into_fit()?;
    Ok(Some(Walk {
        fit,
        lambda_max: bracket,
        lambda_max_seconds,
        path,
        errors,
        chosen,
        why,
        recovery,
        given: given.is_some(),
        wanted,
    }))
}

/// The models of one point again; the path keeps only its last ones.
fn solve_again(
    plan: &Plan,
    problem: &mut Problem,
    point: &PathPoint,
    last: &Solution,
    started: Instant,
) -> Result<Solution> {
    problem.set_lambda(point.lambda)?;
    let settings = &plan.settings;
    let mut watcher = Watcher::new("chosen", settings.tolerance, settings.iterations_max, time_left(plan, started));
    let solution = solve(problem, settings, Some(Start::from(last)), &mut |record| watcher.see(record));
    watcher.finish();
    Ok(solution)
}

fn look_for_recovery(
    plan: &Plan,
    problem: &mut Problem,
    partition: &Partition,
    grid: &[f64],
    guess: f64,
    started: Instant,
) -> Result<Recovery> {
    let mut watcher = Watcher::new("recovery", WIDTH, usize::MAX, time_left(plan, started));
    let found = recovery(problem, partition, grid, guess, WIDTH, &mut |record| watcher.see(record))?;
    watcher.finish();
    Ok(found)
}

/// How the whole path ended: as its worst part.
fn status(path: &Path, chosen: Status) -> Status {
    let limited = path.points.iter().map(|p| p.status).find(|s| *s != Status::Converged);
    path.stopped.or(limited).unwrap_or(chosen)
}

/// Watches the path: progress, errors, and the models of the last value.
struct Steps<'a> {
    plan: &'a Plan,
    loss: &'a LossSpec,
    training: &'a Training,
    started: Instant,
    wanted: usize,
    error_loss: Box<dyn Loss>,
    validation: Option<Box<dyn Loss>>,
    watcher: Option<(usize, Watcher)>,
    errors: Vec<PointErrors>,
    last: Option<(usize, Solution)>,
}

impl PathWatch for Steps<'_> {
    fn see(&mut self, k: usize, record: &Record) -> Watch {
        if self.watcher.as_ref().is_none_or(|(at, _)| *at != k) {
            let what = format!("lambda {}/{}", k + 1, self.wanted);
            let (settings, limit) = (&self.plan.settings, time_left(self.plan, self.started));
            let fresh = Watcher::new(&what, settings.tolerance, settings.iterations_max, limit);
            let fresh = fresh.piece(k, self.wanted, self.started);
            if let Some((_, old)) = self.watcher.replace((k, fresh)) {
                old.finish();
            }
        }
        self.watcher.as_mut().expect("made above").1.see(record)
    }

    fn keep(&mut self, k: usize, _point: &PathPoint, solution: &Solution) {
        let parameters = self.training.restore(self.loss, &solution.w);
        let models = if measures_positions(self.loss) { &parameters } else { &solution.w };
        let train = Errors::of(&*self.error_loss, models);
        let validation = self.validation.as_ref().map(|loss| Errors::of(&**loss, &solution.w));
        self.errors.push(PointErrors { train, validation });
        self.last = Some((k, solution.clone()));
    }

    /// Clusters are those of the models that are written.
    fn models(&self, w: &Matrix) -> Option<Matrix> {
        self.plan.raw.standardize.then(|| self.training.restore(self.loss, w))
    }
}
