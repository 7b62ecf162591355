//! What the user wrote, on the command line and in a config file: the same names, one definition.
//!
//! Both are read into a [`RawConfig`], the command line on top; [`Plan`](crate::plan::Plan) then says what it means.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::{Deserialize, Deserializer, Serialize};

/// Everything `fit` and `compare` can be told. A flag `--huber-delta` is the key `huber-delta` of the config file.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RawConfig {
    /// Table with one row per data point: CSV, TSV, Parquet, or CSV compressed with gzip
    #[arg(value_name = "NODES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<PathBuf>,

    /// Edges: CSV with source,target[,weight], Parquet, GraphML, or an adjacency list (.adj)
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<PathBuf>,
    /// Instead of a file of edges: join every node with its K nearest, by the columns of --by
    #[arg(long, value_name = "K", help_heading = "Data", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knn: Option<usize>,
    /// Columns with the position of a node, for --knn and the map, e.g. lat,lon
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Vec<String>>,
    /// Distance for --knn: great-circle (the default for lat,lon) or euclidean
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Table with one row per node, e.g. with its position
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<PathBuf>,
    /// Column that names the node of a row [default: node]
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Column to predict
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Columns to predict from [default: all other numeric columns]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Vec<String>>,
    /// Text columns to turn into 0/1 columns, one per value (but the first, if there is an intercept)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_hot: Option<Vec<String>>,
    /// Column with row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Missing values: error, drop (the rows) or mean (of the column) [default: error]
    #[arg(long, value_name = "RULE", help_heading = "Data")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Scale features to mean 0 and deviation 1 over the training rows
    #[arg(long, help_heading = "Data")]
    #[serde(skip_serializing_if = "is_false")]
    pub standardize: bool,
    /// Make errors of: nodes without rows, nodes without edges, nodes with neither
    #[arg(long, help_heading = "Data")]
    #[serde(skip_serializing_if = "is_false")]
    pub strict: bool,

    /// squared, absolute, huber, logistic, multinomial, squared-hinge, poisson, quantile or point [default: squared]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// Column that names the loss of each node, where nodes differ
    #[arg(long, value_name = "COLUMN", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_column: Option<String>,
    /// Threshold of the Huber loss [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Model", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huber_delta: Option<f64>,
    /// Level of the quantile loss [default: 0.5]
    #[arg(long, value_name = "NUMBER", help_heading = "Model", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Adds RIDGE |w|^2 at nodes with rows, sparing the intercept [default: 0; compare: chosen from 1e-6,1e-3,1e-2,0.1,1]
    #[arg(long, value_name = "RIDGE", value_delimiter = ',', help_heading = "Model", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "one_or_several")]
    pub ridge: Option<Vec<f64>>,
    /// No intercept
    #[arg(long, help_heading = "Model")]
    #[serde(skip_serializing_if = "is_false")]
    pub no_intercept: bool,
    /// equal: every node counts the same; rows: every row counts the same [default: equal]
    #[arg(long, value_name = "RULE", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_weight: Option<String>,
    /// norm2, norm1, norminf, squared, quadratic or blocks [default: norm2]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<String>,
    /// Matrix Q of the quadratic penalty t'Qt: CSV without header, one row per parameter
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty_matrix: Option<PathBuf>,
    /// One block of the blocks penalty, e.g. norm2:1:x1,x2 (penalty, strength, features); repeatable
    #[arg(long, value_name = "BLOCK", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<String>>,
    /// Strength of the coupling: a number, or auto to choose it on held-out rows [default: auto]
    #[arg(long, value_name = "LAMBDA", help_heading = "Model", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<Lambda>,
    /// Values of lambda to choose from [default: a geometric grid from the data]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', help_heading = "Model", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda_grid: Option<Vec<f64>>,
    /// minimum: smallest held-out error; one-se: largest lambda within one standard error of it [default: minimum]
    #[arg(long, value_name = "RULE", help_heading = "Model")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda_rule: Option<String>,

    /// Model class of every node with its options, e.g. "tree max-depth=5"; predictions are coupled instead of parameters
    #[arg(long, value_name = "MODEL", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// regression or classification [default: regression]
    #[arg(long, value_name = "TASK", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Public rows without labels, on which predictions are compared; with a node column, rows of each node
    #[arg(long, value_name = "FILE", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<PathBuf>,
    /// Without --public: what to draw the rows of a node from: moments or range (of its features), or normal [default: moments]
    #[arg(long, value_name = "SOURCE", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_from: Option<String>,
    /// Without --public: rows to draw for every node [default: 100]
    #[arg(long, value_name = "N", help_heading = "Models of any class", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_rows: Option<usize>,
    /// Compare on the public rows of the neighbours (the paper's update) or of both ends (exact) [default: neighbours]
    #[arg(long, value_name = "RULE", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged_on: Option<String>,
    /// means: terms of the objective are means over rows; plain: an own row weighs 1, a public row lambda [default: means]
    #[arg(long, value_name = "RULE", help_heading = "Models of any class")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_weights: Option<String>,
    /// Rows that a node labels by its own model before every fit [default: 0]
    #[arg(long, value_name = "N", help_heading = "Models of any class", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distil: Option<usize>,

    /// ask: a node that asks; repeatable [default: every node]
    #[arg(long, value_name = "NAME", help_heading = "Asking")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asker: Option<Vec<String>>,
    /// ask: how many others are asked in a round [default: 10, or all there are]
    #[arg(long, value_name = "B", help_heading = "Asking", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,

    /// path: number of values of lambda [default: 50]
    #[arg(long, value_name = "N", help_heading = "Path", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// path: smallest lambda, as a share of the largest [default: 1e-3; 1e-7 for squared and quadratic]
    #[arg(long, value_name = "SHARE", help_heading = "Path", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda_min_ratio: Option<f64>,
    /// path: up from the smallest lambda, which takes less time, or down from the largest [default: up]
    #[arg(long, value_name = "up|down", help_heading = "Path")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// path: bracket the changes of the clusters to this relative width [default if given without: 1e-3]
    #[arg(long, value_name = "REL", num_args = 0..=1, default_missing_value = "0.001", help_heading = "Path")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakpoints: Option<f64>,
    /// path: where is this partition provably recovered? A column, or a file with node,cluster [default: the one found]
    #[arg(long, value_name = "COLUMN|FILE", help_heading = "Path")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,

    /// Rows held out of every node to validate: a number (10) or a share (0.2) [default: 0.2 where needed]
    #[arg(long, value_name = "ROWS", help_heading = "Held-out rows", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Rows of every node to train with; with it, what is left after validation is for testing
    #[arg(long, value_name = "ROWS", help_heading = "Held-out rows", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// Rows held out of every node to test [default of compare: 0.2]
    #[arg(long, value_name = "ROWS", help_heading = "Held-out rows", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// random: drawn separately per node; last: the last rows of every node [default: random]
    #[arg(long, value_name = "RULE", help_heading = "Held-out rows")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Hold out the same values of this column (e.g. dates) at all nodes
    #[arg(long, value_name = "COLUMN", help_heading = "Held-out rows")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_by: Option<String>,
    /// Column that orders the rows of a node in time, for --split last [default: order of the file]
    #[arg(long, value_name = "COLUMN", help_heading = "Held-out rows")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// compare: number of splits to average over [default: 1]
    #[arg(long, value_name = "N", help_heading = "Held-out rows", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<usize>,
    /// Seed of everything random [default: 0]
    #[arg(long, value_name = "N", help_heading = "Held-out rows", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,

    /// auto, primal-dual, newton or newton-cg, or one that exchanges messages: fedgd, fedsgd, async-fedgd, fedrelax, pdmm,
    /// projected-gradient, or with a server and without the graph: fedavg, ifca, pfedme; -v says what auto chose and why [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Solver")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// Stop at certified_gap <= TOL * max(1, |objective|); without a certificate, at kkt_residual <= TOL [default: 1e-6]
    #[arg(long, value_name = "TOL", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Stop after N iterations [default: 100000]
    #[arg(long, value_name = "N", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<usize>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<f64>,
    /// Stop when the objective changes by less than this, relatively, between two checks
    #[arg(long, value_name = "NUMBER", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective_decrease: Option<f64>,
    /// Fixed ratio of primal to dual steps; 1 is the paper's [default: adapted]
    #[arg(long, value_name = "NUMBER", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ratio: Option<f64>,
    /// Relaxation of primal-dual steps, between 0 and 2; 1 is the paper's [default: 1.8]
    #[arg(long, value_name = "NUMBER", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relaxation: Option<f64>,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Solver", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Continue from the checkpoint in this run directory
    #[arg(long, value_name = "DIR", help_heading = "Solver")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<PathBuf>,

    /// Exactly so many rounds, whatever is reached; also for primal-dual [default: until the tolerance; ask: 100]
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Step of the gradient methods, fedavg, ifca and pfedme [default: one that never diverges]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// fedsgd: rows of a batch [default: 10]
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// fedsgd: inverse-root (step / sqrt k), inverse (step / k) or constant [default: inverse-root]
    #[arg(long, value_name = "RULE", help_heading = "Solvers that exchange messages")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// async-fedgd: share of the nodes that are active in a round [default: 0.5]
    #[arg(long, value_name = "SHARE", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<f64>,
    /// async-fedgd: messages are up to so many rounds late [default: 5]
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<usize>,
    /// fedavg, ifca, pfedme: local steps in a round [default: 5; pfedme: 1]
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_steps: Option<usize>,
    /// fedavg: one proximal step instead of gradient steps
    #[arg(long, help_heading = "Solvers that exchange messages")]
    #[serde(skip_serializing_if = "is_false")]
    pub prox: bool,
    /// ifca: number of models [default: 2]; or a table with columns node, model, options: a model class for each node
    #[arg(long, value_name = "K|FILE", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
    /// ifca: number of random starts, of which the best counts [default: 1]
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<usize>,
    /// pfedme: how strongly personal models are drawn to the common one [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// fedrelax: nodes update in-turn or together [default: in-turn]
    #[arg(long, value_name = "RULE", help_heading = "Solvers that exchange messages")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// projected-gradient: keep |w_i| <= RADIUS
    #[arg(long, value_name = "RADIUS", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ball: Option<f64>,
    /// projected-gradient: keep every parameter between two numbers
    #[arg(
        long = "box",
        value_name = "LOW,HIGH",
        help_heading = "Solvers that exchange messages",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub box_: Option<Vec<f64>>,
    /// pdmm: share of the users that update in a round [default: 0.4]
    #[arg(long, value_name = "SHARE", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<f64>,
    /// pdmm: penalty of the augmented Lagrangian [default: from the curvature of the losses]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// pdmm: weight of the Bregman terms [default: rho]; ask: step of an answer [default: one that never diverges], or with
    /// --model what the rows of the other weigh against staying close [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// pdmm: damping of the dual step; 0.8 in the paper [default: one that is known to converge]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tau: Option<f64>,
    /// pdmm: backward dual step; 0.2 in the paper [default: 2/3]
    #[arg(long, value_name = "NUMBER", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// pdmm: stop sending pairs of users whose models were equal for N rounds
    #[arg(long, value_name = "N", help_heading = "Solvers that exchange messages", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cease_after: Option<u32>,
    /// pdmm: the update as printed in the paper, which is right for --users 1 only
    #[arg(long, help_heading = "Solvers that exchange messages")]
    #[serde(skip_serializing_if = "is_false")]
    pub as_printed: bool,

    /// Run directory to write: parameters, clusters, history, summary, config, report
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// Replace an existing run directory
    #[arg(long, help_heading = "Output")]
    #[serde(skip_serializing_if = "is_false")]
    pub overwrite: bool,
    /// Print one JSON object instead of words
    #[arg(long, help_heading = "Output")]
    #[serde(skip_serializing_if = "is_false")]
    pub json: bool,
    /// Say on stderr what the solver chose, and why
    #[arg(long, short, help_heading = "Output")]
    #[serde(skip_serializing_if = "is_false")]
    pub verbose: bool,
    /// Title of the report
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the data come from, for the report
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,

    /// Read these settings from a TOML file; flags given here come first
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
}

/// A number stands for a list of one.
fn one_or_several<'de, D: Deserializer<'de>>(input: D) -> std::result::Result<Option<Vec<f64>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number or a list of numbers")]
    enum Numbers {
        One(f64),
        Several(Vec<f64>),
    }
    Ok(Some(match Numbers::deserialize(input)? {
        Numbers::One(number) => vec![number],
        Numbers::Several(numbers) => numbers,
    }))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A number of models, or a table that names them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a file name")]
pub enum Models {
    /// So many.
    Count(usize),
    /// A model class for each node.
    File(PathBuf),
}

impl FromStr for Models {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Models::File(text.into()), Models::Count))
    }
}

impl RawConfig {
    /// The table of `--models`.
    pub fn models_file(&self) -> Option<&Path> {
        match &self.models {
            Some(Models::File(path)) => Some(path),
            _ => None,
        }
    }
}

/// A number or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or \"auto\"")]
pub enum Lambda {
    /// This value.
    Fixed(f64),
    /// Chosen on held-out rows.
    Auto(Auto),
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// `auto`.
    Auto,
}

impl FromStr for Lambda {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Lambda::Auto(Auto::Auto)),
            _ => text.parse().map(Lambda::Fixed).map_err(|_| format!("`{text}` is neither a number nor `auto`")),
        }
    }
}

impl RawConfig {
    /// The flags over the config file they name, if any.
    pub fn resolve(self) -> Result<RawConfig> {
        // A run that is to go on brings its own settings.
        let resumed = self.resume.as_ref().filter(|_| self.nodes.is_none()).map(|dir| dir.join("config.toml"));
        let Some(path) = &self.config.clone().or(resumed) else { return Ok(self) };
        let mut merged = toml::Table::try_from(read(path)?)?;
        merged.extend(toml::Table::try_from(&self)?);
        Ok(RawConfig { config: self.config, ..merged.try_into()? })
    }

    /// The settings as a config file; where results go is up to the next run.
    pub fn to_toml(&self) -> Result<String> {
        let again =
            RawConfig { out: None, overwrite: false, json: false, verbose: false, resume: None, ..self.clone() };
        Ok(toml::to_string(&again)?)
    }
}

fn read(path: &Path) -> Result<RawConfig> {
    read_toml(path, "keys are the long flags of `fedweave fit --help` without the dashes")
}

/// Reads a TOML file; errors name the line and what is wrong there, then the `hint`.
pub fn read_toml<T: serde::de::DeserializeOwned>(path: &Path, hint: &str) -> Result<T> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
        // The first line says what is wrong; the rest repeats the file, or all keys there are.
        let what =
            error.message().lines().next().unwrap_or_default().split(", expected one of").next().unwrap_or_default();
        let key = text.lines().nth(line - 1).and_then(|l| l.split('=').next()).unwrap_or_default().trim();
        let key = if what.contains(key) { String::new() } else { format!("`{key}`: ") };
        anyhow!("{shown}:{line}: {key}{what}; {hint}")
    })
}
