//! Groups of rows that are to be compared: the values of one column.

use super::attributes::Sources;
use crate::error::IoError;
use crate::table::{Column, Table, is_missing};

/// The groups of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Protected {
    /// The column.
    pub column: String,
    /// Its values, sorted; the group of a row is a position in this list.
    pub levels: Vec<String>,
}

/// What stands for a missing value.
const MISSING: &str = "(missing)";

impl Sources<'_> {
    /// The groups and, for every row in `order`, which is its own: from the node table, or else from the node information.
    pub(super) fn protected(&self, order: &[usize]) -> Result<Option<(Protected, Vec<u32>)>, IoError> {
        let Some(column) = &self.spec.protected else { return Ok(None) };
        let texts = match (self.table.position(column), self.info) {
            (None, Some(info)) => {
                let (at, nodes) = (info.table.find(column)?, self.nodes.of_rows(info.ids()));
                let mut of_node = vec![MISSING.to_owned(); self.nodes.len()];
                for (row, node) in nodes.iter().enumerate() {
                    if let Some(i) = node {
                        of_node[*i as usize] = text(&info.table, at, row)?;
                    }
                }
                let node = |row: &usize| self.node_of_row[*row].map_or(MISSING.into(), |i| of_node[i as usize].clone());
                order.iter().map(node).collect::<Vec<_>>()
            }
            _ => {
                let at = self.table.find(column)?;
                order.iter().map(|&row| text(self.table, at, row)).collect::<Result<_, _>>()?
            }
        };
        let mut levels = texts.clone();
        levels.sort();
        levels.dedup();
        let place = |text: &String| levels.binary_search(text).expect("every text is a level") as u32;
        let groups = texts.iter().map(place).collect();
        Ok(Some((Protected { column: column.clone(), levels }, groups)))
    }
}

/// A cell as text.
fn text(table: &Table, column: usize, row: usize) -> Result<String, IoError> {
    let cell = match table.column(column) {
        Column::Text(text) => text.get(row).to_owned(),
        _ => table.finite(column)?.values[row].to_string(),
    };
    Ok(if is_missing(&cell) { MISSING.into() } else { cell })
}
