//! What is said about a path: on the terminal, as JSON, in the run directory, in the report.

use std::path::{Path, PathBuf};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use fedweave::path::{Conditions, Recovery};
use fedweave::solve::Status;
use fedweave_io::RunWriter;
use fedweave_report as report;
use serde_json::{Value, json};

use super::Walk;
use crate::story::{self, loss_name, notices, number, shown, status_name, write_models, write_report};

/// Rows of the table on the terminal.
const ROWS_SHOWN: usize = 12;
/// Changes named on the terminal.
const BREAKPOINTS_SHOWN: usize = 12;

/// Positions of the points by increasing lambda.
fn increasing(walk: &Walk) -> Vec<usize> {
    let mut order: Vec<usize> = (0..walk.path.points.len()).collect();
    order.sort_by(|a, b| walk.path.points[*a].lambda.total_cmp(&walk.path.points[*b].lambda));
    order
}

/// The one JSON object of `--json` and `summary.json`: that of the chosen fit, and the path.
pub fn summary(walk: &Walk) -> Value {
    let mut summary = story::summary(&walk.fit);
    let point = |k: usize| {
        let (p, e) = (&walk.path.points[k], &walk.errors[k]);
        json!({
            "lambda": p.lambda, "objective": p.objective, "certified_gap": p.certified_gap,
            "clusters": p.partition.len(), "train_error": e.train.mean(),
            "validation_error": e.validation.as_ref().and_then(|v| v.mean()),
            "iterations": p.iterations, "status": status_name(p.status),
        })
    };
    let order = increasing(walk);
    let breakpoint = |b: &fedweave::path::Breakpoint| json!({ "below": b.below, "above": b.above, "clusters_below": b.clusters_below, "clusters_above": b.clusters_above });
    let asked = walk.fit.plan.raw.breakpoints.is_some();
    summary["path"] = json!({
        "lambda_max": walk.lambda_max.as_ref().map(|b| json!({ "below": b.below, "above": b.above, "proven": b.proven, "seconds": walk.lambda_max_seconds })),
        "points": order.iter().map(|&k| point(k)).collect::<Vec<_>>(),
        "points_wanted": walk.wanted,
        "chosen": order.iter().position(|&k| k == walk.chosen),
        "chosen_because": walk.why,
        "breakpoints": asked.then(|| walk.path.breakpoints.iter().map(breakpoint).collect::<Vec<_>>()),
        "recovery": walk.recovery.as_ref().map(recovery_json),
        "iterations": walk.path.points.iter().map(|p| p.iterations).sum::<usize>(),
    });
    summary
}

fn recovery_json(recovery: &Recovery) -> Value {
    let end = |c: &Conditions| json!({ "lambda": c.lambda, "lower": c.lower, "upper": c.upper, "certified_gap": c.certified_gap });
    match recovery {
        Recovery::Silent(why) => json!({ "applies": false, "why": why }),
        Recovery::Nowhere(best) => json!({ "applies": true, "found": false, "closest": end(best) }),
        Recovery::Between(low, high) => {
            json!({ "applies": true, "found": true, "from": low.lambda, "to": high.lambda, "ends": [end(low), end(high)] })
        }
    }
}

/// Some lines for people.
pub fn words(walk: &Walk, written: Option<&Path>) -> String {
    let (fit, points) = (&walk.fit, &walk.path.points);
    let (n, e) = (fit.input.names.len(), fit.input.graph.edges());
    let mut lines = vec![format!(
        "{n} nodes, {e} edges, {} rows, {} parameters a node; {} loss, {} penalty",
        fit.rows_trained,
        fit.solution.w.cols(),
        loss_name(&fit.loss),
        fit.penalty
    )];
    lines.extend(notices(&fit.input).iter().map(|notice| format!("note: {notice}")));
    lines.push(lambda_max_in_words(walk));
    let iterations: usize = points.iter().map(|p| p.iterations).sum();
    let (done, wanted, status) = (points.len(), walk.wanted, status_name(fit.solution.status));
    lines.push(format!("{status}: {done} of {wanted} values of lambda, {iterations} iterations, {:.2} s", fit.seconds));
    lines.push(String::new());
    lines.push(table(walk));
    lines.push(String::new());
    lines.extend(breakpoints_in_words(walk));
    lines.extend(walk.recovery.as_ref().and_then(|r| recovery_in_words(walk, r)));
    lines.push(format!("* lambda {}: {}; its models are kept", number(fit.lambda), walk.why));
    if fit.held_out.is_some() {
        let split = story::split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref());
        lines.push(format!("split: {split}; models were fitted without the held-out rows"));
    }
    lines.push(match written {
        Some(path) => format!("written to {0}, see {0}/report.html", path.display()),
        None => "nothing written; --out DIR keeps the path, clusters, models and a report".into(),
    });
    lines.join("\n")
}

fn lambda_max_in_words(walk: &Walk) -> String {
    let Some(b) = &walk.lambda_max else {
        return "no finite lambda makes all models of a component equal with this penalty".into();
    };
    let known = if b.proven { "proven" } else { "seen in solutions, not proven" };
    format!(
        "lambda_max is between {} and {} ({known}): from there on every component has one model",
        number(b.below),
        number(b.above)
    )
}

/// About a dozen rows, the chosen one and the ends among them.
fn table(walk: &Walk) -> String {
    let order = increasing(walk);
    let last = order.len() - 1;
    let step = order.len().div_ceil(ROWS_SHOWN).max(1);
    let mut table = Table::new();
    let validated = walk.fit.held_out.is_some();
    let mut header = vec!["", "lambda", "objective", "certified gap", "clusters", "train error"];
    header.extend(validated.then_some("held-out error"));
    table.load_preset(presets::NOTHING).set_header(header);
    for (place, &k) in order.iter().enumerate() {
        if place % step != 0 && place != last && k != walk.chosen {
            continue;
        }
        let (p, e) = (&walk.path.points[k], &walk.errors[k]);
        let mut row = vec![
            if k == walk.chosen { "*".into() } else { String::new() },
            number(p.lambda),
            number(p.objective),
            p.certified_gap.map_or("-".into(), |gap| format!("{gap:.1e}")),
            p.partition.len().to_string(),
            shown(e.train.mean()),
        ];
        row.extend(validated.then(|| shown(e.validation.as_ref().and_then(|v| v.mean()))));
        table.add_row(row);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn breakpoints_in_words(walk: &Walk) -> Vec<String> {
    if walk.fit.plan.raw.breakpoints.is_none() {
        return Vec::new();
    }
    let all = &walk.path.breakpoints;
    let mut lines = vec![format!("{} change(s) of the clusters as lambda grows:", all.len())];
    lines.extend(all.iter().take(BREAKPOINTS_SHOWN).map(|b| {
        let word = if b.clusters_above > b.clusters_below { " (a split)" } else { "" };
        let counts = format!("{} to {} clusters{word}", b.clusters_below, b.clusters_above);
        format!("  between {} and {}: {counts}", number(b.below), number(b.above))
    }));
    let more = all.len().saturating_sub(BREAKPOINTS_SHOWN);
    lines.extend((more > 0).then(|| format!("  and {more} more (breakpoints.csv, --json)")));
    lines
}

/// Silence where the theorems are silent, unless they were asked.
fn recovery_in_words(walk: &Walk, recovery: &Recovery) -> Option<String> {
    let whose = if walk.given { "the partition given" } else { "the partition at the chosen lambda" };
    match recovery {
        Recovery::Silent(why) => walk.given.then(|| format!("provable recovery: not known; {why}")),
        Recovery::Nowhere(c) => Some(format!(
            "{whose} is not provably recovered at any lambda tried; closest: lambda {} needs to be at least {} and below {}",
            number(c.lambda),
            number(c.lower),
            number(c.upper)
        )),
        Recovery::Between(low, high) => Some(format!(
            "{whose} is provably recovered for lambda from {} to {} (Theorems 1 and 2, checked at the values tried)",
            number(low.lambda),
            number(high.lambda)
        )),
    }
}

/// Writes the run directory.
pub fn write(walk: &Walk, writer: RunWriter) -> Result<PathBuf> {
    let order = increasing(walk);
    let cell = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    let header = ["lambda", "objective", "gap", "clusters", "train", "validation", "iterations", "status"];
    let row = |&k: &usize| {
        let (p, e) = (&walk.path.points[k], &walk.errors[k]);
        let validation = e.validation.as_ref().and_then(|v| v.mean());
        let (clusters, iterations) = (p.partition.len().to_string(), p.iterations.to_string());
        let numbers = [Some(p.lambda), Some(p.objective), p.certified_gap].map(cell).to_vec();
        let rest = vec![clusters, cell(e.train.mean()), cell(validation), iterations, status_name(p.status).into()];
        [numbers, rest].concat()
    };
    writer.write_csv("path.csv", &header, order.iter().map(row))?;
    let names = &walk.fit.input.names;
    let members = order.iter().flat_map(|&k| {
        let p = &walk.path.points[k];
        names
            .iter()
            .enumerate()
            .map(|(i, name)| [p.lambda.to_string(), name.clone(), (p.partition.part(i) + 1).to_string()])
    });
    writer.write_csv("membership.csv", &["lambda", "node", "cluster"], members)?;
    if walk.fit.plan.raw.breakpoints.is_some() {
        let rows = walk.path.breakpoints.iter().map(|b| {
            [b.below.to_string(), b.above.to_string(), b.clusters_below.to_string(), b.clusters_above.to_string()]
        });
        writer.write_csv("breakpoints.csv", &["lambda_low", "lambda_high", "clusters_low", "clusters_high"], rows)?;
    }
    write_models(&walk.fit, &writer)?;
    writer.write_json("summary.json", &summary(walk))?;
    let mut page = story::report_of(&walk.fit);
    page.path = report_path(walk);
    page.notices.push(lambda_max_in_words(walk));
    page.notices.extend(walk.recovery.as_ref().and_then(|r| recovery_in_words(walk, r)));
    if walk.fit.solution.status != Status::Converged {
        page.notices.push(format!("{} of {} values of lambda were solved", walk.path.points.len(), walk.wanted));
    }
    write_report(&writer, &page)?;
    Ok(writer.finish()?)
}

/// The path as the report draws it: increasing lambda, the nodes that are drawn.
fn report_path(walk: &Walk) -> Option<report::Path> {
    let step = story::drawing_step(walk.fit.input.names.len());
    let point = |&k: &usize| {
        let (p, e) = (&walk.path.points[k], &walk.errors[k]);
        report::PathPoint {
            lambda: p.lambda,
            objective: p.objective,
            certified_gap: p.certified_gap,
            clusters: p.partition.len(),
            train: e.train.mean().unwrap_or(0.0),
            validation: e.validation.as_ref().and_then(|v| v.mean()),
            membership: (0..walk.fit.input.names.len()).step_by(step).map(|i| p.partition.part(i) as u32).collect(),
        }
    };
    let order = increasing(walk);
    let chosen = order.iter().position(|&k| k == walk.chosen)?;
    Some(report::Path { points: order.iter().map(point).collect(), chosen })
}
