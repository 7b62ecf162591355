//! Models of any class as JSON, and in a few lines for people.

use std::path::Path;

use fedweave::model::Task;
use fedweave::tune::mean_and_error;
use serde_json::{Value, json};

use super::RelaxResult;
use crate::calibration::{self, coverage_words};
use crate::error::Result;
use crate::wording::{notices, number, shown, written};

/// How nodes of one model class do, with the network and alone.
pub(super) struct Gain {
    pub class: &'static str,
    pub nodes: usize,
    pub networked: Option<(f64, f64)>,
    pub local: Option<(f64, f64)>,
}

/// What an error is called.
pub fn error_name(task: Task) -> &'static str {
    match task {
        Task::Regression => "mean squared error",
        Task::Classification { .. } => "share of wrong classes",
    }
}

/// Model classes in the order of their names.
pub(super) fn gains(fit: &RelaxResult) -> Vec<Gain> {
    let mut classes: Vec<&'static str> = fit.specs.iter().map(|s| s.name()).collect();
    classes.sort_unstable();
    classes.dedup();
    let of = |class: &'static str| {
        let members: Vec<usize> = (0..fit.specs.len()).filter(|&i| fit.specs[i].name() == class).collect();
        let mean = |errors: &[Option<f64>]| {
            mean_and_error(members.iter().filter_map(|&i| errors[i]).collect::<Vec<_>>().into_iter())
        };
        let held = fit.held_out.as_ref();
        Gain {
            class,
            nodes: members.len(),
            networked: held.and_then(|h| mean(&h.validation.by_node)),
            local: held.and_then(|h| mean(&h.local.by_node)),
        }
    };
    classes.into_iter().map(of).collect()
}

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(fit: &RelaxResult) -> Result<Value> {
    let (last, notices) = (fit.last(), &fit.input.notices);
    let classes: Vec<Value> = gains(fit)
        .iter()
        .map(|g| {
            let (networked, local) = (g.networked.map(|e| e.0), g.local.map(|e| e.0));
            json!({"model": g.class, "nodes": g.nodes, "validation_error": networked, "local_error": local})
        })
        .collect();
    Ok(json!({
        "status": fit.status.to_string(),
        "solver": "fedrelax on predictions",
        "task": fit.task.name(),
        "nodes": fit.input.names.len(),
        "edges": fit.input.graph.edges(),
        "rows": fit.rows_trained,
        "dim": fit.input.features.len(),
        "lambda": fit.lambda,
        "models": classes,
        "public": fit.public,
        "objective": last.objective,
        "iterations": last.number,
        "messages": last.messages,
        "bytes": last.bytes,
        "seconds": fit.seconds,
        "train_error": fit.train.mean(),
        "validation_error": fit.held_out.as_ref().and_then(|h| h.validation.mean()),
        "local_error": fit.held_out.as_ref().and_then(|h| h.local.mean()),
        "error": error_name(fit.task),
        "split": fit.request.held_out.describe(),
        "nodes_without_rows": notices.nodes_without_rows.len(),
        "nodes_without_edges": notices.nodes_without_edges.len(),
        "undetermined_nodes": notices.nodes_with_neither,
        "rows_dropped": notices.rows_dropped,
        "cells_filled": notices.cells_filled,
        "calibration": fit.calibration.as_ref().map(calibration::summary).transpose()?,
        "privacy": fit.protection.as_ref().map(|protection| protection.summary()),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// A few lines for people.
pub fn text(fit: &RelaxResult, path: Option<&Path>) -> Result<String> {
    let (n, e, d) = (fit.input.names.len(), fit.input.graph.edges(), fit.input.features.len());
    let mut lines = vec![format!("{n} nodes, {e} edges, {} rows, {d} features; {}", fit.rows_trained, fit.task.name())];
    lines.extend(notices(&fit.input).iter().map(|notice| format!("note: {notice}")));
    lines.push(fit.public.clone());
    let chosen = if fit.chosen.is_some() { " (chosen on held-out rows, then fitted to all rows)" } else { "" };
    let last = fit.last();
    lines.push(format!(
        "lambda {}{chosen}: {} rounds, {} messages, {} bytes, {:.2} s",
        number(fit.lambda),
        last.number,
        last.messages,
        last.bytes,
        fit.seconds
    ));
    lines.extend(fit.protection.iter().flat_map(|protection| protection.text()));
    let on = if fit.protection.is_some() { "against the votes" } else { "on training rows" };
    lines.push(format!("{}: {} {on}", error_name(fit.task), shown(fit.train.mean())));
    if let Some(held) = &fit.held_out {
        let (networked, local) = (shown(held.validation.mean()), shown(held.local.mean()));
        lines.push(format!("  held-out rows: networked {networked}, local-only {local}"));
        lines.push(format!("  {}", held.hurt_words()));
        for gain in gains(fit) {
            let [networked, local] = [gain.networked, gain.local].map(|e| shown(e.map(|e| e.0)));
            lines.push(format!(
                "    {:9} {:4} nodes: networked {networked}, local-only {local}",
                gain.class, gain.nodes
            ));
        }
        lines.push(format!("  split: {}", fit.request.held_out.describe()));
    }
    lines.extend(fit.calibration.as_ref().map(coverage_words).transpose()?);
    lines.push(written(path, "models and a report"));
    Ok(lines.join("\n"))
}
