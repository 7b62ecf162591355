//! Commands about files: predictions from a run, its page once more, graphs.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use fedweave_io::read_json;
use fedweave_report::{Report, render};
use fedweave_run::graph::{GraphFacts, edges_csv, nearest};
use fedweave_run::predictor::{NewNodes, Predictor};
use fedweave_run::run_dir::{PAGE, REPORT};

use crate::{Exit, say};

/// Predict rows of another file
#[derive(Args)]
pub struct PredictArgs {
    /// Run directory of `fedweave fit --out`
    run: PathBuf,
    /// Table with the columns the models were fitted with; - is standard input. Where it has the target, predictions are judged
    rows: PathBuf,
    /// Column that names the node of a row [default: the one of the fit]
    #[arg(long, value_name = "COLUMN")]
    node: Option<String>,
    /// Leave out rows of nodes, and with categories, that the models do not know
    #[arg(long)]
    skip_unknown: bool,
    /// Also rows of nodes that were not there at the fit: each is joined to its neighbours, whose models stay as they are
    #[arg(long)]
    new_nodes: bool,
    /// Rows with labels of new nodes, which they are fitted to
    #[arg(long, value_name = "FILE", requires = "new_nodes")]
    new_rows: Option<PathBuf>,
    /// Edges between new nodes and known ones [default: the nearest ones, where the fit used --knn]
    #[arg(long, value_name = "FILE", requires = "new_nodes")]
    new_edges: Option<PathBuf>,
    /// Table with one row per node with the positions of new ones [default: columns of the rows]
    #[arg(long, value_name = "FILE", requires = "new_nodes")]
    node_info: Option<PathBuf>,
    /// Also the interval (of classes: the set) that holds the label of a row with this probability, e.g. 0.9
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    interval: Option<f64>,
    /// Rows with labels that were observed since the fit: what nodes share at a time is predicted from them, too
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// File to write [default: standard output]
    #[arg(long, short)]
    out: Option<PathBuf>,
}

pub fn predict(args: &PredictArgs) -> Result<Exit> {
    let predictor = Predictor::open(&args.run)?;
    let predictor = match &args.node {
        Some(column) => predictor.with_node_column(column),
        None => predictor,
    };
    let predictor = if args.skip_unknown { predictor.skipping_unknown() } else { predictor };
    let predictor = match args.interval {
        Some(level) => predictor.with_interval(level)?,
        None => predictor,
    };
    let predictor = match &args.observed {
        Some(rows) => predictor.with_observed(rows)?,
        None => predictor,
    };
    let mut predictor = match args.new_nodes {
        true => {
            let (rows, edges, info) = (args.new_rows.clone(), args.new_edges.clone(), args.node_info.clone());
            predictor.with_new_nodes(&args.run, NewNodes { rows, edges, info })?
        }
        false => predictor,
    };
    let predictions = predictor.predict_file(&args.rows)?;
    let text = predictions.to_csv();
    match &args.out {
        Some(path) => write(path, &text)?,
        None => std::io::stdout().write_all(text.as_bytes())?,
    }
    predictions.notes.iter().for_each(|note| eprintln!("note: {note}"));
    Ok(Exit::Done)
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

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

pub fn report(args: &ReportArgs) -> Result<Exit> {
    let report: Report =
        read_json(&args.run, REPORT).with_context(|| format!("{} holds no report", args.run.display()))?;
    if args.json {
        say(&serde_json::to_string(&report)?)?;
        return Ok(Exit::Done);
    }
    let path = args.out.clone().unwrap_or_else(|| args.run.join(PAGE));
    write(&path, &render(&report)?)?;
    say(&format!("written to {}", path.display()))?;
    Ok(Exit::Done)
}

/// Facts about a graph, or a nearest-neighbour graph from a table
#[derive(Subcommand)]
pub enum GraphCommand {
    /// Nodes, edges, components, degrees, and the eigenvalues lambda_2 and lambda_n of the Laplacian
    #[command(after_help = "Example:\n  fedweave graph info edges.csv --json")]
    Info(InfoArgs),
    /// Join every node with its K nearest, e.g. fedweave graph knn stations.csv --k 5 --by lat,lon
    #[command(
        after_help = "Example:\n  fedweave graph knn stations.csv --node station --k 5 --by lat,lon --out edges.csv"
    )]
    Knn(KnnArgs),
}

/// Facts about a graph
#[derive(Args)]
pub struct InfoArgs {
    /// Edges: CSV, Parquet, GraphML or adjacency list
    edges: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A nearest-neighbour graph
#[derive(Args)]
pub struct KnnArgs {
    /// Table with a column of node ids and columns with their positions
    nodes: PathBuf,
    /// Number of neighbours
    #[arg(long, short)]
    k: usize,
    /// Columns with the position of a node
    #[arg(long, value_delimiter = ',', required = true)]
    by: Vec<String>,
    /// Column of node ids
    #[arg(long, default_value = "node")]
    node: String,
    /// great-circle (default for lat,lon) or euclidean
    #[arg(long)]
    metric: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, short)]
    out: Option<PathBuf>,
}

pub fn graph(command: &GraphCommand) -> Result<Exit> {
    match command {
        GraphCommand::Info(args) => {
            let facts = GraphFacts::of_file(&args.edges)?;
            say(&if args.json { facts.summary().to_string() } else { facts.text() })?;
        }
        GraphCommand::Knn(args) => {
            let input = nearest(&args.nodes, &args.node, args.k, &args.by, args.metric.as_deref())?;
            let text = edges_csv(&input);
            let (nodes, edges) = (input.names.len(), input.graph.edges());
            match &args.out {
                Some(path) => {
                    write(path, &text)?;
                    say(&format!("{nodes} nodes, {edges} edges written to {}", path.display()))?;
                }
                None => say(text.trim_end())?,
            }
        }
    }
    Ok(Exit::Done)
}
