//! `source,target,weight` in CSV or Parquet; also `from,to`; the case of letters does not count.

use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Kind, Table};

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let table = Table::read(path, |name| match role(name) {
        Some(Role::Source | Role::Target) => Kind::Text,
        Some(Role::Weight) => Kind::Number,
        None => Kind::Skip,
    })?;
    let find = |wanted| table.names().iter().position(|name| role(name) == Some(wanted));
    let (Some(source), Some(target)) = (find(Role::Source), find(Role::Target)) else {
        return Err(table.file().fault(Fault::EdgeHeader { found: table.names().to_vec() }));
    };
    let weight = weights(&table, find(Role::Weight))?;
    let (source, target) = (table.text(source), table.text(target));
    let mut list = Builder::new(path, table.at());
    for (row, &line) in table.lines().iter().enumerate() {
        list.edge(line, source.get(row), target.get(row), weight[row])?;
    }
    Ok(list.finish())
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Source,
    Target,
    Weight,
}

fn role(name: &str) -> Option<Role> {
    match name.to_lowercase().as_str() {
        "source" | "from" => Some(Role::Source),
        "target" | "to" => Some(Role::Target),
        "weight" => Some(Role::Weight),
        _ => None,
    }
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
