//! `fedweave demo --weather`.
//!
//! 207 weather stations of Finland, 96 hours: predict the temperature from the time of day and a trend, with ten training
//! hours a station.

use std::path::Path;

use anyhow::Result;
use fedweave::split::{Part, split};
use fedweave_io::load;
use fedweave_report::Report;
use fedweave_run::compare::CompareResult;
use fedweave_run::fit::FitResult;
use fedweave_run::predictor::encoding_of;
use fedweave_run::request::{CompareRequest, FitRequest, Settings, Value};
use fedweave_run::{compare, fit, run_dir};

use super::{network_settings, network_words, unpacked, write_network};
use crate::progress::Terminal;
use crate::{Exit, say};

const STATIONS: &[u8] = include_bytes!("../../data/fmi_hourly_2024.csv.gz");
const SOURCE: &str =
    "Finnish Meteorological Institute, open data, CC BY 4.0: hourly temperatures, 28 December 2023 to 1 January 2024";
/// The same request, for the shell.
const COMMAND: &str = "fedweave compare fedweave-demo/stations.csv.gz --node station --target temp --drop time --standardize \
  --knn 4 --by lat,lon --train 10 --validation 10 --ridge 0.001,0.1 --lambda-grid 2,1,0.5,0.25,0.125,0.06,0.03";

pub fn run(out: &Path, seed: u64) -> Result<Exit> {
    let writer = run_dir::create_at(out, true)?;
    let file = unpacked(STATIONS)?;
    let settings = settings(&file, seed);
    let (request, spec) = CompareRequest::of_files(&settings)?;
    let terminal = Terminal::new();
    let compared = compare::compare(request, load(&spec)?, &terminal)?;
    let fit = refit(settings.clone(), &compared, &terminal)?;
    terminal.finish();

    let mut page = fit::report_of(&fit)?;
    dress(&mut page, &compared);
    writer.write_bytes(run_dir::STATIONS, STATIONS)?;
    writer.write_parameters(&fit.input.features, &fit.input.names, &fit.parameters)?;
    writer.write_json(run_dir::SUMMARY, &compare::summary(&compared))?;
    writer.write_json(run_dir::ENCODING, &encoding_of(&fit.loss, &fit.input))?;
    run_dir::write_report(&writer, &page)?;
    writer.finish()?;
    write_network(settings, &out.join(run_dir::STATIONS), &compared, out)?;
    say(&words(&fit, &compared, out))?;
    Ok(Exit::Done)
}

fn settings(stations: &Path, seed: u64) -> Settings {
    let texts = |words: &[&str]| Value::Texts(words.iter().map(|w| (*w).to_owned()).collect());
    let text = |word: &str| Value::Text(word.to_owned());
    Settings::default()
        .with("nodes", text(&stations.to_string_lossy()))
        .with("node", text("station"))
        .with("target", text("temp"))
        .with("drop", texts(&["time"]))
        .with("standardize", Value::Flag(true))
        .with("knn", Value::Count(4))
        .with("by", texts(&["lat", "lon"]))
        .with("train", Value::Number(10.0))
        .with("validation", Value::Number(10.0))
        .with("ridge", Value::Numbers(vec![1e-3, 1e-1]))
        .with("lambda-grid", Value::Numbers(vec![2.0, 1.0, 0.5, 0.25, 0.125, 0.06, 0.03]))
        .with("seed", Value::Count(seed))
        .with("title", text("Temperature at 207 weather stations of Finland"))
        .with("source", text(SOURCE))
}

/// The networked models of the comparison once more, to certify them and to see how they were found.
fn refit(settings: Settings, compared: &CompareResult, terminal: &Terminal) -> Result<FitResult> {
    let (request, spec) = FitRequest::of_files(&network_settings(settings, compared))?;
    let mut input = load(&spec)?;
    let held = compared.request.held_out.spec.expect("compare holds out rows");
    let part = split(&input.data, input.groups.as_deref(), &held)?;
    input.data = input.data.select(&part.mask(Part::Train));
    Ok(fit::fit(request, input, terminal)?)
}

/// Errors on test rows, of all methods, in place of none.
fn dress(page: &mut Report, compared: &CompareResult) {
    compared.put_into(page);
    let outcome = &compared.outcomes[0];
    page.command = "fedweave demo --weather".into();
    page.what.split = compared.request.held_out.describe();
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

fn words(fit: &FitResult, compared: &CompareResult, out: &Path) -> String {
    let s = &fit.solution;
    let gap = s.certified_gap.map_or("no certificate".into(), |gap| {
        format!("certified within {:.1e} of the optimal objective {:.1}", gap, s.objective)
    });
    format!(
        "207 weather stations of Finland, 4 nearest neighbours, 10 training hours a station: temperature from the hour and a trend\n\n\
         {}\n\nnetworked: lambda {}, ridge {}, {} iterations, {gap}\n\
         with the same hours held out at all stations (--split-by time) the advantage over local is gone\n\n\
         report: {}\n{}\nthe same by hand: {COMMAND}",
        compare::text(compared),
        fit.problem.lambda(),
        fit.request.model.ridges[0],
        s.iterations,
        out.join("report.html").display(),
        network_words(out),
    )
}
