//! Models of classes in words and as JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::ClassesResult;
use crate::wording::digits;

/// The neighbours of every class, by name.
fn neighbours(result: &ClassesResult, class: usize) -> Vec<&str> {
    let input = &result.fit.input;
    let mut near: Vec<&str> = Vec::new();
    for e in 0..input.graph.edges() {
        let (i, j) = input.graph.nodes_of(e);
        if i == class || j == class {
            near.push(&input.names[i + j - class]);
        }
    }
    near.sort_unstable();
    near
}

/// The one JSON object.
pub fn summary(result: &ClassesResult) -> Value {
    let input = &result.fit.input;
    let held = result.fit.held_out.as_ref();
    let class = |c: usize| {
        json!({
            "class": input.names[c], "rows": result.sizes[c], "learns_with": neighbours(result, c),
            "validation_error": held.and_then(|held| held.validation.by_node[c]),
            "alone_error": held.and_then(|held| held.local.by_node[c]),
        })
    };
    json!({
        "job": "classes-as-nodes", "version": env!("CARGO_PKG_VERSION"),
        "status": result.fit.solution.status.to_string(),
        "classes": (0..input.names.len()).map(class).collect::<Vec<_>>(),
        "lambda": result.fit.problem.lambda(), "ridge": result.ridge,
        "alone_ridge": held.and_then(|held| held.local_ridge),
        "loss": result.request.fit.model.family.to_string(), "certified_gap": result.fit.solution.certified_gap,
        "validation_error": held.and_then(|held| held.validation.mean()),
        "alone_error": held.and_then(|held| held.local.mean()),
    })
}

/// In words.
pub fn text(result: &ClassesResult, path: Option<&std::path::Path>) -> String {
    let input = &result.fit.input;
    let held = result.fit.held_out.as_ref();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["class", "rows", "together", "alone", "learns with"]);
    for c in 0..input.names.len() {
        let of = |errors: Option<&fedweave::tune::Errors>| digits(errors.and_then(|errors| errors.by_node[c]));
        table.add_row([
            input.names[c].clone(),
            result.sizes[c].to_string(),
            of(held.map(|held| &held.validation)),
            of(held.map(|held| &held.local)),
            neighbours(result, c).join(", "),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let head = format!(
        "{} classes as nodes, each told from all others: lambda {}, ridge {}; alone: ridge {}",
        input.names.len(),
        digits(Some(result.fit.problem.lambda())),
        result.ridge,
        held.and_then(|held| held.local_ridge).map_or_else(|| "-".into(), |ridge| ridge.to_string())
    );
    let tail = match path {
        Some(path) => format!(
            "written to {0}; fedweave predict {0} new.csv takes the class with the largest score",
            path.display()
        ),
        None => "nothing written; --out DIR keeps the models".into(),
    };
    format!("{head}\nerror on rows left out in turn, a class weighing as much as all others together:\n{table}\n{tail}")
}
