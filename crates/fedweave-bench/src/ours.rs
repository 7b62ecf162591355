//! Our own times: reading the files the normal way, then solving to a certified gap.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use fedweave::Problem;
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::named;
use fedweave::solve::{Settings, Solution, Status, Watch, solve};
use fedweave_io::{InputSpec, TargetKind};
use fedweave_run::{Observer, Stage};
use serde::Deserialize;

use crate::places::Places;
use crate::sets::Case;
use crate::{machine, million};

/// Our name in lists of competitors.
pub const NAME: &str = "fedweave";

/// Runs longer than this are not repeated.
const LONG: f64 = 10.0;
/// Ours may always take this long.
const LIMIT_MIN: f64 = 600.0;
/// How much closer to the optimum the reference should be than the tolerance, and how long it may take for that.
const CLOSER: f64 = 0.01;
const REFERENCE_SECONDS: f64 = 10.0;
/// Time is the limit, not iterations.
const ITERATIONS_MAX: usize = 100_000_000;

/// A problem in memory.
pub struct Read {
    pub problem: Problem,
    pub loss: String,
    pub penalty: String,
    seconds: f64,
}

/// How we did.
#[derive(Debug, Clone)]
pub struct Ours {
    pub nodes: usize,
    pub dim: usize,
    pub edges: usize,
    /// Median seconds of solving.
    pub seconds: f64,
    /// Processor time of the same run.
    pub cpu: Option<f64>,
    /// Seconds with reading, or making, the problem.
    pub with_reading: f64,
    pub objective: f64,
    /// Relative certified gap.
    pub gap: Option<f64>,
    pub converged: bool,
    /// Runs the median is of.
    pub runs: usize,
    /// MiB.
    pub peak_memory: Option<f64>,
}

/// What `problem.json` says.
#[derive(Deserialize)]
struct About {
    loss: String,
    #[serde(default)]
    loss_params: LossParams,
    penalty: String,
    lambda: f64,
}

#[derive(Deserialize, Default)]
struct LossParams {
    ridge: Option<f64>,
    huber_delta: Option<f64>,
    quantile: Option<f64>,
    classes: Option<usize>,
}

/// Reads a problem, or makes it.
pub fn read(case: &Case, places: &Places) -> Result<Read> {
    if case.name == million::NAME && !places.problem(&case.name).is_dir() {
        eprintln!("{}: making it in memory", case.name);
        machine::forget_peak();
        let started = Instant::now();
        let problem = million::problem()?;
        let seconds = started.elapsed().as_secs_f64();
        return Ok(Read { problem, loss: "squared".into(), penalty: "norm2".into(), seconds });
    }
    let folder = places.provide(&case.name)?;
    machine::forget_peak();
    let started = Instant::now();
    let (problem, about) = load(&folder).with_context(|| case.name.clone())?;
    Ok(Read { problem, loss: about.loss, penalty: about.penalty, seconds: started.elapsed().as_secs_f64() })
}

fn load(folder: &Path) -> Result<(Problem, About)> {
    let path = folder.join("problem.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let about: About = serde_json::from_str(&text).with_context(|| format!("{}: not a problem", path.display()))?;
    let parameters = &about.loss_params;
    let family = Family::named(&about.loss, parameters.huber_delta.unwrap_or(1.0), parameters.quantile.unwrap_or(0.5));
    let family = family.map(|family| match (family, parameters.classes) {
        (Family::Multinomial { .. }, Some(classes)) => Family::Multinomial { classes },
        (other, _) => other,
    });
    let family = family.with_context(|| format!("{}: unknown loss {}", path.display(), about.loss))?;
    let penalty = named(&about.penalty);
    let penalty = penalty.with_context(|| format!("{}: unknown penalty {}", path.display(), about.penalty))?;
    let input = fedweave_io::load(&InputSpec {
        edges: Some(folder.join("edges.csv")),
        target: Some("y".into()),
        target_kind: if family == Family::Point { TargetKind::None } else { TargetKind::Number },
        intercept: false,
        ..InputSpec::new(folder.join("nodes.csv"))
    })?;
    let options = LossOptions { ridge: parameters.ridge.unwrap_or(0.0), ..LossOptions::default() };
    let loss = family.build(input.data, &options)?;
    Ok((Problem::build(input.graph, loss, penalty, about.lambda)?, about))
}

/// Solves to the tolerance, several times unless it takes long.
pub fn time(read: &Read, case: &Case, repeat: usize, observer: &dyn Observer) -> Ours {
    let mut runs = Vec::new();
    loop {
        let what = format!("{}: fedweave, run {} of {repeat}", case.name, runs.len() + 1);
        observer.begin(Stage::new(what, case.tolerance));
        let (cpu, started) = (machine::cpu_seconds(), Instant::now());
        let solution = solve_within(&read.problem, case.tolerance, case.limit.max(LIMIT_MIN), observer);
        let seconds = started.elapsed().as_secs_f64();
        let cpu = cpu.and_then(|before| Some(machine::cpu_seconds()? - before));
        runs.push((seconds, cpu, solution));
        if runs.len() >= repeat || seconds > LONG {
            break;
        }
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = runs.len();
    let (seconds, cpu, solution) = runs.swap_remove((count - 1) / 2);
    Ours {
        nodes: read.problem.nodes(),
        dim: read.problem.dim(),
        edges: read.problem.graph().edges(),
        seconds,
        cpu,
        with_reading: read.seconds + seconds,
        objective: solution.objective,
        gap: solution.certified_gap.map(|gap| gap / solution.objective.abs().max(1.0)),
        converged: solution.status == Status::Converged && solution.certified_gap.is_some(),
        runs: count,
        peak_memory: machine::peak_memory(),
    }
}

/// An objective closer to the optimum, so that nobody can stop early because we did.
pub fn reference(read: &Read, case: &Case, ours: &Ours, observer: &dyn Observer) -> f64 {
    let (tolerance, limit) = (CLOSER * case.tolerance, (3.0 * ours.seconds).max(REFERENCE_SECONDS));
    observer.begin(Stage::new(format!("{}: a closer look at the optimum", case.name), tolerance));
    solve_within(&read.problem, tolerance, limit, observer).objective
}

fn solve_within(problem: &Problem, tolerance: f64, limit: f64, observer: &dyn Observer) -> Solution {
    let settings = Settings { tolerance, iterations_max: ITERATIONS_MAX, ..Settings::default() };
    let started = Instant::now();
    solve(problem, &settings, None, &mut |record| match started.elapsed().as_secs_f64() > limit {
        true => Watch::Stop(Status::TimeLimit),
        false => observer.see(record),
    })
}
