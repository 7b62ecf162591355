//! The partition that `--partition` names: a column of the table of rows (or nodes), or a file.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use fedweave::graph::partition::Partition;
use fedweave_io::{Input, Kind, Table};

use crate::config::RawConfig;
use crate::plan::partition_column;

/// The partition asked for, if any.
pub fn given(raw: &RawConfig, input: &Input) -> Result<Option<Partition>> {
    let Some(name) = &raw.partition else { return Ok(None) };
    let labels = match partition_column(raw) {
        Some(column) => {
            let known = input.per_node.iter().find(|c| &c.name == column).expect("the column was asked for");
            known.values.clone()
        }
        None => from_file(Path::new(name), raw.node.as_deref().unwrap_or("node"), &input.names)?,
    };
    if let Some(missing) = labels.iter().position(Option::is_none) {
        bail!("--partition {name}: node `{}` has no cluster", input.names[missing]);
    }
    Ok(Some(Partition::of_labels(&labels).by_size()))
}

/// Columns `node` (or as `--node` says) and `cluster`.
fn from_file(path: &Path, node: &str, names: &[String]) -> Result<Vec<Option<String>>> {
    let table =
        Table::read(path, |name| if [node, "node", "cluster"].contains(&name) { Kind::Text } else { Kind::Skip })?;
    let node = table.position(node).map_or_else(|| table.find_node("node"), Ok)?;
    let cluster = table.find("cluster")?;
    let index: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut labels: Vec<Option<String>> = vec![None; names.len()];
    let (nodes, clusters) = (table.text(node), table.text(cluster));
    for row in 0..table.rows() {
        let (name, label) = (nodes.get(row), clusters.get(row));
        let place = table.place(row);
        let i = *index.get(name).ok_or_else(|| anyhow!("{place}: there is no node `{name}`"))?;
        ensure!(!label.is_empty(), "{place}: node `{name}` has no cluster");
        let known = labels[i].get_or_insert_with(|| label.to_owned());
        ensure!(known == label, "{place}: node `{name}` is in cluster `{label}` here and in `{known}` above");
    }
    Ok(labels)
}
