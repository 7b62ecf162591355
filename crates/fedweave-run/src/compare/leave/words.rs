//! Unseen nodes in words and as JSON.

use comfy_table::{CellAlignment, Table, presets};
use fedweave::learn::race::Cost;
use serde_json::{Value, json};

use super::LeaveResult;
use crate::wording::{counted, digits, notices, percent, row_notices};

/// The one JSON object.
pub fn summary(left: &LeaveResult) -> Value {
    let mut all = json!({
        "job": "leave-nodes", "version": env!("CARGO_PKG_VERSION"), "nodes": left.input.names.len(),
        "turns": left.turns, "rows_shown": left.shown, "without_neighbours": left.alone, "split": left.request.held_out.describe(),
        "error": Cost::of(left.request.model.family).map(Cost::name),
    });
    for (name, errors) in &left.errors {
        let (error, standard_error) = left.error(errors);
        all[*name] = json!({
            "test_error": error, "standard_error": standard_error,
            "better_than_global": left.better(errors, "global"),
            "better_than_interpolated": left.better(errors, "interpolated"),
        });
    }
    all
}

/// A small table for people.
pub fn text(left: &LeaveResult) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["", "test error", "std. error", "better than global", "better than interpolated"]);
    for (name, errors) in &left.errors {
        let (error, standard_error) = left.error(errors);
        let better = |than: &str| match left.better(errors, than).filter(|_| *name != than) {
            Some(share) => percent(share),
            None => String::new(),
        };
        let numbers = [Some(error), Some(standard_error)].map(digits);
        table.add_row([&[(*name).to_owned()][..], &numbers, &[better("global"), better("interpolated")]].concat());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let notices = if left.shown { row_notices(&left.input) } else { notices(&left.input) };
    let notes: String = notices.iter().map(|notice| format!("note: {notice}\n")).collect();
    let alone = match left.alone {
        0 => String::new(),
        alone => format!(
            "\n{} had no neighbour among the others: networked is the global model there",
            counted(alone, "node")
        ),
    };
    let name = Cost::of(left.request.model.family).map_or("error", Cost::name);
    let (judged, split) = match left.shown {
        true => ("the rows that they did not show", "split of rows; who is new shows those that do not test"),
        false => ("all their rows", "split of the rows of the others"),
    };
    format!(
        "{notes}{name}, mean over nodes that no model has seen, {judged}; every node was left out once, in {}\n{table}{alone}\n{split}: {}",
        counted(left.turns, "turn"),
        left.request.held_out.describe()
    )
}
