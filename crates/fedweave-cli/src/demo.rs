//! `fedweave demo`: the main job on data that ship with the program.
//!
//! Houses sold in 160 places of Lucas County, Ohio: predict their price from 15 sales in each, beside what else one would use.
//! `--weather` is the demo of 207 weather stations.

mod weather;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use fedweave::learn::race::Entry;
use fedweave_io::load;
use fedweave_report::Report;
use fedweave_run::compare::CompareResult;
use fedweave_run::request::{CompareRequest, FitRequest, Settings, Value};
use fedweave_run::tune::TuneResult;
use fedweave_run::{compare, fit, run_dir, tune};
use tempfile::TempPath;

use crate::progress::Terminal;
use crate::{Exit, say};

const HOUSES: &[u8] = include_bytes!("../data/lucas_housing.csv.gz");
const SOURCE: &str =
    "house sales in Lucas County, Ohio, 1993 to 1998: J. LeSage and R. K. Pace, R package spData, CC0 1.0";
/// The same request, for the shell.
const COMMAND: &str = "fedweave compare fedweave-demo/houses.csv.gz --target log10_price --standardize --knn 5 --by x,y \
  --train 10 --validation 5 --tune";

/// Predict house prices, or temperatures at weather stations
#[derive(Args)]
pub struct DemoArgs {
    /// Temperatures at weather stations of Finland instead of house prices
    #[arg(long)]
    weather: bool,
    /// Folder to write
    #[arg(long, short, default_value = "fedweave-demo")]
    out: PathBuf,
    /// Seed of the split
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(args: &DemoArgs) -> Result<Exit> {
    match args.weather {
        true => weather::run(&args.out, args.seed),
        false => houses(&args.out, args.seed),
    }
}

fn houses(out: &Path, seed: u64) -> Result<Exit> {
    let writer = run_dir::create_at(out, true)?;
    let file = unpacked(HOUSES)?;
    let settings = settings(&file, seed);
    let (request, spec) = CompareRequest::of_files(&settings)?;
    let terminal = Terminal::new();
    let compared = compare::compare(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let tuned = compared.tuned.as_ref().context("interrupted before anything was found")?;

    writer.write_bytes(run_dir::HOUSES, HOUSES)?;
    tune::write_predictors(tuned, &writer)?;
    writer.write_json(run_dir::SUMMARY, &compare::summary(&compared))?;
    run_dir::write_report(&writer, &page(tuned, &compared)?)?;
    writer.finish()?;
    write_network(settings, &out.join(run_dir::HOUSES), &compared, out)?;
    say(&words(tuned, &compared, out))?;
    Ok(Exit::Done)
}

/// The fit of the networked models of a comparison.
fn network_settings(settings: Settings, compared: &CompareResult) -> Settings {
    let chosen = &compared.outcomes[0].networked;
    settings
        .without(&["lambda-grid", "train", "validation", "tune"])
        .with("ridge", Value::Numbers(vec![chosen.ridge]))
        .with("lambda", Value::Number(chosen.lambda.unwrap_or(0.0)))
}

/// The networked models from all rows of `table`, as a run like any other: it can be explained, stressed and audited.
fn write_network(settings: Settings, table: &Path, compared: &CompareResult, out: &Path) -> Result<()> {
    let table = Value::Text(table.to_string_lossy().into_owned());
    let (request, spec) = FitRequest::of_files(&network_settings(settings, compared).with("nodes", table))?;
    let terminal = Terminal::new();
    let fitted = fit::fit(request, load(&spec)?, &terminal)?;
    terminal.finish();
    fit::write_run(&fitted, run_dir::create_at(&out.join(run_dir::NETWORK_RUN), true)?)?;
    Ok(())
}

/// What to do with the networked models.
fn network_words(out: &Path) -> String {
    let run = out.join(run_dir::NETWORK_RUN);
    format!(
        "the network from all rows, and what was measured about it: fedweave trust {} --out trust.html",
        run.display()
    )
}

fn settings(houses: &Path, seed: u64) -> Settings {
    let text = |word: &str| Value::Text(word.to_owned());
    Settings::default()
        .with("nodes", text(&houses.to_string_lossy()))
        .with("target", text("log10_price"))
        .with("standardize", Value::Flag(true))
        .with("knn", Value::Count(5))
        .with("by", Value::Texts(vec!["x".into(), "y".into()]))
        .with("train", Value::Number(10.0))
        .with("validation", Value::Number(5.0))
        .with("tune", Value::Flag(true))
        .with("seed", Value::Count(seed))
        .with("title", text("House prices in 160 places of Lucas County, Ohio"))
        .with("source", text(SOURCE))
}

/// The report of the race, with errors on test rows of all methods.
fn page(tuned: &TuneResult, compared: &CompareResult) -> Result<Report> {
    let mut page = tune::report_of(tuned)?;
    compared.put_into(&mut page);
    page.command = "fedweave demo".into();
    // The last one is a command that names a temporary file.
    page.notices.pop();
    page.what.split = compared.request.held_out.describe();
    page.what.rows_held_out = compared.input.data.len() - tuned.input.data.len();
    let (leading, outcome) = (compared.leading(), &compared.outcomes[0]);
    page.outcome.validation_error = Some(compared.error(leading).0);
    page.outcome.local_error = outcome.local.test.mean();
    page.outcome.global_error = outcome.global.test.mean();
    for (i, node) in page.nodes.iter_mut().enumerate() {
        node.validation_error = compared.node_error(leading, i);
        node.local_error = outcome.local.test.by_node[i];
        node.global_error = outcome.global.test.by_node[i];
    }
    Ok(page)
}

fn words(tuned: &TuneResult, compared: &CompareResult, out: &Path) -> String {
    let part = |entry: &Entry| format!("{:.0} % {}", 100.0 * entry.member.share, entry.member.name);
    let parts = tuned.race.winners().map(part).collect::<Vec<_>>().join(", ");
    let (best, network) = (compared.best(), network_words(out));
    let out = out.display();
    format!(
        "house prices in 160 places of Lucas County, Ohio: 15 sales known in each, the other {} to be predicted\n\n{}\n\n\
         best on rows that nobody has seen: {}\n\
         tuned, chosen by folds of the known sales alone: {parts}\n\n\
         report: {out}/report.html\npredict: fedweave predict {out} {out}/houses.csv.gz --interval 0.9 > predictions.csv\n{network}\n\
         the same by hand: {COMMAND}",
        compared.input.data.len() - tuned.input.data.len(),
        compare::text(compared),
        best.name,
    )
}

/// Embedded data as a file, gone when dropped.
fn unpacked(data: &[u8]) -> Result<TempPath> {
    let file = tempfile::Builder::new().prefix("fedweave-demo-").suffix(".csv.gz").tempfile();
    let file = file.and_then(|mut file| file.write_all(data).map(|()| file));
    Ok(file.context("the data cannot be put into a temporary file")?.into_temp_path())
}
