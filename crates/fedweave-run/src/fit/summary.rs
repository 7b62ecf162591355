//! The one JSON object of a fit: `--json`, `summary.json`, and what Python gets.

use serde_json::{Value, json};

use super::FitResult;
use super::text::end_of_tuning;
use crate::calibration;
use crate::error::Result;
use crate::wording::{error_name, loss_name};

/// Everything about a fit that fits into an object.
pub fn summary(fit: &FitResult) -> Result<Value> {
    let s = &fit.solution;
    let (notices, held) = (&fit.input.notices, fit.held_out.as_ref());
    let sent = fit.traffic.as_ref().map(|t| t.last());
    let mut summary = json!({
        "status": s.status.to_string(),
        "solver": s.choice.method,
        "solver_reason": s.choice.reason,
        "nodes": fit.input.names.len(),
        "edges": fit.input.graph.edges(),
        "rows": fit.training.rows.len(),
        "dim": s.w.cols(),
        "lambda": fit.problem.lambda(),
        "lambda_notice": end_of_tuning(fit),
        "penalty": fit.problem.penalty().name(),
        "loss": loss_name(&fit.loss),
        "objective": s.objective,
        "certified_gap": s.certified_gap,
        "kkt_residual": s.kkt.residual(),
        "tolerance": fit.request.solve.tolerance,
        "iterations": s.iterations,
        "messages": sent.map(|t| t.messages),
        "bytes": sent.map(|t| t.bytes),
        "flops": sent.map(|t| t.flops),
        "seconds": fit.seconds,
        "clusters": fit.clusters.partition.len(),
        "saturated_edges": fit.clusters.saturated.iter().filter(|s| **s).count(),
        "train_error": fit.train()?.mean(),
        "validation_error": held.and_then(|h| h.validation.mean()),
        "local_error": held.and_then(|h| h.local.mean()),
        "global_error": held.and_then(|h| h.global.as_ref()?.mean()),
        "train_accuracy": fit.accuracy(),
        "error": error_name(&fit.loss),
        "split": fit.request.held_out.describe(),
        "step_ratio": s.step_ratio,
        "radius": fedweave::certificate::RADIUS * (1.0 + s.w.max_row_norm()),
        "nodes_without_rows": notices.nodes_without_rows.len(),
        "nodes_without_edges": notices.nodes_without_edges.len(),
        "liar_bound": fit.worst_liar().and_then(|w| w.ok()).map(|(_, bound)| bound),
        "undetermined_nodes": notices.nodes_with_neither,
        "rows_dropped": notices.rows_dropped,
        "cells_filled": notices.cells_filled,
        "hub": fit.hub,
        "coupling": fit.learnt.as_ref().map(|learnt| learnt.summary()),
        "calibration": fit.calibration.as_ref().map(calibration::summary).transpose()?,
        "version": env!("CARGO_PKG_VERSION"),
    });
    summary["guess_error"] = json!(fit.guess_errors()?.and_then(|errors| errors.mean()));
    summary["fairness"] = json!(fit.fairness()?.map(|found| found.summary()));
    let hurt = held.map(|h| h.hurt());
    summary["nodes_hurt"] = json!(hurt.map(|(hurt, _)| hurt));
    summary["nodes_judged"] = json!(hurt.map(|(_, judged)| judged));
    summary["learnt_graph"] = json!(fit.evidence.as_ref().map(|evidence| evidence.summary()));
    summary["fallback"] = json!(fit.fallback.as_ref().map(|fallback| fallback.summary(&fit.input.names)));
    summary["privacy"] = json!(fit.protection.as_ref().map(|protection| protection.summary()));
    Ok(summary)
}
