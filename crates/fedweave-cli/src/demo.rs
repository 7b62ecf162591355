//! `fedweave demo`: the main job on data that ship with the program.
//!
//! 207 weather stations of Finland, 96 hours: predict the temperature from the time of day and a trend, with ten training
//! hours a station.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use fedweave::split::{Part, SplitSpec, split};
use fedweave_io::{RunWriter, load};
use fedweave_report::Report;
use tempfile::TempPath;

use crate::compare::{Compared, compare_input};
use crate::config::{Lambda, RawConfig};
use crate::fit::{Fit, fit_input};
use crate::plan::Plan;
use crate::predict::Model;
use crate::story;
use crate::{Exit, say};

const STATIONS: &[u8] = include_bytes!("../data/fmi_hourly_2024.csv.gz");
const SOURCE: &str =
    "Finnish Meteorological Institute, open data, CC BY 4.0: hourly temperatures, 28 December 2023 to 1 January 2024";
/// The same request, for the shell.
const COMMAND: &str = "fedweave compare fedweave-demo/stations.csv.gz --node station --target temp --drop time --standardize \
  --knn 4 --by lat,lon --train 10 --validation 10 --ridge 0.001,0.1 --lambda-grid 2,1,0.5,0.25,0.125,0.06,0.03";

/// Fit weather stations of Finland
#[derive(Args)]
pub struct DemoArgs {
    /// Folder to write
    #[arg(long, short, default_value = "fedweave-demo")]
    out: PathBuf,
    /// Seed of the split
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(args: &DemoArgs) -> Result<Exit> {
    let writer = RunWriter::create(&args.out, true)?;
    let file = unpacked()?;
    let raw = request(&file, args.seed);
    let plan = Plan::compare(raw.clone())?;
    let input = load(&plan.input)?;
    let spec = plan.split.expect("rows are held out");
    let compared = compare_input(plan, input)?;
    let fit = refit(raw, &compared, &spec)?;

    let mut page = story::report_of(&fit);
    dress(&mut page, &compared);
    writer.write_bytes("stations.csv.gz", STATIONS)?;
    writer.write_parameters(&fit.input.features, &fit.input.names, &fit.parameters)?;
    writer.write_json("summary.json", &compared.summary())?;
    writer.write_json("encoding.json", &Model::of(&fit.loss, &fit.input))?;
    story::write_report(&writer, &page)?;
    writer.finish()?;
    say(&words(&fit, &compared, &args.out))?;
    Ok(Exit::Done)
}

fn request(stations: &Path, seed: u64) -> RawConfig {
    let list = |words: &[&str]| Some(words.iter().map(|w| (*w).to_owned()).collect());
    RawConfig {
        nodes: Some(stations.to_path_buf()),
        node: Some("station".into()),
        target: Some("temp".into()),
        drop: list(&["time"]),
        standardize: true,
        knn: Some(4),
        by: list(&["lat", "lon"]),
        train: Some(10.0),
        validation: Some(10.0),
        ridge: Some(vec![1e-3, 1e-1]),
        lambda_grid: Some(vec![2.0, 1.0, 0.5, 0.25, 0.125, 0.06, 0.03]),
        seed: Some(seed),
        title: Some("Temperature at 207 weather stations of Finland".into()),
        source: Some(SOURCE.into()),
        ..RawConfig::default()
    }
}

/// The networked models of the comparison once more, to certify them and to see how they were found.
fn refit(raw: RawConfig, compared: &Compared, spec: &SplitSpec) -> Result<Fit> {
    let chosen = &compared.outcomes[0].networked;
    let plan = Plan::fit(RawConfig {
        ridge: Some(vec![chosen.ridge]),
        lambda: chosen.lambda.map(Lambda::Fixed),
        lambda_grid: None,
        train: None,
        validation: None,
        ..raw
    })?;
    let mut input = load(&plan.input)?;
    let part = split(&input.data, input.groups.as_deref(), spec)?;
    input.data = input.data.select(&part.mask(Part::Train));
    fit_input(plan, input)
}

/// Errors on test rows, of all methods, in place of none.
fn dress(page: &mut Report, compared: &Compared) {
    compared.tell(page);
    let outcome = &compared.outcomes[0];
    page.command = "fedweave demo".into();
    page.what.split = compared.split_words();
    page.what.rows_held_out = compared.input.data.len() - page.what.rows;
    page.outcome.validation_error = outcome.networked.test.mean();
    page.outcome.local_error = outcome.local.test.mean();
    page.outcome.global_error = outcome.global.test.mean();
    for (i, node) in page.nodes.iter_mut().enumerate() {
        node.validation_error = outcome.networked.test.by_node[i];
        node.local_error = outcome.local.test.by_node[i];
        node.global_error = outcome.global.test.by_node[i];
    }
}

fn words(fit: &Fit, compared: &Compared, out: &Path) -> String {
    let s = &fit.solution;
    let gap = s.certified_gap.map_or("no certificate".into(), |gap| {
        format!("certified within {:.1e} of the optimal objective {:.1}", gap, s.objective)
    });
    format!(
        "207 weather stations of Finland, 4 nearest neighbours, 10 training hours a station: temperature from the hour and a trend\n\n\
         {}\n\nnetworked: lambda {}, ridge {}, {} iterations, {gap}\n\
         with the same hours held out at all stations (--split-by time) the advantage over local is gone\n\n\
         report: {}\nthe same by hand: {COMMAND}",
        compared.words(),
        fit.lambda,
        fit.plan.ridges[0],
        s.iterations,
        out.join("report.html").display(),
    )
}

/// The embedded data as a file, gone when dropped.
fn unpacked() -> Result<TempPath> {
    let file = tempfile::Builder::new().prefix("fedweave-demo-").suffix(".csv.gz").tempfile();
    let file = file.and_then(|mut file| file.write_all(STATIONS).map(|()| file));
    Ok(file.context("the data cannot be put into a temporary file")?.into_temp_path())
}
