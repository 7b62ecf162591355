//! `fedweave graph`: facts about a graph, or a graph from positions.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use fedweave::graph::laplacian_extremes;
use fedweave::graph::partition::Partition;
use fedweave_io::{EdgeList, InputSpec, load};
use serde_json::json;

use crate::plan::metric;
use crate::predict::csv_line;
use crate::{Exit, say};

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

pub fn run(command: &GraphCommand) -> Result<Exit> {
    match command {
        GraphCommand::Info(args) => info(args),
        GraphCommand::Knn(args) => knn(args),
    }
}

fn info(args: &InfoArgs) -> Result<Exit> {
    let list = EdgeList::read(&args.edges)?;
    let mut names = list.ids().to_vec();
    names.sort_unstable();
    names.dedup();
    let graph = list.graph(&names)?;
    let components = Partition::components(&graph);
    let degrees: Vec<usize> = (0..graph.nodes()).map(|i| graph.degree(i)).collect();
    let (least, most) = (degrees.iter().min().copied().unwrap_or(0), degrees.iter().max().copied().unwrap_or(0));
    let mean = 2.0 * graph.edges() as f64 / graph.nodes().max(1) as f64;
    let spectrum = laplacian_extremes(&graph)?;
    if args.json {
        let facts = json!({
            "nodes": graph.nodes(), "edges": graph.edges(), "components": components.len(),
            "degree_min": least, "degree_mean": mean, "degree_max": most,
            "lambda_2": spectrum.lambda_2, "lambda_n": spectrum.lambda_n,
            "residual_2": spectrum.residual_2, "residual_n": spectrum.residual_n,
        });
        say(&facts.to_string())?;
        return Ok(Exit::Done);
    }
    let (n, e, c) = (graph.nodes(), graph.edges(), components.len());
    let eigenvalue = |name: &str, value: f64, residual: f64| format!("{name} {value:.6e} (residual {residual:.0e})");
    let low = eigenvalue("lambda_2", spectrum.lambda_2, spectrum.residual_2);
    let high = eigenvalue("lambda_n", spectrum.lambda_n, spectrum.residual_n);
    say(&format!(
        "{n} nodes, {e} edges, {c} component(s)\ndegrees {least} to {most}, mean {mean:.2}\nLaplacian: {low}, {high}"
    ))?;
    Ok(Exit::Done)
}

fn knn(args: &KnnArgs) -> Result<Exit> {
    let spec = InputSpec {
        node: args.node.clone(),
        by: args.by.clone(),
        knn: Some(args.k),
        metric: args.metric.as_deref().map(metric).transpose()?,
        features: Some(Vec::new()),
        intercept: true,
        ..InputSpec::new(&args.nodes)
    };
    let input = load(&spec)?;
    let mut text = String::from("source,target,weight\n");
    for e in 0..input.graph.edges() {
        let (i, j) = input.graph.nodes_of(e);
        text += &csv_line([&input.names[i], &input.names[j]].into_iter().cloned().chain(["1".into()]));
    }
    match &args.out {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
            say(&format!("{} nodes, {} edges written to {}", input.names.len(), input.graph.edges(), path.display()))?;
        }
        None => say(text.trim_end())?,
    }
    Ok(Exit::Done)
}
