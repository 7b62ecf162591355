//! The run directory: the name of every file and column that a job leaves behind, written and read here.

use std::path::Path;

use fedweave_io::{IoError, RunWriter};
use fedweave_report::{Report, render};
use serde_json::Value;

use crate::error::Result;
use crate::request::Output;

/// The one JSON object of a job. It tells a run directory from any other folder.
pub const SUMMARY: &str = "summary.json";
/// What was said, to run it again.
pub const CONFIG: &str = "config.toml";
/// How to read rows, and what scores mean.
pub const ENCODING: &str = "encoding.json";
/// What a node that comes later needs to join.
pub const NETWORK: &str = "network.json";
/// Models of any class, as plain data.
pub const MODELS: &str = "models.json";
/// Predictors that won a race, as plain data.
pub const BLEND: &str = "blend.json";
/// What a later run needs to go on.
pub const CHECKPOINT: &str = "checkpoint.bin";
/// The facts of the page.
pub const REPORT: &str = "report.json";
/// The page.
pub const PAGE: &str = "report.html";
/// The rows of the demo.
pub const HOUSES: &str = "houses.csv.gz";
/// The rows of the demo of the weather.
pub const STATIONS: &str = "stations.csv.gz";
/// The run of the networked models, in the folder of a demo.
pub const NETWORK_RUN: &str = "network";

/// The edges that were learnt, with the reasons for them.
pub const EDGES: &str = "edges.csv";
/// Tables, and their columns.
pub const HISTORY: &str = "history.csv";
pub(crate) const HISTORY_COLUMNS: [&str; 8] = [
    "iteration",
    "objective",
    "certified_gap",
    "kkt_residual",
    "stationarity",
    "feasibility",
    "complementarity",
    "step_ratio",
];
pub(crate) const TRAFFIC_COLUMNS: [&str; 4] = ["rounds", "messages", "bytes", "flops"];
pub(crate) const ROUND_COLUMNS: [&str; 6] =
    ["round", "objective", "train_error", "validation_error", "messages", "bytes"];
pub(crate) const LAMBDA: (&str, [&str; 4]) =
    ("lambda.csv", ["lambda", "train_error", "validation_error", "standard_error"]);
/// How well every model is known: the lower triangle of its covariance, and the variance of the noise of a row.
pub(crate) const COVARIANCE: &str = "covariance.csv";
/// Scores of rows that the models have not seen.
pub(crate) const CALIBRATION: &str = "calibration.json";
/// What the watch for drift found.
pub(crate) const MONITOR: (&str, [&str; 10]) = (
    "monitor.csv",
    ["node", "rows", "known_rows", "error_ratio", "coverage", "known_coverage", "p_error", "p_coverage", "p", "drift"],
);
pub(crate) const COMPARE: &str = "compare.csv";
pub(crate) const PATH: (&str, [&str; 8]) =
    ("path.csv", ["lambda", "objective", "gap", "clusters", "train", "validation", "iterations", "status"]);
pub(crate) const MEMBERSHIP: (&str, [&str; 3]) = ("membership.csv", ["lambda", "node", "cluster"]);
pub(crate) const BREAKPOINTS: (&str, [&str; 4]) =
    ("breakpoints.csv", ["lambda_low", "lambda_high", "clusters_low", "clusters_high"]);
pub(crate) const ERRORS: &str = "errors.csv";
pub(crate) const ERROR_COLUMNS: [&str; 4] = ["rows", "train_error", "validation_error", "local_error"];
pub(crate) const GAINS: (&str, [&str; 4]) = ("gains.csv", ["model", "nodes", "validation_error", "local_error"]);
pub(crate) const RACE: (&str, [&str; 5]) = ("race.csv", ["candidate", "error", "standard_error", "share", "chosen"]);
pub(crate) const TEACHERS: (&str, [&str; 4]) = ("teachers.csv", ["node", "candidate", "rounds", "reward"]);
pub(crate) const CHOICES: (&str, [&str; 5]) = ("choices.csv", ["node", "round", "candidate", "reward", "taken"]);

/// What every party of a vertical fit knows.
pub(crate) const COLUMNS: (&str, [&str; 3]) = ("columns.csv", ["party", "column", "parameter"]);

/// Every file that a job may leave. Overwriting a run removes these, and nothing else.
pub const FILES: [&str; 29] = [
    SUMMARY,
    CONFIG,
    ENCODING,
    NETWORK,
    MODELS,
    BLEND,
    CHECKPOINT,
    REPORT,
    PAGE,
    HOUSES,
    STATIONS,
    EDGES,
    HISTORY,
    COMPARE,
    ERRORS,
    COVARIANCE,
    CALIBRATION,
    MONITOR.0,
    LAMBDA.0,
    PATH.0,
    MEMBERSHIP.0,
    BREAKPOINTS.0,
    GAINS.0,
    RACE.0,
    TEACHERS.0,
    CHOICES.0,
    COLUMNS.0,
    "parameters.csv",
    "clusters.csv",
];

/// The run directory that was asked for. An existing folder is refused before the work, not after it.
pub fn create(output: &Output) -> Result<Option<RunWriter>> {
    Ok(output.out.as_deref().map(|out| create_at(out, output.overwrite)).transpose()?)
}

/// A run directory at `path`.
pub fn create_at(path: &Path, overwrite: bool) -> Result<RunWriter, IoError> {
    RunWriter::create(path, overwrite, &FILES)
}

/// Writes the summary.
pub(crate) fn write_summary(writer: &RunWriter, summary: &Value) -> Result<()> {
    Ok(writer.write_json(SUMMARY, summary)?)
}

/// Writes the facts of a report and the page made from them.
pub fn write_report(writer: &RunWriter, report: &Report) -> Result<()> {
    writer.write_json(REPORT, report)?;
    writer.write_text(PAGE, &render(report)?)?;
    Ok(())
}

/// A number in a cell, or nothing.
pub(crate) fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}
