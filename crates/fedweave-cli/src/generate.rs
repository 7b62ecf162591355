//! `fedweave generate`: data with known truth.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use fedweave::synthetic::{Labels, Network, Options, Prototypes, Synthetic, generate};

use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave generate data                                    two clusters, 200 nodes, linear regression
  fedweave generate data --network geometric --nodes 100000 --neighbours 8 --dim 10 --rows 10
  fedweave generate data --network chain --nodes 50 --clusters 3 --dim 2 --noise 0.1
  fedweave generate data --labels logistic --mixing 0.3 --skew 1        not identically distributed

Writes nodes.csv, edges.csv, truth.csv (true parameters and cluster of every node) and, for the geometric
network, node_info.csv with positions.";

/// More numbers than this are a slip of the keyboard.
const ENTRIES_MAX: f64 = 1e9;

/// Write data with known truth
#[derive(Args)]
pub struct GenerateArgs {
    /// Folder to write; must not exist
    out: PathBuf,
    /// How nodes are joined
    #[arg(long, value_enum, default_value_t = NetworkName::Sbm)]
    network: NetworkName,
    /// Number of nodes
    #[arg(long, default_value_t = 200, allow_hyphen_values = true)]
    nodes: usize,
    /// Number of clusters
    #[arg(long, default_value_t = 2, allow_hyphen_values = true)]
    clusters: usize,
    /// Features of a row
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    dim: usize,
    /// Rows of a node
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    rows: usize,
    /// sbm: probability of an edge inside a cluster
    #[arg(long, default_value_t = 0.5, allow_hyphen_values = true)]
    p_in: f64,
    /// sbm: probability of an edge between clusters
    #[arg(long, default_value_t = 0.01, allow_hyphen_values = true)]
    p_out: f64,
    /// chain: weight of the edges between clusters
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    between: f64,
    /// geometric: number of nearest neighbours
    #[arg(long, default_value_t = 8, allow_hyphen_values = true)]
    neighbours: usize,
    /// Kind of target
    #[arg(long, value_enum, default_value_t = LabelsName::Linear)]
    labels: LabelsName,
    /// Standard deviation of the noise
    #[arg(long, default_value_t = 1e-3, allow_hyphen_values = true)]
    noise: f64,
    /// Size of the true parameters
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    scale: f64,
    /// True parameters are 0 or SCALE, with equal probability, instead of normal
    #[arg(long)]
    bernoulli: bool,
    /// Share of nodes without rows
    #[arg(long, default_value_t = 0.0, allow_hyphen_values = true)]
    without_rows: f64,
    /// Share of a random mixture of all clusters in the true parameters of a node
    #[arg(long, default_value_t = 0.0, allow_hyphen_values = true)]
    mixing: f64,
    /// Spread of the mean features of the nodes
    #[arg(long, default_value_t = 0.0, allow_hyphen_values = true)]
    skew: f64,
    /// Seed
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum NetworkName {
    Sbm,
    Chain,
    Geometric,
}

#[derive(Clone, Copy, ValueEnum)]
enum LabelsName {
    Linear,
    Logistic,
}

pub fn run(args: &GenerateArgs) -> Result<Exit> {
    ensure!(!args.out.exists(), "{} exists; name a folder that does not", args.out.display());
    let entries = args.nodes as f64 * (args.rows.max(1) as f64) * (args.dim.max(1) as f64);
    ensure!(
        entries <= ENTRIES_MAX,
        "--nodes x --rows x --dim is {entries:e}; at most {ENTRIES_MAX:e} numbers can be written"
    );
    let geometric = matches!(args.network, NetworkName::Geometric);
    ensure!(
        !geometric || (1..args.nodes).contains(&args.neighbours),
        "--neighbours {}: must be at least 1 and less than --nodes {}",
        args.neighbours,
        args.nodes
    );
    let made = generate(&options(args)).map_err(name_flag)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("{}: cannot be made", args.out.display()))?;
    write(&args.out, "nodes.csv", &nodes_csv(&made))?;
    write(&args.out, "edges.csv", &edges_csv(&made))?;
    write(&args.out, "truth.csv", &truth_csv(&made))?;
    let mut extra = "";
    if made.coordinates.is_some() {
        write(&args.out, "node_info.csv", &info_csv(&made))?;
        extra = " --node-info node_info.csv --by x,y";
    }
    let loss = if matches!(args.labels, LabelsName::Logistic) { " --loss logistic --ridge 0.001" } else { "" };
    let (n, e, rows, out) = (made.graph.nodes(), made.graph.edges(), made.data.len(), args.out.display());
    let next = format!("cd {out} && fedweave fit nodes.csv --edges edges.csv --target y{loss}{extra} --out run");
    say(&format!("{n} nodes, {e} edges, {rows} rows in {out}\ntry: {next}"))?;
    Ok(Exit::Done)
}

/// The parameter of the mathematics by the name of its flag.
fn name_flag(error: fedweave::Error) -> anyhow::Error {
    match error {
        fedweave::Error::Parameter { name, value, needs } => {
            anyhow!("--{} {value}: must be {needs}", name.replace('_', "-"))
        }
        other => other.into(),
    }
}

fn options(args: &GenerateArgs) -> Options {
    Options {
        network: match args.network {
            NetworkName::Sbm => Network::Blocks { p_in: args.p_in, p_out: args.p_out },
            NetworkName::Chain => Network::Chain { between: args.between },
            NetworkName::Geometric => Network::Geometric { neighbours: args.neighbours },
        },
        labels: match args.labels {
            LabelsName::Linear => Labels::Linear,
            LabelsName::Logistic => Labels::Logistic,
        },
        prototypes: if args.bernoulli { Prototypes::Bernoulli } else { Prototypes::Normal },
        nodes: args.nodes,
        clusters: args.clusters,
        dim: args.dim,
        rows: args.rows,
        noise: args.noise,
        scale: args.scale,
        without_rows: args.without_rows,
        mixing: args.mixing,
        skew: args.skew,
        seed: args.seed,
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

/// `prefix,x1,x2,...` for a header.
fn numbered(prefix: &str, letter: &str, d: usize) -> String {
    (1..=d).fold(prefix.to_owned(), |line, j| line + &format!(",{letter}{j}"))
}

fn nodes_csv(made: &Synthetic) -> String {
    let data = &made.data;
    let mut text = numbered("node", "x", data.dim()) + ",y\n";
    for node in 0..data.nodes() {
        for row in data.rows(node) {
            let _ = write!(text, "n{node}");
            for v in data.x(row).iter().chain([&data.y()[row]]) {
                let _ = write!(text, ",{v:.6}");
            }
            text.push('\n');
        }
    }
    text
}

fn edges_csv(made: &Synthetic) -> String {
    let mut text = String::from("source,target,weight\n");
    for e in 0..made.graph.edges() {
        let (i, j) = made.graph.nodes_of(e);
        let _ = writeln!(text, "n{i},n{j},{}", made.graph.weight(e));
    }
    text
}

fn truth_csv(made: &Synthetic) -> String {
    let mut text = numbered("node,cluster", "w", made.truth.cols()) + "\n";
    for node in 0..made.truth.rows() {
        let _ = write!(text, "n{node},{}", made.cluster[node]);
        made.truth.row(node).iter().for_each(|v| {
            let _ = write!(text, ",{v}");
        });
        text.push('\n');
    }
    text
}

fn info_csv(made: &Synthetic) -> String {
    let mut text = String::from("node,x,y\n");
    for (node, point) in made.coordinates.iter().flat_map(|c| (0..c.rows()).map(move |i| (i, c.row(i)))) {
        let _ = writeln!(text, "n{node},{:.6},{:.6}", point[0], point[1]);
    }
    text
}
