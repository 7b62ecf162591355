//! What the models of a run say about the nodes behind them.

use std::path::PathBuf;

use fedweave::dataset::node_means;
use fedweave::trust::privacy::features::information;
use fedweave::trust::privacy::probe::{Explained, linear, nearest};
use fedweave_io::{InputSpec, TargetKind, load, read_parameters};
use serde_json::{Value, json};

use crate::error::{Result, require};
use crate::wording::number;

/// With fewer nodes nothing can be learnt about guessing.
const NODES_MIN: usize = 20;

/// Can an attribute of a node be guessed from its model?
#[derive(Debug, Clone, PartialEq)]
pub struct LeakRequest {
    /// The run directory.
    pub run: PathBuf,
    /// A table with the attribute; of several rows of a node their mean counts.
    pub table: PathBuf,
    /// The column.
    pub attribute: String,
    /// The column that names nodes.
    pub node: String,
    /// Seed of the nodes that guesses are judged on.
    pub seed: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LeakResult {
    attribute: String,
    nodes: usize,
    linear: Explained,
    nearest: Explained,
}

impl LeakRequest {
    /// Guesses the attribute of a fifth of the nodes from the models of the others.
    pub fn run(&self) -> Result<LeakResult> {
        let models = read_parameters(&self.run)?;
        let input = load(&InputSpec {
            node: self.node.clone(),
            features: Some(vec![self.attribute.clone()]),
            target_kind: TargetKind::None,
            ..InputSpec::new(&self.table)
        })?;
        let data = &input.data;
        let rows = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |r| (Some(i), data.x(r)[0])));
        let means = node_means(rows, data.nodes());
        let (mut x, mut s) = (Vec::new(), Vec::new());
        for (k, name) in models.names.iter().enumerate() {
            let known = input.names.binary_search(name).ok().map(|i| means[i]).filter(|mean| mean.is_finite());
            if let Some(mean) = known {
                x.extend_from_slice(models.w.row(k));
                s.push(mean);
            }
        }
        let nodes = s.len();
        require!(
            nodes >= NODES_MIN,
            "nodes with a model and a `{}`: {nodes}; at least {NODES_MIN} are needed",
            self.attribute
        );
        let d = models.w.cols();
        Ok(LeakResult {
            attribute: self.attribute.clone(),
            nodes,
            linear: linear(&x, d, &s, self.seed),
            nearest: nearest(&x, d, &s, self.seed),
        })
    }
}

/// Information in nats that a guess of this quality has, if all is normal.
fn nats(r2: f64) -> f64 {
    information(r2.max(0.0))
}

impl LeakResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let probe = |e: &Explained| {
            json!({
                "r2": e.r2, "low": e.low, "high": e.high,
                "information": nats(e.r2), "information_low": nats(e.low), "information_high": nats(e.high),
            })
        };
        json!({
            "attribute": self.attribute, "nodes": self.nodes,
            "linear": probe(&self.linear), "nearest": probe(&self.nearest),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let probe = |name: &str, e: &Explained| {
            format!(
                "  {name}: {} of the variance ({} to {}), {} nats",
                number(e.r2),
                number(e.low),
                number(e.high),
                number(nats(e.r2))
            )
        };
        let head = format!(
            "what somebody who sees the models could learn about `{}`, judged on nodes whose attribute was not known ({} nodes):",
            self.attribute, self.nodes
        );
        [head, probe("by a linear function", &self.linear), probe("by the nearest models", &self.nearest)].join("\n")
    }
}
