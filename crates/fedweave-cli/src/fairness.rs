//! `fedweave fairness`: for whom the models of a run work.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use fedweave_run::request::fair::FairRule;
use fedweave_run::trust::fairness::{FOLDS, FairnessRequest};

use crate::files::write;
use crate::progress::{Terminal, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "Examples:
  fedweave fairness run --group sex
  fedweave fairness run --group sex --curve errors --json
  fedweave fairness run --group sex --curve swap --out fairness.csv";

/// Errors by group and by node on rows that models have not seen, and what evening them out costs
#[derive(Args)]
pub struct FairnessArgs {
    /// Run directory of `fedweave fit --out` or `fedweave up --out`; it is fitted again from the same files
    run: PathBuf,
    /// Column of the table, or of --node-info, that tells groups apart
    #[arg(long, value_name = "COLUMN")]
    group: String,
    /// Folds in which every row is held out once
    #[arg(long, default_value_t = FOLDS, value_name = "K")]
    folds: usize,
    /// Seed of the folds
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also with groups evened out more and more strongly, as --fair-by does
    #[arg(long, value_name = "RULE")]
    curve: Option<Rule>,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Table to write: what,name,rows,error,standard_error,bias
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rule {
    Errors,
    Swap,
}

pub fn run(args: &FairnessArgs) -> Result<Exit> {
    use_threads(args.threads);
    let curve = args.curve.map(|rule| match rule {
        Rule::Errors => FairRule::Errors,
        Rule::Swap => FairRule::Swap,
    });
    let (run, group) = (args.run.clone(), args.group.clone());
    let request = FairnessRequest { run, group, folds: args.folds, seed: args.seed, curve };
    let terminal = Terminal::new();
    let result = request.run(&terminal)?;
    terminal.finish();
    if let Some(path) = &args.out {
        write(path, &result.csv())?;
    }
    say(&if args.json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}
