//! Watching for drift: arguments -> request -> call -> print -> exit code.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_run::monitor::{MonitorRequest, monitor, summary, text, write};
use fedweave_run::run_dir::create_at;

use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave monitor run today.csv
  fedweave monitor run today.csv --level 0.8 --fdr 0.05 --json || echo 'look at the nodes that drifted'

Exit codes: 0 no node drifted, 1 some did, 2 bad input";

/// Compare new rows with labels with what was expected of the models of a run
#[derive(Args)]
pub struct MonitorArgs {
    /// Run directory of `fedweave fit --out`, with a calibration: --calibrate 10, or rows held out to validate
    run: PathBuf,
    /// Table with the columns the models were fitted with, and the target
    rows: PathBuf,
    /// Column that names the node of a row [default: the one of the fit]
    #[arg(long, value_name = "COLUMN")]
    node: Option<String>,
    /// Level of the intervals that are checked
    #[arg(long, value_name = "LEVEL", default_value_t = 0.9, allow_hyphen_values = true)]
    level: f64,
    /// Share of false alarms among alarms that is accepted on average
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, allow_hyphen_values = true)]
    fdr: f64,
    /// Print one JSON object instead of words
    #[arg(long)]
    json: bool,
    /// Folder to write: monitor.csv with every node, summary.json
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Replace the folder
    #[arg(long)]
    overwrite: bool,
}

pub fn run(args: &MonitorArgs) -> Result<Exit> {
    let request = MonitorRequest { level: args.level, fdr: args.fdr };
    let writer = args.out.as_deref().map(|out| create_at(out, args.overwrite)).transpose()?;
    let found = monitor(&args.run, &args.rows, args.node.as_deref(), request)?;
    if let Some(writer) = writer {
        write(&found, writer)?;
    }
    say(&if args.json { summary(&found).to_string() } else { text(&found) })?;
    Ok(if found.drifted().next().is_some() { Exit::Unfinished } else { Exit::Done })
}
