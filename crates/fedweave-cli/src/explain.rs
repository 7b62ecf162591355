//! `fedweave explain`: who shaped the models of a run.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_run::trust::explain::ExplainRequest;

use crate::files::write;
use crate::progress::Terminal;
use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave explain run --node Turku
  fedweave explain run --out shares.csv
  fedweave explain run --rows new.csv --out parts.csv";

/// Whose rows shaped the models of a run
#[derive(Args)]
pub struct ExplainArgs {
    /// Run directory of `fedweave fit --out`; it is fitted again from the same files
    run: PathBuf,
    /// One node [default: all]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Also take the predictions of these rows apart into features (linear models, trees and forests)
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Table to write: the parts of the predictions of --rows, or else node,by,share
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ExplainArgs) -> Result<Exit> {
    let ExplainArgs { run, node, rows, out, json } = args;
    let request = ExplainRequest { run: run.clone(), node: node.clone(), rows: rows.clone() };
    let terminal = Terminal::new();
    let result = request.run(&terminal)?;
    terminal.finish();
    if let Some(path) = out {
        write(path, &result.predictions.as_ref().map_or_else(|| result.csv(), |parts| parts.csv()))?;
    }
    say(&if *json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}
