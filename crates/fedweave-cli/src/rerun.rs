//! `fedweave report`: the page of an earlier run, rendered again.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use fedweave_io::read_json;
use fedweave_report::{Report, render};

use crate::{Exit, say};

/// Render the report of a run directory again
#[derive(Args)]
pub struct ReportArgs {
    /// Run directory of `fedweave fit --out` or `fedweave compare --out`
    run: PathBuf,
    /// File to write [default: report.html in the run directory]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Print the facts behind the page as JSON instead
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ReportArgs) -> Result<Exit> {
    let report: Report =
        read_json(&args.run, "report.json").with_context(|| format!("{} holds no report", args.run.display()))?;
    if args.json {
        say(&serde_json::to_string(&report)?)?;
        return Ok(Exit::Done);
    }
    let path = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    std::fs::write(&path, render(&report)?).with_context(|| format!("{}: cannot be written", path.display()))?;
    say(&format!("written to {}", path.display()))?;
    Ok(Exit::Done)
}
