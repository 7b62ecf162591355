//! A vertical fit in words and as JSON.

use fedweave::learn::race::Cost;
use serde_json::{Value, json};

use super::VerticalResult;
use crate::run_dir::COLUMNS;
use crate::wording::{counted, number};

/// The one JSON object.
pub fn summary(result: &VerticalResult) -> Value {
    let VerticalResult { request, rows, fit, errors } = result;
    let party = |p: usize| {
        let parameters: serde_json::Map<String, Value> =
            rows.columns[p].iter().zip(&fit.w[p]).map(|(name, w)| (name.clone(), json!(w))).collect();
        json!({
            "table": rows.files[p], "labels": p == rows.holder, "parameters": parameters,
            "bytes_sent": fit.traffic.bytes_by_node()[p], "rows_left_out": rows.left_out[p],
        })
    };
    json!({
        "job": "vertical", "status": status(result), "version": env!("CARGO_PKG_VERSION"),
        "loss": request.model.family.to_string(), "ridge": request.model.options.ridge,
        "parties": (0..rows.files.len()).map(party).collect::<Vec<_>>(), "intercept": fit.intercept,
        "rows": rows.keys.len(), "objective": fit.objective, "gradient": fit.gradient, "steps": fit.steps,
        "rounds": fit.traffic.rounds(), "messages": fit.traffic.messages(), "bytes": fit.traffic.bytes(),
        "train_error": errors[0], "validation_error": errors[1], "held_out": request.held_out_words,
    })
}

fn status(result: &VerticalResult) -> &'static str {
    if result.fit.converged { "converged" } else { "stalled" }
}

/// In words.
pub fn text(result: &VerticalResult, path: Option<&std::path::Path>) -> String {
    let VerticalResult { request, rows, fit, errors } = result;
    let traffic = &fit.traffic;
    let mut lines = vec![format!(
        "one model for {} that all {} parties have (`{}`), by their columns; {}",
        counted(rows.keys.len(), "row"),
        rows.files.len(),
        request.key,
        status(result)
    )];
    let width = rows.files.iter().map(String::len).max().unwrap_or(0);
    for p in 0..rows.files.len() {
        let held = if p == rows.holder { ", the labels" } else { "" };
        let left = match rows.left_out[p] {
            0 => String::new(),
            left => format!("; {} that others do not have", counted(left, "row")),
        };
        let (sent, columns) = (traffic.bytes_by_node()[p], counted(rows.columns[p].len(), "column"));
        lines.push(format!("  {:width$}  {columns}{held}: sent {sent} bytes{left}", rows.files[p]));
    }
    lines.push(format!(
        "  objective {}, gradient {} of where it began, {}",
        number(fit.objective),
        number(fit.gradient),
        counted(fit.steps, "Newton step")
    ));
    lines.push(format!(
        "  sent: {} bytes in {} messages and {} rounds: a score a row from every party, what the holder of the labels makes of their sum, and sums of squares; no column, no parameter",
        traffic.bytes(),
        traffic.messages(),
        traffic.rounds()
    ));
    lines.push("  what that reveals: slopes of the loss say to every party much about the labels".into());
    let name = Cost::of(request.model.family).map_or("error", Cost::name);
    for (what, error) in ["training rows", "held-out rows"].into_iter().zip(errors) {
        lines.extend(error.map(|error| format!("  {name} on {what}: {}", number(error))));
    }
    lines.push(match path {
        Some(path) => format!("written to {}, see {}", path.display(), COLUMNS.0),
        None => format!("nothing written; --out DIR keeps {}", COLUMNS.0),
    });
    lines.join("\n")
}
