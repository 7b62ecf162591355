//! `source,target,weight` in CSV or Parquet, or another usual pair of names; the case of letters does not count.

use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Kind, Table};

/// What the two ends of an edge are called. The first pair that a header has both of counts.
const ENDS: [(&str, &str); 7] = [
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("i", "j"),
    ("u", "v"),
    ("node1", "node2"),
    ("node_1", "node_2"),
];
const WEIGHT: &str = "weight";

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let table = Table::read(path, |name| match name.to_lowercase() {
        name if name == WEIGHT => Kind::Number,
        name if ENDS.iter().any(|(source, target)| name == *source || name == *target) => Kind::Text,
        _ => Kind::Skip,
    })?;
    let find = |wanted: &str| table.names().iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let ends = ENDS.iter().find_map(|(source, target)| Some((find(source)?, find(target)?)));
    let Some((first, second)) = ends else {
        return Err(table.file().fault(Fault::EdgeHeader { found: table.names().to_vec() }));
    };
    let weight = weights(&table, find(WEIGHT))?;
    let (source, target) = (table.text(first), table.text(second));
    let mut list = Builder::new(path, table.at());
    list.notes.extend(table.notes().iter().cloned());
    if !table.names()[first].eq_ignore_ascii_case(ENDS[0].0) {
        list.notes.push(format!(
            "columns {} and {} are the ends of edges",
            table.names()[first],
            table.names()[second]
        ));
    }
    if table.names().len() == 2 {
        list.header = Some([first, second].map(|column| table.names()[column].clone()));
    }
    for (row, &line) in table.lines().iter().enumerate() {
        list.edge(line, source.get(row), target.get(row), weight[row])?;
    }
    Ok(list.finish())
}

/// Weight 1 without a column; a column must be numeric throughout (the builder refuses infinite and missing ones).
fn weights(table: &Table, column: Option<usize>) -> Result<Vec<f64>, IoError> {
    let Some(column) = column else {
        return Ok(vec![1.0; table.rows()]);
    };
    let numbers = table.numbers(column);
    match &numbers.stray {
        Some(cell) => Err(table.place(cell.row).fault(Fault::EdgeWeight { value: format!("{:?}", cell.value) })),
        None => Ok(numbers.into_owned().values),
    }
}
