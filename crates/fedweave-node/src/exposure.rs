//! Whose data a neighbour could find out. Models are sent as they are: the only neighbour of a node with the squared loss knows
//! `X'X` and `X'y` after `d + 1` rounds, and with few rows these are close to the rows. See `docs/threat-model.md`.

use std::collections::BTreeSet;
use std::fmt;

use fedweave::model::ModelSpec;
use fedweave_io::counted;

use crate::plan::Plan;

/// A node whose data is easy to find out for neighbours held elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// The node.
    pub node: String,
    /// Its only neighbour, if it has only one.
    pub only_neighbour: Option<String>,
    /// Its rows.
    pub rows: usize,
    /// Parameters of its model, or features of a model of another class.
    pub dim: usize,
    /// Its model, if what that predicts can be the label of a single row.
    pub says_labels: Option<String>,
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exposure { node, only_neighbour, rows, dim, says_labels } = self;
        write!(f, "node `{node}` is exposed: ")?;
        if let Some(model) = says_labels {
            let and = if only_neighbour.is_some() || *rows < 2 * dim { "; " } else { "" };
            write!(f, "predictions of `{model}` can be labels of single rows, as they are{and}")?;
        }
        if let Some(neighbour) = only_neighbour {
            write!(f, "`{neighbour}` is its only neighbour and can solve for its data")?;
        }
        if *rows < 2 * dim {
            let and = if only_neighbour.is_some() { "; " } else { "" };
            write!(f, "{and}it has only {} for {dim} parameters", counted(*rows, "row"))?;
        }
        write!(f, "; no privacy mechanism is on")
    }
}

/// A leaf of one row, or the one nearest row, answers with its label.
fn says_labels(spec: &ModelSpec) -> bool {
    match spec {
        ModelSpec::Tree(options) => options.min_samples_leaf <= 1,
        // Few trees may well agree on one row.
        ModelSpec::Forest(options) => options.trees <= 10 && options.tree.min_samples_leaf <= 1,
        ModelSpec::Nearest(options) => options.neighbours <= 1,
        _ => false,
    }
}

/// The nodes of a part that send their models or predictions elsewhere and have one neighbour only, fewer than `2 d` rows, or a
/// model that answers with labels of single rows.
pub fn exposure(plan: &Plan) -> Vec<Exposure> {
    let dim = plan.data.dim();
    let of_node = |(k, node): (usize, &String)| {
        let rows = plan.data.rows(k).len();
        let touches = |e: &&crate::plan::PlanEdge| e.node == *node || e.neighbour == *node;
        let other = |e: &crate::plan::PlanEdge| if e.node == *node { e.neighbour.clone() } else { e.node.clone() };
        let neighbours: BTreeSet<String> = plan.edges.iter().filter(touches).map(other).collect();
        let crosses = plan.edges.iter().any(|e| e.node == *node && e.peer.is_some());
        let only_neighbour = neighbours.first().filter(|_| neighbours.len() == 1).cloned();
        let spec = plan.models.as_ref().and_then(|m| m.specs.get(k));
        let says_labels = spec.filter(|spec| says_labels(spec)).map(|spec| spec.name().to_owned());
        let exposed = crosses && rows > 0 && (only_neighbour.is_some() || rows < 2 * dim || says_labels.is_some());
        exposed.then(|| Exposure { node: node.clone(), only_neighbour, rows, dim, says_labels })
    };
    plan.nodes.iter().enumerate().filter_map(of_node).collect()
}
