//! `fedweave-bench`: the same problems solved by us and by others, side by side.
//!
//! Ours runs in this process; every competitor runs in a Python process of its own (`benches/compare`). The rule is
//! equal accuracy: our time ends with a certificate, theirs as soon as the objective is as close to the best one found.

mod machine;
mod million;
mod ours;
mod page;
mod places;
mod rivals;
mod sets;
mod table;
mod walk;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use fedweave_run::Stage;

use ours::Ours;
use page::{Audience, Page};
use places::Places;
use rivals::{Aim, Outcome, Paddock, Raced};
use sets::{Case, SetName};

const EXAMPLES: &str = "\
Examples:
  benches/compare/setup                                           once: the competitors, in target/bench-venv
  fedweave-bench --set quick                                      a first look
  fedweave-bench --set headline --out docs/benchmarks.md          replaces that part of the file
  fedweave-bench --problems nl_n1000_d10,tableI --only fedweave,clarabel_direct
  fedweave-bench --set growth --only fedweave                     our time from 10^3 to 10^6 nodes
  fedweave-bench --set headline --watch                           the same, live in the browser

Run it inside the repository: `cargo run --release -p fedweave-bench -- --set quick`. Time is wall time of solving on this
machine. Ours ends at a certified relative gap of the tolerance; a competitor's ends when its objective is within the
tolerance of the best one any method found. Problems are written to target/bench by benches/compare/problems.py, which
lists their names. Nothing else should run meanwhile.

Exit codes: 0 done, 1 ours stopped before a tolerance, 2 bad input or failure.";

/// The competition side by side, as ratios
#[derive(Parser)]
#[command(name = "fedweave-bench", version, after_help = EXAMPLES, max_term_width = 120)]
struct Arguments {
    /// Problems that belong together
    #[arg(long, value_enum)]
    set: Option<SetName>,
    /// Problems by name, separated by commas; with --set path, paths of these
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    problems: Option<Vec<String>>,
    /// Competitors by name (the files of benches/compare/solvers), separated by commas; `fedweave` for none
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Option<Vec<String>>,
    /// Markdown file: replaces what stands between <!-- bench:SET begin --> and <!-- bench:SET end -->
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Python with the competitors installed [default: that of target/bench-venv, or of $FEDWEAVE_BENCH_VENV]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Folder of the problem files [default: target/bench]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Times are the median of this many runs; ours of more than 10 s, theirs of more than 2 s are not repeated
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: usize,
    /// Seconds a competitor may take [default: 120; set scale: 330]; ours may take at least 600
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<f64>,
    /// Relative accuracy [default: 1e-6; for the largest problems as the set says]
    #[arg(long, value_name = "TOL")]
    tolerance: Option<f64>,
    /// Show the races in the browser while they go on: prints an address of this machine that holds a secret
    #[arg(long)]
    watch: bool,
}

/// One problem, solved by everybody.
struct Line {
    case: Case,
    ours: Ours,
    raced: Vec<Raced>,
    /// The smallest objective anybody found.
    best: f64,
}

fn main() -> ExitCode {
    let args = Arguments::parse();
    match Page::open(args.watch).and_then(|page| watched(&args, &page)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the benchmark, and leaves its end with those who look.
fn watched(args: &Arguments, page: &Page) -> Result<bool> {
    let outcome = run(args, &page.audience());
    match &outcome {
        Ok(true) => page.end(true, "Done"),
        Ok(false) => page.end(false, "Done; ours stopped before a tolerance"),
        Err(error) => page.end(false, &format!("{error:#}")),
    }
    outcome
}

/// Runs the benchmark; false if one of our solutions is not as accurate as asked for.
fn run(args: &Arguments, audience: &Audience) -> Result<bool> {
    let paths = args.set == Some(SetName::Path);
    ensure!(
        args.set.is_none() || args.problems.is_none() || paths,
        "--problems goes with --set path only: leave out --set"
    );
    ensure!(args.repeat > 0, "--repeat must be at least 1");
    ensure!(args.tolerance.is_none_or(|t| t > 0.0), "--tolerance must be positive");
    ensure!(args.time_limit.is_none_or(|t| t > 0.0 && t.is_finite()), "--time-limit must be positive");
    // This thread is one of the pool's, as in `fedweave fit`.
    rayon::ThreadPoolBuilder::new().use_current_thread().build_global()?;
    let cases = sets::cases(args);
    let places = Places::find(args)?;
    if paths {
        finish(args, SetName::Path.name(), &walk::markdown(&cases, &places, args.repeat, audience)?)?;
        return Ok(true);
    }
    let wanted = cases.iter().any(|case| !case.rivals.is_empty(args.only.as_deref()));
    let paddock = wanted.then(|| Paddock::open(&places)).transpose()?;
    if let (Some(paddock), Some(only)) = (&paddock, &args.only) {
        paddock.check_names(only)?;
    }
    let started = machine::facts();
    let lines: Vec<Line> =
        cases.into_iter().map(|case| line(args, case, &places, paddock.as_ref(), audience)).collect::<Result<_>>()?;
    let name = args.set.map_or("problems", SetName::name);
    let versions = paddock.as_ref().map(|p| p.versions.as_slice()).unwrap_or_default();
    finish(args, name, &table::markdown(name, &lines, &started, versions))?;
    Ok(lines.iter().all(|line| line.ours.converged))
}

/// Prints the results, and puts them where they are wanted.
fn finish(args: &Arguments, name: &str, text: &str) -> Result<()> {
    println!("{text}");
    args.out.as_ref().map_or(Ok(()), |path| places::replace_section(path, name, text))
}

/// Ours first, then a closer look at the optimum, then everybody else.
fn line(args: &Arguments, case: Case, places: &Places, paddock: Option<&Paddock>, audience: &Audience) -> Result<Line> {
    let observer = audience.observer();
    observer.begin(Stage::new(format!("{}: reading", case.name), case.tolerance));
    let read = ours::read(&case, places)?;
    let ours = ours::time(&read, &case, args.repeat, observer);
    audience.tell(&format!("{}: fedweave {}", case.name, table::our_cell(&ours)));
    let field = paddock.filter(|_| !case.rivals.is_empty(args.only.as_deref()));
    let Some(paddock) = field else {
        return Ok(Line { best: ours.objective, case, ours, raced: Vec::new() });
    };
    let mut best = ours::reference(&read, &case, &ours, observer).min(ours.objective);
    let target = best + case.tolerance * best.abs().max(1.0);
    let aim = Aim { target, limit: case.limit, repeat: args.repeat };
    let kind = (read.loss.clone(), read.penalty.clone());
    drop(read); // the competitors may need the memory
    let mut raced = Vec::new();
    for rival in paddock.rivals.iter().filter(|rival| case.rivals.includes(&rival.name, args.only.as_deref())) {
        observer.begin(Stage::new(format!("{}: {}", case.name, rival.title), case.tolerance));
        let outcome = paddock.race(rival, &kind, &places.problem(&case.name), &aim);
        if !matches!(outcome, Outcome::NotForThis) {
            audience.tell(&format!("{}: {} {}", case.name, rival.name, table::cell(&outcome, &ours, best)));
        }
        best = best.min(outcome.objective().unwrap_or(f64::INFINITY));
        raced.push(Raced { name: rival.name.clone(), title: rival.title.clone(), outcome });
    }
    Ok(Line { case, ours, raced, best })
}
