//! `fedweave check`: theorems about a run.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_run::theory::TheoryRequest;

use crate::files::write;
use crate::progress::{Terminal, interrupted};
use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave check run
  fedweave check run --partition clusters.csv --out bounds.csv
  fedweave check run --json

Exit codes: 0 all bounds hold, 1 one does not (a mistake), 2 bad input";

/// Hold what theorems say about a run against what is there
#[derive(Args)]
pub struct CheckArgs {
    /// Run directory of `fedweave fit --out`; it is fitted again from the same files, accurately
    run: PathBuf,
    /// Clusters to ask about: a file with node,cluster [default: those found, or two halves of the graph]
    #[arg(long, value_name = "FILE")]
    partition: Option<PathBuf>,
    /// Table to write
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CheckArgs) -> Result<Exit> {
    let request = TheoryRequest { run: args.run.clone(), partition: args.partition.clone() };
    let terminal = Terminal::new();
    let result = request.run(&terminal)?;
    terminal.finish();
    if interrupted() {
        return Ok(Exit::Interrupted);
    }
    if let Some(path) = &args.out {
        write(path, &result.csv())?;
    }
    say(&if args.json { result.summary().to_string() } else { result.text() })?;
    Ok(if result.violated() > 0 { Exit::Unfinished } else { Exit::Done })
}
