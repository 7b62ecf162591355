//! Which files, and the part each column plays.

use std::path::Path;

use fedweave::loss::Family;
use fedweave_io::{InputSpec, Kind, Metric, MissingPolicy, Table, TargetKind};

use super::settings::{Reader, choice};
use crate::error::{Error, Result, require};

/// What the target of a loss is.
pub fn target_kind(family: Family) -> TargetKind {
    match family {
        Family::Point => TargetKind::None,
        Family::Multinomial { .. } => TargetKind::Class,
        Family::Logistic | Family::SquaredHinge => TargetKind::Binary,
        _ => TargetKind::Number,
    }
}

/// The files and columns of a job; `per_node` are further columns that are constant inside a node.
pub fn input_spec(
    reader: &Reader,
    target_kind: TargetKind,
    intercept: bool,
    per_node: Vec<String>,
) -> Result<InputSpec> {
    let nodes = reader.path("nodes");
    let nodes =
        nodes.ok_or_else(|| Error::request("which data? give the table: fedweave fit nodes.csv --target y ..."))?;
    let target = reader.string("target");
    require!(
        target.is_some() || target_kind == TargetKind::None,
        "which column is to be predicted? give --target COLUMN (only the point loss needs none){}",
        columns(&nodes)
    );
    Ok(InputSpec {
        edges: reader.path("edges"),
        node_info: reader.path("node-info"),
        node: reader.string("node").unwrap_or_else(|| "node".into()),
        target,
        target_kind,
        features: reader.texts("features"),
        drop: reader.texts("drop").unwrap_or_default(),
        one_hot: reader.texts("one-hot").unwrap_or_default(),
        weight: reader.string("weight"),
        missing: missing(reader)?,
        unlabelled: reader.choice("unlabelled", &[("refuse", false), ("keep", true)])?,
        group: reader.string("split-by"),
        time: reader.string("time"),
        by: reader.texts("by").unwrap_or_default(),
        knn: reader.count("knn"),
        metric: reader.text("metric").map(metric).transpose()?,
        per_node,
        intercept,
        ..InputSpec::new(nodes)
    })
}

/// The columns of a table, for those who have to choose; nothing if it cannot be read.
fn columns(table: &Path) -> String {
    let found = Table::read(table, |_| Kind::Skip);
    found.map_or(String::new(), |table| format!("; the columns are {}", table.names().join(", ")))
}

/// What to do about missing values.
pub(super) fn missing(reader: &Reader) -> Result<MissingPolicy> {
    let known = [("error", MissingPolicy::Error), ("drop", MissingPolicy::Drop), ("mean", MissingPolicy::Mean)];
    reader.choice("missing", &known)
}

/// A distance by name.
pub fn metric(name: &str) -> Result<Metric> {
    choice("--metric", Some(name), &[("great-circle", Metric::GreatCircle), ("euclidean", Metric::Euclidean)])
}
