//! What becomes of rows with missing values.

use super::roles::Roles;
use super::spec::{InputSpec, MissingPolicy};
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Column, Table, is_missing};

/// The rows that stay.
pub(super) struct Kept {
    /// Rows of the table, in its order.
    pub rows: Vec<usize>,
    /// Rows that miss nothing but the target, if these are wanted.
    pub unlabelled: Vec<usize>,
    pub dropped: usize,
    pub filled: usize,
}

/// Missing cells of one used column.
struct Gaps {
    column: usize,
    rows: Vec<usize>,
    /// A mean may stand in.
    fillable: bool,
}

pub(super) fn keep(spec: &InputSpec, table: &Table, roles: &Roles) -> Result<Kept, IoError> {
    let mut gaps = gaps(table, roles)?;
    let without = |gap: &Gaps| spec.unlabelled && Some(gap.column) == roles.target;
    let mut unlabelled: Vec<usize> = Vec::new();
    if let Some(at) = gaps.iter().position(without) {
        unlabelled = gaps.swap_remove(at).rows;
    }
    if spec.missing == MissingPolicy::Error && !gaps.is_empty() {
        return Err(report(table, &gaps));
    }
    let fill = spec.missing == MissingPolicy::Mean;
    let mut keep = vec![true; table.rows()];
    for gap in gaps.iter().filter(|gap| !(fill && gap.fillable)) {
        gap.rows.iter().for_each(|&row| keep[row] = false);
    }
    unlabelled.retain(|&row| keep[row]);
    let dropped = keep.iter().filter(|keep| !**keep).count();
    unlabelled.iter().for_each(|&row| keep[row] = false);
    let rows: Vec<usize> = (0..table.rows()).filter(|&row| keep[row]).collect();
    if rows.is_empty() {
        return Err(table.file().fault(Fault::NothingLeft));
    }
    let filled = gaps.iter().filter(|gap| gap.fillable).flat_map(|gap| &gap.rows).filter(|&&row| keep[row]).count();
    Ok(Kept { dropped, unlabelled, rows, filled })
}

fn gaps(table: &Table, roles: &Roles) -> Result<Vec<Gaps>, IoError> {
    // A node may well be called NA (Namibia) or null; only an empty id is none.
    let mut all = vec![Gaps { column: roles.node, rows: table.text(roles.node).gaps(str::is_empty), fillable: false }];
    for column in [roles.target, roles.weight, roles.group, roles.time].into_iter().flatten() {
        all.push(Gaps { column, rows: blanks(table, column)?, fillable: false });
    }
    for feature in &roles.features {
        let rows = if feature.one_hot { blanks(table, feature.column)? } else { table.finite(feature.column)?.gaps() };
        all.push(Gaps { column: feature.column, rows, fillable: !feature.one_hot });
    }
    all.retain(|gap| !gap.rows.is_empty());
    Ok(all)
}

fn blanks(table: &Table, column: usize) -> Result<Vec<usize>, IoError> {
    match table.column(column) {
        Column::Text(text) => Ok(text.gaps(is_missing)),
        _ => Ok(table.finite(column)?.gaps()),
    }
}

fn report(table: &Table, gaps: &[Gaps]) -> IoError {
    let counts = gaps.iter().map(|gap| (table.names()[gap.column].clone(), gap.rows.len())).collect();
    let first = gaps.iter().filter_map(|gap| gap.rows.first()).min();
    Fault::Missing { counts, first: first.map_or(table.file(), |&row| table.place(row)) }.into()
}
