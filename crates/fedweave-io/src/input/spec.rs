//! What to read, and how.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::IoError;
use crate::fault::Fault;

/// A request: the files, and the part each column plays.
#[derive(Debug, Clone, PartialEq)]
pub struct InputSpec {
    /// The node table, one line per data point.
    pub nodes: PathBuf,
    /// The edges, if the graph comes from a file.
    pub edges: Option<PathBuf>,
    /// A table with one line per node.
    pub node_info: Option<PathBuf>,
    /// The column with the node ids, in `nodes` and `node_info`.
    pub node: String,
    /// The column to predict.
    pub target: Option<String>,
    /// What the target is.
    pub target_kind: TargetKind,
    /// The feature columns; `None` for all columns without another part.
    pub features: Option<Vec<String>>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Text columns that become one 0/1 column per level (with an intercept: per level but the first). They are features
    /// whether `features` lists them or not.
    pub one_hot: Vec<String>,
    /// The column with row weights.
    pub weight: Option<String>,
    /// What to do about missing values.
    pub missing: MissingPolicy,
    /// Rows that miss nothing but the target are kept apart: features without labels.
    pub unlabelled: bool,
    /// The column by whose values rows are kept together when rows are split.
    pub group: Option<String>,
    /// The column whose values tell groups of rows apart that are to be compared, in `nodes` or `node_info`.
    pub protected: Option<String>,
    /// The column that orders the rows of a node: by number if all cells are numbers, else by text (ISO dates).
    pub time: Option<String>,
    /// Coordinates of the nodes, e.g. `lat,lon`: from `node_info` if it has them, else the mean over the node's rows.
    pub by: Vec<String>,
    /// Join every node with its `k` nearest in `by`.
    pub knn: Option<usize>,
    /// Distance for `knn`; `None`: great-circle if `by` looks like latitude and longitude, else Euclidean.
    pub metric: Option<Metric>,
    /// Further text columns that are constant inside a node.
    pub per_node: Vec<String>,
    /// Append a column of ones.
    pub intercept: bool,
    /// Rows are protected, and must not decide about columns or the graph: texts that become columns, and positions that differ between the
    /// rows of a node, are refused.
    pub guarded: bool,
}

/// What the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A number.
    Number,
    /// A class label, any text.
    Class,
    /// One of two classes: numbers as they are, or two words such as `yes` and `no`.
    Binary,
    /// Nothing: labels are zero and the target column, if any, is ignored.
    None,
}

/// What to do about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPolicy {
    /// Refuse, with a count per column.
    Error,
    /// Leave out rows with a missing value.
    Drop,
    /// Fill numeric features with the mean of their column; leave out rows that miss anything else.
    Mean,
}

/// Distance between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Straight lines in the coordinates as they are.
    Euclidean,
    /// Great circles; the coordinates are latitude and longitude in degrees.
    GreatCircle,
}

impl InputSpec {
    /// A node table with ids in the column `node`, every other column a feature, an intercept, no graph and no target.
    pub fn new(nodes: impl Into<PathBuf>) -> Self {
        InputSpec {
            nodes: nodes.into(),
            edges: None,
            node_info: None,
            node: "node".into(),
            target: None,
            target_kind: TargetKind::None,
            features: None,
            drop: Vec::new(),
            one_hot: Vec::new(),
            weight: None,
            missing: MissingPolicy::Error,
            unlabelled: false,
            group: None,
            protected: None,
            time: None,
            by: Vec::new(),
            knn: None,
            metric: None,
            per_node: Vec::new(),
            intercept: true,
            guarded: false,
        }
    }

    /// Refuses what contradicts itself before any file is opened.
    pub(super) fn check(&self) -> Result<(), IoError> {
        if self.edges.is_some() && self.knn.is_some() {
            return Err(Fault::TwoGraphs.into());
        }
        if self.knn.is_some() && self.by.is_empty() {
            return Err(Fault::NoCoordinates.into());
        }
        if self.target_kind != TargetKind::None && self.target.is_none() {
            return Err(Fault::NoTarget.into());
        }
        Ok(())
    }

    /// The columns that may never be features, with their part.
    pub(super) fn exclusive(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let optional = [("target", &self.target), ("row weight", &self.weight)];
        let optional = optional.into_iter().filter_map(|(role, name)| Some((role, name.as_deref()?)));
        std::iter::once(("node id", self.node.as_str())).chain(optional)
    }

    /// The columns that are features only if `features` lists them.
    pub(super) fn reserved(&self) -> impl Iterator<Item = &str> {
        let optional = self.group.iter().chain(&self.time);
        optional.chain(&self.by).chain(&self.per_node).chain(&self.drop).map(String::as_str)
    }
}
