//! `fedweave trust`: what was measured about a run, for each of the seven requirements of trustworthy AI.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_run::trust::fairness::FOLDS;
use fedweave_run::trust::page::{FITS, TrustRequest, WATTS};

use crate::files::write;
use crate::progress::{Terminal, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave trust run --out trust.html
  fedweave trust run --group sex --out trust.html
  fedweave trust run --group sex --json > trust.json

Every number comes with the command that measures it again. The program judges none, and makes no legal claim.";

/// Measured evidence for the seven requirements of trustworthy AI: a page, JSON or words
#[derive(Args)]
pub struct TrustArgs {
    /// Run directory of `fedweave fit --out` or `fedweave up --out`; it is fitted again from the same files
    run: PathBuf,
    /// Column of the table, or of --node-info, that tells groups apart
    #[arg(long, value_name = "COLUMN")]
    group: Option<String>,
    /// Event log of a part (repeatable), beside those in the folder of `fedweave up --work`
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// Folds in which every row is held out once
    #[arg(long, default_value_t = FOLDS, value_name = "K")]
    folds: usize,
    /// Fits of each kind of stress
    #[arg(long, default_value_t = FITS, value_name = "N")]
    fits: usize,
    /// Seed of folds and stress
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Watts of a busy core, where the machine does not measure its energy
    #[arg(long, default_value_t = WATTS)]
    watts: f64,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Page to write
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TrustArgs) -> Result<Exit> {
    use_threads(args.threads);
    let (folds, fits, seed, watts) = (args.folds, args.fits, args.seed, args.watts);
    let (group, logs) = (args.group.clone(), args.log.clone());
    let request = TrustRequest { group, logs, folds, fits, seed, watts, ..TrustRequest::new(&args.run) };
    let terminal = Terminal::new();
    let result = request.run(&terminal)?;
    terminal.finish();
    if let Some(path) = &args.out {
        write(path, &result.html()?)?;
    }
    let written = args.out.as_ref().map_or(String::new(), |path| format!("\nwritten to {}", path.display()));
    say(&if args.json { result.summary().to_string() } else { result.text() + &written })?;
    Ok(Exit::Done)
}
