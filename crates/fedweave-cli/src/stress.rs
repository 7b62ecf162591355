//! `fedweave stress`: how much the models of a run hang on what happened to be there.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_run::trust::stress::{StressRequest, kinds};

use crate::files::write;
use crate::progress::{Terminal, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave stress run
  fedweave stress run --kind rows,nodes --fits 100 --seed 1 --out stress.csv
  fedweave stress run --kind weights --spread 1 --json";

/// Fit a run again with rows, nodes, weights of edges or labels drawn anew
#[derive(Args)]
pub struct StressArgs {
    /// Run directory of `fedweave fit --out` or `fedweave up --out`; it is fitted again from the same files
    run: PathBuf,
    /// What is drawn anew: rows, nodes, weights, labels [default: all]
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kind: Vec<String>,
    /// Fits of each kind [default: 20]
    #[arg(long, value_name = "N")]
    fits: Option<usize>,
    /// nodes: share of them that leaves [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    leave: Option<f64>,
    /// weights: deviation of their logarithm [default: 0.5]
    #[arg(long, value_name = "NUMBER")]
    spread: Option<f64>,
    /// labels: deviation of the noise, in units of what the models leave [default: 0.5]
    #[arg(long, value_name = "NUMBER")]
    noise: Option<f64>,
    /// Seed of all that is drawn
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Table to write: kind,node,prediction_change,model_change
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StressArgs) -> Result<Exit> {
    use_threads(args.threads);
    let plain = StressRequest::new(&args.run);
    let request = StressRequest {
        kinds: if args.kind.is_empty() { plain.kinds.clone() } else { kinds(&args.kind)? },
        fits: args.fits.unwrap_or(plain.fits),
        leave: args.leave.unwrap_or(plain.leave),
        spread: args.spread.unwrap_or(plain.spread),
        noise: args.noise.unwrap_or(plain.noise),
        seed: args.seed,
        ..plain
    };
    let terminal = Terminal::new();
    let result = request.run(&terminal)?;
    terminal.finish();
    if let Some(path) = &args.out {
        write(path, &result.csv())?;
    }
    say(&if args.json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}
