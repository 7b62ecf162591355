//! A path of 50 values of lambda against 50 solutions from nothing, on the same grid.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fedweave::Problem;
use fedweave::path::{PathSettings, PathWatch, geometric, lambda_max, path};
use fedweave::solve::{Record, Settings, Status, Watch, solve};
use fedweave_run::{Observer, Stage};

use crate::machine;
use crate::ours;
use crate::page::Audience;
use crate::places::Places;
use crate::sets::Case;

/// Values of lambda, the smallest one as a share of the largest, and the relative width of the bracket around that: as in
/// `fedweave path`.
const COUNT: usize = 50;
const SMALLEST: f64 = 1e-3;
const WIDTH: f64 = 1e-3;

/// The times of one problem.
struct Walk {
    lambda_max: f64,
    path: f64,
    cold: f64,
    iterations: (usize, usize),
}

struct Hand<'a>(&'a dyn Observer);

impl PathWatch for Hand<'_> {
    fn see(&mut self, _k: usize, record: &Record) -> Watch {
        self.0.see(record)
    }
}

/// A table with a line per problem.
pub fn markdown(cases: &[Case], places: &Places, repeat: usize, audience: &Audience) -> Result<String> {
    let mut text = format!("Set `path`. {}.\n\n", machine::facts());
    text.push_str(
        "| problem | path of 50 | iterations | 50 solutions from nothing | iterations | ratio | lambda_max before |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|\n");
    for case in cases {
        let mut walks = Vec::new();
        for _ in 0..repeat {
            walks.push(walk(case, places, audience.observer())?);
        }
        walks.sort_by(|a, b| (a.path / a.cold).total_cmp(&(b.path / b.cold)));
        let w = &walks[(walks.len() - 1) / 2];
        let (on_the_way, from_nothing) = w.iterations;
        let line = format!(
            "| {} | {:.3} s | {on_the_way} | {:.3} s | {from_nothing} | {:.2} | {:.3} s |",
            case.name,
            w.path,
            w.cold,
            w.path / w.cold,
            w.lambda_max
        );
        audience.tell(&line);
        writeln!(text, "{line}")?;
    }
    Ok(text.trim_end().to_owned())
}

/// All values must be solved to the tolerance in both ways, or there is nothing to compare.
fn walk(case: &Case, places: &Places, observer: &dyn Observer) -> Result<Walk> {
    let begin = |what: &str| observer.begin(Stage::new(format!("{}: {what}", case.name), case.tolerance));
    let mut problem = ours::read(case, places)?.problem;
    let settings = Settings { tolerance: case.tolerance, ..Settings::default() };
    begin("the largest lambda");
    let began = Instant::now();
    let bracket =
        lambda_max(&mut problem, WIDTH, &mut |_| Watch::Continue)?.context("the penalty has no lambda_max")?;
    let found = began.elapsed().as_secs_f64();
    let mut grid = geometric(bracket.above, SMALLEST, COUNT);
    grid.reverse();
    let ask = PathSettings { solve: settings.clone(), breakpoints: None, lambda_max: Some(&bracket) };
    begin("the path");
    let began = Instant::now();
    let points = path(&mut problem, &grid, &ask, &mut Hand(observer))?.points;
    let walked = began.elapsed().as_secs_f64();
    ensure!(points.len() == COUNT && points.iter().all(|p| p.status == Status::Converged), "the path did not end");
    begin("from nothing");
    let (cold, iterations) = cold(&mut problem, &settings, &grid, observer)?;
    let on_the_way = points.iter().map(|p| p.iterations).sum();
    Ok(Walk { lambda_max: found, path: walked, cold, iterations: (on_the_way, iterations) })
}

/// Seconds and iterations of all values, each from nothing.
fn cold(problem: &mut Problem, settings: &Settings, grid: &[f64], observer: &dyn Observer) -> Result<(f64, usize)> {
    let (began, mut iterations) = (Instant::now(), 0);
    for &lambda in grid {
        problem.set_lambda(lambda)?;
        let solution = solve(problem, settings, None, &mut |record| observer.see(record));
        ensure!(solution.status == Status::Converged, "lambda {lambda} was not solved");
        iterations += solution.iterations;
    }
    Ok((began.elapsed().as_secs_f64(), iterations))
}
