//! What is said about models of any class: on the terminal, as JSON, in the run directory, in the report.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fedweave::model::Task;
use fedweave::split::Part;
use fedweave::tune::mean_and_error;
use fedweave_io::RunWriter;
use fedweave_report as report;
use fedweave_report::Report;
use serde_json::{Value, json};

use super::{LOSS, ModelFit};
use crate::predict::Model;
use crate::story::{command, draw, notices, number, shown, split_words, version, write_report};

/// How nodes of one model class do, with the network and alone.
struct Gain {
    class: &'static str,
    nodes: usize,
    networked: Option<(f64, f64)>,
    local: Option<(f64, f64)>,
}

pub fn error_name(task: Task) -> &'static str {
    match task {
        Task::Regression => "mean squared error",
        Task::Classification { .. } => "share of wrong classes",
    }
}

/// Model classes in the order of their names.
fn gains(fit: &ModelFit) -> Vec<Gain> {
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
            networked: held.and_then(|h| mean(&h.networked.by_node)),
            local: held.and_then(|h| mean(&h.local.by_node)),
        }
    };
    classes.into_iter().map(of).collect()
}

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(fit: &ModelFit) -> Value {
    let (last, notices) = (fit.history.last().expect("a history is never empty"), &fit.input.notices);
    let classes: Vec<Value> = gains(fit)
        .iter()
        .map(|g| {
            let (networked, local) = (g.networked.map(|e| e.0), g.local.map(|e| e.0));
            json!({"model": g.class, "nodes": g.nodes, "validation_error": networked, "local_error": local})
        })
        .collect();
    json!({
        "status": "done",
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
        "validation_error": fit.held_out.as_ref().and_then(|h| h.networked.mean()),
        "local_error": fit.held_out.as_ref().and_then(|h| h.local.mean()),
        "error": error_name(fit.task),
        "split": split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref()),
        "nodes_without_rows": notices.nodes_without_rows.len(),
        "nodes_without_edges": notices.nodes_without_edges.len(),
        "undetermined_nodes": notices.nodes_with_neither,
        "rows_dropped": notices.rows_dropped,
        "cells_filled": notices.cells_filled,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// A few lines for people.
pub fn words(fit: &ModelFit, written: Option<&Path>) -> String {
    let (n, e, d) = (fit.input.names.len(), fit.input.graph.edges(), fit.input.features.len());
    let mut lines = vec![format!("{n} nodes, {e} edges, {} rows, {d} features; {}", fit.rows_trained, fit.task.name())];
    lines.extend(notices(&fit.input).iter().map(|notice| format!("note: {notice}")));
    lines.push(fit.public.clone());
    let chosen = if fit.chosen.is_some() { " (chosen on held-out rows, then fitted to all rows)" } else { "" };
    let last = fit.history.last().expect("a history is never empty");
    lines.push(format!(
        "lambda {}{chosen}: {} rounds, {} messages, {} bytes, {:.2} s",
        number(fit.lambda),
        last.number,
        last.messages,
        last.bytes,
        fit.seconds
    ));
    lines.push(format!("{}: {} on training rows", error_name(fit.task), shown(fit.train.mean())));
    if let Some(held) = &fit.held_out {
        let (networked, local) = (shown(held.networked.mean()), shown(held.local.mean()));
        lines.push(format!("  held-out rows: networked {networked}, local-only {local}"));
        for gain in gains(fit) {
            let [networked, local] = [gain.networked, gain.local].map(|e| shown(e.map(|e| e.0)));
            lines.push(format!(
                "    {:9} {:4} nodes: networked {networked}, local-only {local}",
                gain.class, gain.nodes
            ));
        }
        lines.push(format!("  split: {}", split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref())));
    }
    lines.push(match written {
        Some(path) => format!("written to {0}, see {0}/report.html", path.display()),
        None => "nothing written; --out DIR keeps models and a report".into(),
    });
    lines.join("\n")
}

/// Writes the run directory.
pub fn write_run(fit: &ModelFit, writer: RunWriter) -> Result<PathBuf> {
    let cell = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    writer.write_json("models.json", &fit.models)?;
    let encoding = Model { loss: LOSS.into(), labels: Default::default(), encoding: fit.input.encoding.clone() };
    writer.write_json("encoding.json", &encoding)?;
    writer.write_text("config.toml", &fit.plan.raw.to_toml()?)?;
    let rounds = fit.history.iter().map(|r| {
        let numbers = [r.objective.to_string(), cell(r.train), cell(r.validation)];
        [vec![r.number.to_string()], numbers.to_vec(), vec![r.messages.to_string(), r.bytes.to_string()]].concat()
    });
    let header = ["round", "objective", "train_error", "validation_error", "messages", "bytes"];
    writer.write_csv("history.csv", &header, rounds)?;
    let held = fit.held_out.as_ref();
    let nodes = fit.input.names.iter().enumerate().map(|(i, name)| {
        let errors =
            [fit.train.by_node[i], held.and_then(|h| h.networked.by_node[i]), held.and_then(|h| h.local.by_node[i])];
        let start = [name.clone(), fit.specs[i].to_string(), fit.input.data.rows(i).len().to_string()];
        [start.to_vec(), errors.map(cell).to_vec()].concat()
    });
    writer.write_csv(
        "errors.csv",
        &["node", "model", "rows", "train_error", "validation_error", "local_error"],
        nodes,
    )?;
    let rows = gains(fit).into_iter().map(|g| {
        let means = [g.networked, g.local].map(|e| cell(e.map(|e| e.0)));
        [vec![g.class.to_owned(), g.nodes.to_string()], means.to_vec()].concat()
    });
    writer.write_csv("gains.csv", &["model", "nodes", "validation_error", "local_error"], rows)?;
    if let Some(chosen) = &fit.chosen {
        let rows = chosen.tried.iter().map(|(lambda, e)| [Some(*lambda), e.mean(), e.standard_error()].map(cell));
        writer.write_csv("lambda.csv", &["lambda", "validation_error", "standard_error"], rows)?;
    }
    writer.write_json("summary.json", &summary(fit))?;
    write_report(&writer, &report_of(fit))?;
    Ok(writer.finish()?)
}

fn report_of(fit: &ModelFit) -> Report {
    let (input, held) = (&fit.input, fit.held_out.as_ref());
    let last = fit.history.last().expect("a history is never empty");
    let target = fit.plan.raw.target.clone();
    let title = format!("{} at {} nodes", target.clone().unwrap_or_default(), input.names.len());
    let mut report = Report {
        title: fit.plan.raw.title.clone().unwrap_or(title),
        version: version(),
        command: command(),
        what: report::What {
            loss: String::new(),
            models: Some(model_names(fit)),
            penalty: "difference of predictions on public rows".into(),
            lambda: fit.lambda,
            solver: "fedrelax on predictions".into(),
            dim: 0,
            nodes: input.names.len(),
            edges: input.graph.edges(),
            rows: fit.rows_trained,
            rows_held_out: held.map_or(0, |h| h.split.part.iter().filter(|p| **p != Part::Train).count()),
            refitted: fit.chosen.is_some(),
            features: input.features.clone(),
            target,
            split: split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref()),
        },
        outcome: report::Outcome {
            status: report::Status::Finished,
            objective: last.objective,
            certified_gap: None,
            kkt_residual: None,
            tolerance: 0.0,
            iterations: last.number,
            seconds: Some(fit.seconds),
            error_name: error_name(fit.task).into(),
            train_error: fit.train.mean(),
            validation_error: held.and_then(|h| h.networked.mean()),
            local_error: held.and_then(|h| h.local.mean()),
            global_error: None,
            baseline_error: None,
        },
        notices: notices(input).into_iter().chain([fit.public.clone()]).collect(),
        sources: fit.plan.raw.source.iter().cloned().collect(),
        history: (fit.history.iter())
            .map(|r| report::Step {
                iteration: r.number,
                objective: r.objective,
                gap: None,
                kkt: None,
                bytes: Some(r.bytes),
            })
            .collect(),
        lambda_curve: lambda_curve(fit),
        comparison: comparison(fit),
        ..Report::default()
    };
    let node = |i: usize| report::Node {
        train_error: fit.train.by_node[i],
        validation_error: held.and_then(|h| h.networked.by_node[i]),
        local_error: held.and_then(|h| h.local.by_node[i]),
        ..Default::default()
    };
    draw(&mut report, input, &input.graph, node, |_| true);
    report
}

fn model_names(fit: &ModelFit) -> String {
    let names: Vec<String> = gains(fit).iter().map(|g| format!("{} at {}", g.class, g.nodes)).collect();
    names.join(", ")
}

/// Every model class with the network and alone.
fn comparison(fit: &ModelFit) -> Option<report::Comparison> {
    let held = fit.held_out.as_ref()?;
    let method = |name: String, kind, error: Option<(f64, f64)>| {
        let (error, standard_error) = error?;
        Some(report::Method { name, kind, error, standard_error: Some(standard_error) })
    };
    let of = |g: &Gain| {
        let networked = method(format!("{}, networked", g.class), report::MethodKind::Networked, g.networked);
        let local = method(format!("{}, local only", g.class), report::MethodKind::Local, g.local);
        [networked, local].into_iter().flatten().collect::<Vec<_>>()
    };
    let pairs = || held.networked.by_node.iter().zip(&held.local.by_node).filter_map(|(a, b)| Some((*a)? - (*b)?));
    Some(report::Comparison {
        methods: gains(fit).iter().flat_map(of).collect(),
        splits: 1,
        nodes_gain: pairs().filter(|d| *d < 0.0).count(),
        nodes_lose: pairs().filter(|d| *d > 0.0).count(),
        splits_better_than_shuffled: None,
    })
}

fn lambda_curve(fit: &ModelFit) -> Option<report::LambdaCurve> {
    let chosen = fit.chosen.as_ref()?;
    let point = |(lambda, errors): &(f64, fedweave::tune::Errors)| report::LambdaPoint {
        lambda: *lambda,
        train: None,
        validation: errors.mean(),
        standard_error: errors.standard_error(),
    };
    let rule = "smallest error on held-out rows".into();
    Some(report::LambdaCurve { points: chosen.tried.iter().map(point).collect(), chosen: fit.lambda, rule })
}
