//! The partition whose recovery is asked about: a column of the table, a file, or labels.

use std::collections::HashMap;
use std::path::Path;

use fedweave::graph::partition::Partition;
use fedweave_io::{Input, Kind, Table};

use crate::error::{Error, Result, refuse, require};
use crate::request::path::PartitionChoice;

/// The partition asked for.
pub(crate) fn partition(choice: &PartitionChoice, input: &Input) -> Result<Partition> {
    let (shown, labels) = match choice {
        PartitionChoice::Column(column) => {
            let known = input.per_node.iter().find(|c| &c.name == column);
            let missing = || Error::Request(format!("--partition {column}: there is no such column"));
            (column.clone(), known.ok_or_else(missing)?.values.clone())
        }
        PartitionChoice::File(path, node) => (path.display().to_string(), from_file(path, node, &input.names)?),
        PartitionChoice::Labels(labels) => {
            let (found, wanted) = (labels.len(), input.names.len());
            require!(found == wanted, "partition: {found} labels for {wanted} nodes; give one for each node");
            ("labels".into(), labels.iter().cloned().map(Some).collect())
        }
    };
    if let Some(missing) = labels.iter().position(Option::is_none) {
        refuse!("--partition {shown}: node `{}` has no cluster", input.names[missing]);
    }
    Ok(Partition::of_labels(&labels).by_size())
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
        let (name, label, place) = (nodes.get(row), clusters.get(row), table.place(row));
        let unknown = || Error::Request(format!("{place}: there is no node `{name}`"));
        let i = *index.get(name).ok_or_else(unknown)?;
        require!(!label.is_empty(), "{place}: node `{name}` has no cluster");
        let known = labels[i].get_or_insert_with(|| label.to_owned());
        require!(known == label, "{place}: node `{name}` is in cluster `{label}` here and in `{known}` above");
    }
    Ok(labels)
}
