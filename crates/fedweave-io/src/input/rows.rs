//! Rows: those of the node table, ordered into a [`Dataset`], and those of another table read the same way.

use std::collections::HashMap;
use std::path::Path;

use fedweave::{Dataset, Matrix};

use super::encoding::{Encoding, Feature};
use super::levels;
use super::roles::Roles;
use super::spec::TargetKind;
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Kind, Table, Text};

/// Rows of a table that were encoded like those a model was fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The node of each row.
    pub node: Vec<String>,
    /// The features of each row.
    pub x: Matrix,
    /// The label of each row, NaN where missing; `None` if the file has no target column or nothing in it.
    pub y: Option<Vec<f64>>,
    /// When each row was observed, NaN where that is not known; `None` if the file does not say.
    pub times: Option<Vec<f64>>,
    /// The line (Parquet: row) of each row.
    pub lines: Vec<u64>,
    /// Rows that were left out.
    pub skipped: Skipped,
}

/// Rows that a model knows nothing about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Skipped {
    /// How many.
    pub rows: usize,
    /// Their nodes, where these are not known, in order of appearance.
    pub nodes: Vec<String>,
    /// Texts that did not occur when the model was fitted, as `column=text`, in order of appearance.
    pub levels: Vec<String>,
}

/// Reads the rows of another file with the encoding of a fitted model.
pub fn load_rows(path: &Path, encoding: &Encoding) -> Result<Rows, IoError> {
    read_rows(path, encoding, None)
}

/// The same without rows of nodes that `known` does not accept, and without texts that did not occur.
pub fn load_known_rows(path: &Path, encoding: &Encoding, known: &dyn Fn(&str) -> bool) -> Result<Rows, IoError> {
    read_rows(path, encoding, Some(known))
}

fn read_rows(path: &Path, encoding: &Encoding, known: Option<&dyn Fn(&str) -> bool>) -> Result<Rows, IoError> {
    let table = Table::read(path, |name| kind(encoding, name))?;
    let ids = if encoding.node.is_empty() { None } else { Some(table.text(table.find_node(&encoding.node)?)) };
    if let Some(&row) = ids.and_then(|ids| ids.gaps(str::is_empty).first().copied()).as_ref() {
        return Err(table.place(row).fault(Fault::EmptyId { what: "row" }));
    }
    let id = |row: usize| ids.map_or(Encoding::EVERYBODY, |ids| ids.get(row));
    let (mut rows, mut skipped) = ((0..table.rows()).collect::<Vec<_>>(), Skipped::default());
    if let Some(known) = known {
        rows.retain(|&row| known(id(row)) || skipped.see(id(row)));
        rows = encoding.known(&table, rows, &mut |level| remember(&mut skipped.levels, &level))?;
        skipped.rows = table.rows() - rows.len();
    }
    Ok(Rows {
        x: encoding.matrix(&table, &rows)?,
        y: known_labels(&table, encoding, &rows)?,
        times: encoding.time.as_ref().and_then(|time| {
            let column = table.position(&time.column)?;
            Some(time.numbers(table.text(column), &rows))
        }),
        node: rows.iter().map(|&row| id(row).to_owned()).collect(),
        lines: rows.iter().map(|&row| table.lines()[row]).collect(),
        skipped,
    })
}

impl Skipped {
    /// Remembers an unknown node; always false: its rows are not kept.
    fn see(&mut self, node: &str) -> bool {
        remember(&mut self.nodes, node);
        false
    }
}

fn remember(seen: &mut Vec<String>, text: &str) {
    if !seen.iter().any(|old| old == text) {
        seen.push(text.to_owned());
    }
}

/// Rows without labels; they may belong to nobody.
#[derive(Debug, Clone, PartialEq)]
pub struct Unlabelled {
    /// The node of each row, if the file has a column of nodes.
    pub node: Option<Vec<String>>,
    /// The features of each row.
    pub x: Matrix,
    /// The line (Parquet: row) of each row.
    pub lines: Vec<u64>,
}

/// Reads the features of another file with the encoding of a fitted model; labels are not looked at.
pub fn load_unlabelled(path: &Path, encoding: &Encoding) -> Result<Unlabelled, IoError> {
    let blind = Encoding { target: None, ..encoding.clone() };
    let table = Table::read(path, |name| kind(&blind, name))?;
    let rows: Vec<usize> = (0..table.rows()).collect();
    let ids = table.position(&encoding.node).map(|column| table.text(column));
    if let Some(&row) = ids.and_then(|ids| ids.gaps(str::is_empty).first().copied()).as_ref() {
        return Err(table.place(row).fault(Fault::EmptyId { what: "row" }));
    }
    Ok(Unlabelled {
        x: blind.matrix(&table, &rows)?,
        node: ids.map(|ids| rows.iter().map(|&row| ids.get(row).to_owned()).collect()),
        lines: table.lines().to_vec(),
    })
}

fn kind(encoding: &Encoding, name: &str) -> Kind {
    let class = matches!(encoding.target_kind, TargetKind::Class | TargetKind::Binary);
    let feature = encoding.features.iter().find(|f| f.column() == name);
    match feature {
        _ if name == encoding.node => Kind::Text,
        None if encoding.time.as_ref().is_some_and(|time| time.column == name) => Kind::Text,
        Some(Feature::OneHot { .. }) => Kind::Text,
        Some(Feature::Number { .. }) => Kind::Number,
        None if encoding.target.as_deref() != Some(name) => Kind::Skip,
        None => {
            if class {
                Kind::Text
            } else {
                Kind::Number
            }
        }
    }
}

fn known_labels(table: &Table, encoding: &Encoding, rows: &[usize]) -> Result<Option<Vec<f64>>, IoError> {
    let Some(target) = encoding.target.as_deref().and_then(|name| table.position(name)) else {
        return Ok(None);
    };
    let labels = encoding.labels(table, target, rows)?;
    Ok(Some(labels).filter(|labels| labels.iter().any(|y| !y.is_nan())))
}

/// The kept rows, grouped by node; inside a node by time, then as in the file.
pub(super) fn by_node_and_time(
    table: &Table,
    roles: &Roles,
    node_of_row: &[Option<u32>],
    mut rows: Vec<usize>,
) -> Vec<usize> {
    match roles.time.map(|time| table.text(time)) {
        Some(time) => {
            let rank = levels::ranks(&time.levels);
            rows.sort_by_key(|&row| (node_of_row[row], rank[time.codes[row] as usize]));
        }
        None => rows.sort_by_key(|&row| node_of_row[row]),
    }
    rows
}

/// The dataset of the rows in `order`, which groups them by node.
pub(super) fn dataset(
    table: &Table,
    roles: &Roles,
    encoding: &Encoding,
    nodes: usize,
    node_of_row: &[Option<u32>],
    order: &[usize],
) -> Result<Dataset, IoError> {
    let mut offsets = vec![0; nodes + 1];
    order.iter().filter_map(|&row| node_of_row[row]).for_each(|i| offsets[i as usize + 1] += 1);
    (0..nodes).for_each(|i| offsets[i + 1] += offsets[i]);
    let y = match roles.target {
        Some(target) => encoding.labels(table, target, order)?,
        None => vec![0.0; order.len()],
    };
    let weight = match roles.weight {
        Some(column) => weights(table, column, order)?,
        None => vec![1.0; order.len()],
    };
    Ok(Dataset::new(offsets, encoding.features(table, order)?, y, weight)?)
}

/// Rows without labels, grouped by node.
pub(super) fn unlabelled(
    table: &Table,
    encoding: &Encoding,
    nodes: usize,
    node_of_row: &[Option<u32>],
    rows: Vec<usize>,
) -> Result<Dataset, IoError> {
    let (rows, node): (Vec<usize>, Vec<usize>) =
        rows.into_iter().filter_map(|row| Some((row, node_of_row[row]? as usize))).unzip();
    let x = encoding.matrix(table, &rows)?;
    Ok(Dataset::group(nodes, &node, &x, &vec![0.0; rows.len()], &vec![1.0; rows.len()])?.0)
}

fn weights(table: &Table, column: usize, order: &[usize]) -> Result<Vec<f64>, IoError> {
    let values = table.finite(column)?;
    if let Some(&row) = order.iter().find(|&&row| values.values[row] < 0.0) {
        let (column, value) = (table.names()[column].clone(), values.values[row]);
        return Err(table.place(row).fault(Fault::RowWeight { column, value }));
    }
    Ok(order.iter().map(|&row| values.values[row]).collect())
}

/// Groups numbered without gaps, in the order of the file.
pub(super) fn groups(text: &Text, order: &[usize]) -> Vec<u32> {
    let mut used: Vec<u32> = order.iter().map(|&row| text.codes[row]).collect();
    used.sort_unstable();
    used.dedup();
    let number: HashMap<u32, u32> = used.into_iter().zip(0..).collect();
    order.iter().map(|&row| number[&text.codes[row]]).collect()
}
