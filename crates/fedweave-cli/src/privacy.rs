//! `fedweave privacy`: what noise costs, and attempts to break it.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use fedweave_run::privacy::audit::AuditRequest;
use fedweave_run::privacy::epsilon::{EpsilonRequest, Shape};
use fedweave_run::privacy::features::FeaturesRequest;
use fedweave_run::privacy::leak::LeakRequest;
#[cfg(feature = "federation")]
use fedweave_run::privacy::ledger;
use fedweave_run::privacy::members::MembersRequest;
use fedweave_run::privacy::reconstruct::ReconstructRequest;

use crate::files::write;
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave privacy epsilon --sigma 3.7306 --delta 1e-5
  fedweave privacy epsilon --sigma 1.1 --rate 0.01 --rounds 1000 --delta 1e-5 --json
  fedweave privacy epsilon --noise laplace --sigma 20 --rounds 100 --delta 1e-6
  fedweave privacy features nodes.csv --private lat,lon --target y --out z.csv
  fedweave privacy leak run --table stations.csv --attribute lat
  fedweave privacy leak run --members trained-with.csv --others new.csv
  fedweave privacy reconstruct nodes.csv --target y --epsilon 1
  fedweave privacy audit --epsilon 1 --delta 1e-5
  fedweave privacy audit --epsilon 4 --method gradients --rounds 10";

/// What noise costs, and attempts to break it
#[derive(Subcommand)]
pub enum PrivacyCommand {
    /// The epsilon of a sequence of noisy releases, never below the truth
    Epsilon(EpsilonArgs),
    /// Features that hide private columns from linear guesses
    Features(FeaturesArgs),
    /// What the models of a run say about an attribute of their nodes, or about which rows they were trained with
    Leak(LeakArgs),
    /// What the only neighbour of every node would find out about its rows from the rounds of a fit
    Reconstruct(ReconstructArgs),
    #[cfg(feature = "federation")]
    /// What parts of a federation have spent of the privacy of their rows
    Ledger {
        /// Files of parts (node.toml)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Try to tell apart neighbouring datasets by what is released: a lower bound on epsilon, beside the claim
    Audit(AuditArgs),
}

#[derive(Args)]
pub struct EpsilonArgs {
    /// Shape of the noise: gaussian or laplace (releases of one number)
    #[arg(long, default_value = "gaussian", value_name = "SHAPE")]
    noise: String,
    /// Deviation (laplace: scale) of the noise, in multiples of the sensitivity
    #[arg(long)]
    sigma: f64,
    /// Probability that a row takes part in a release; 1: all rows do
    #[arg(long, default_value_t = 1.0)]
    rate: f64,
    /// Number of releases
    #[arg(long, default_value_t = 1)]
    rounds: u64,
    /// Probability of no protection
    #[arg(long)]
    delta: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct FeaturesArgs {
    /// Table with one row per data point
    nodes: PathBuf,
    /// Columns to hide, e.g. lat,lon
    #[arg(long, value_delimiter = ',', required = true)]
    private: Vec<String>,
    /// Column that is to be predicted; it stays as it is
    #[arg(long)]
    target: Option<String>,
    /// Column that names the node of a row
    #[arg(long, default_value = "node")]
    node: String,
    /// Columns to leave out
    #[arg(long, value_delimiter = ',')]
    drop: Vec<String>,
    /// Table to write
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Seed of the rows that guesses are judged on
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args, Clone)]
pub struct LeakArgs {
    /// Run directory of `fedweave fit --out`
    run: PathBuf,
    /// Table with an attribute of every node
    #[arg(long, value_name = "FILE", requires = "attribute")]
    table: Option<PathBuf>,
    /// Its column: can it be guessed from the models?
    #[arg(long, value_name = "COLUMN", requires = "table")]
    attribute: Option<String>,
    /// Rows that the run was trained with: can they be told from others?
    #[arg(long, value_name = "FILE", requires = "others", required_unless_present = "table")]
    members: Option<PathBuf>,
    /// Rows of the same nodes that it was not trained with
    #[arg(long, value_name = "FILE", requires = "members")]
    others: Option<PathBuf>,
    /// Column that names the node of a row, of --table
    #[arg(long, default_value = "node")]
    node: String,
    /// Seed of the nodes that guesses are judged on, and of intervals
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args, Clone)]
pub struct ReconstructArgs {
    /// Table with one row per data point
    nodes: PathBuf,
    /// Column that is predicted
    #[arg(long)]
    target: String,
    /// Column that names the node of a row
    #[arg(long, default_value = "node")]
    node: String,
    /// Columns to leave out
    #[arg(long, value_delimiter = ',')]
    drop: Vec<String>,
    /// The same with rows behind noisy moments for this epsilon, whose ranges are those of the rows
    #[arg(long)]
    epsilon: Option<f64>,
    /// Probability of no protection
    #[arg(long, default_value_t = 1e-5, requires = "epsilon")]
    delta: f64,
    /// Noise from this seed instead of the operating system, to repeat an attack
    #[arg(long, requires = "epsilon")]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct AuditArgs {
    /// The claim
    #[arg(long)]
    epsilon: f64,
    /// Probability of no protection
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// What is released: statistics (moments), gradients (in --rounds rounds) or output (models)
    #[arg(long, default_value = "statistics", value_name = "METHOD")]
    method: String,
    /// Rounds in which gradients are released
    #[arg(long, default_value_t = AuditRequest::ROUNDS)]
    rounds: usize,
    /// Nodes with a canary
    #[arg(long, default_value_t = AuditRequest::CANARIES)]
    canaries: usize,
    /// Noise from this seed instead of the operating system, to repeat an audit
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(command: &PrivacyCommand) -> Result<Exit> {
    match command {
        PrivacyCommand::Epsilon(args) => epsilon(args),
        PrivacyCommand::Features(args) => features(args),
        PrivacyCommand::Leak(args) => leak(args),
        PrivacyCommand::Reconstruct(args) => reconstruct(args),
        #[cfg(feature = "federation")]
        PrivacyCommand::Ledger { files, json } => {
            let parts = ledger::ledgers(files)?;
            say(&if *json { ledger::summary(&parts).to_string() } else { ledger::text(&parts) })?;
            Ok(Exit::Done)
        }
        PrivacyCommand::Audit(args) => audit(args),
    }
}

fn epsilon(args: &EpsilonArgs) -> Result<Exit> {
    let EpsilonArgs { ref noise, sigma, rate, rounds, delta, json } = *args;
    let result = EpsilonRequest { noise: Shape::named(noise)?, sigma, rate, rounds, delta }.run()?;
    say(&if json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}

fn features(args: &FeaturesArgs) -> Result<Exit> {
    let FeaturesArgs { nodes, private, target, node, seed, drop, .. } = args;
    let (nodes, private, drop) = (nodes.clone(), private.clone(), drop.clone());
    let request = FeaturesRequest { nodes, private, drop, target: target.clone(), node: node.clone(), seed: *seed };
    let result = request.run()?;
    if let Some(path) = &args.out {
        write(path, &result.csv)?;
    }
    say(&if args.json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}

fn leak(args: &LeakArgs) -> Result<Exit> {
    let LeakArgs { run, table, attribute, members, others, node, seed, json } = args.clone();
    let mut found = serde_json::Map::new();
    let mut lines = Vec::new();
    if let (Some(table), Some(attribute)) = (table, attribute) {
        let result = LeakRequest { run: run.clone(), table, attribute, node, seed }.run()?;
        found.extend(result.summary().as_object().cloned().unwrap_or_default());
        lines.push(result.text());
    }
    if let (Some(members), Some(others)) = (members, others) {
        let result = MembersRequest { run, members, others, seed }.run()?;
        found.insert("membership".into(), result.summary());
        lines.push(result.text());
    }
    say(&if json { serde_json::Value::Object(found).to_string() } else { lines.join("\n") })?;
    Ok(Exit::Done)
}

fn reconstruct(args: &ReconstructArgs) -> Result<Exit> {
    let ReconstructArgs { nodes, target, node, drop, epsilon, delta, seed, json } = args.clone();
    let result = ReconstructRequest { nodes, node, target, drop, epsilon, delta, seed }.run()?;
    say(&if json { result.summary().to_string() } else { result.text() })?;
    Ok(Exit::Done)
}

fn audit(args: &AuditArgs) -> Result<Exit> {
    let AuditArgs { epsilon, delta, ref method, rounds, canaries, seed, json } = *args;
    let method = AuditRequest::method(method)?;
    let result = AuditRequest { epsilon, delta, method, rounds, canaries, seed }.run()?;
    say(&if json { result.summary().to_string() } else { result.text() })?;
    // A claim that was refuted is a failure of what was claimed.
    Ok(if result.refuted() { Exit::Unfinished } else { Exit::Done })
}
