//! A fit in a few lines for people.

use std::path::Path;

use fedweave::solve::{RoundRecord, Status};

use super::FitResult;
use crate::calibration::coverage_words;
use crate::classes;
use crate::error::Result;
use crate::wording::{clusters, counted, error_name, loss_name, notices_on, number, shown, written};

/// Columns that differ more are pointed at where the solver did not reach its tolerance.
const UNEVEN: f64 = 1e4;

/// A few lines for people; `path` is the run directory, if one was written.
pub fn text(fit: &FitResult, path: Option<&Path>) -> Result<String> {
    let s = &fit.solution;
    let (n, e, rows) = (fit.input.names.len(), fit.input.graph.edges(), fit.training.rows.len());
    let mut lines = vec![format!(
        "{}, {}, {}, {} a node",
        counted(n, "node"),
        counted(e, "edge"),
        counted(rows, "row"),
        counted(s.w.cols(), "parameter")
    )];
    lines.extend(notices_on(&fit.input, fit.evidence.is_some()).iter().map(|notice| format!("note: {notice}")));
    let (loss, penalty, lambda) = (loss_name(&fit.loss), fit.problem.penalty().name(), number(fit.problem.lambda()));
    lines.push(format!("{loss} loss, {penalty} penalty, lambda {lambda}{}", chosen(fit)));
    lines.extend(end_of_tuning(fit).map(|words| format!("note: {words}")));
    lines.extend(fit.evidence.iter().flat_map(|evidence| evidence.text()));
    lines.extend(fit.learnt.iter().flat_map(|learnt| learnt.text()));
    lines.extend(fit.screened.as_ref().map(|screened| screened.text(fit)));
    if let Some(protection) = &fit.protection {
        lines.extend(protection.text());
        lines.push(clusters(&fit.clusters.partition.sizes()));
        lines.push(written(path, "parameters, clusters and a report"));
        return Ok(lines.join("\n"));
    }
    lines.push(format!(
        "{}: objective {} after {} iterations, {:.2} s",
        s.status,
        number(s.objective),
        s.iterations,
        fit.seconds
    ));
    let hard = (s.status != Status::Converged).then(|| fit.training.uneven(UNEVEN)).flatten();
    lines.extend(hard.map(|words| format!("note: {words}")));
    lines.extend(fit.traffic.as_ref().map(|t| sent(t.last())));
    lines.push(match s.certified_gap {
        Some(gap) => format!("certified: no models have an objective lower than this by more than {gap:.1e}"),
        None => format!("no certificate; KKT residual {:.1e}", s.kkt.residual()),
    });
    lines.extend(not_unique(fit));
    lines.push(clusters(&fit.clusters.partition.sizes()));
    lines.push(format!("{}: {} on training rows", error_name(&fit.loss), shown(fit.train()?.mean())));
    if let Some(errors) = fit.guess_errors()? {
        lines.push(format!("  against what users guessed: {}", shown(errors.mean())));
    }
    lines.extend(fit.fairness()?.map(|found| found.text()));
    lines.extend(held_out(fit));
    lines.extend(fit.calibration.as_ref().map(coverage_words).transpose()?);
    if let (Some(path), true) = (path, s.status != Status::Converged && fit.traffic.is_none()) {
        let dir = path.display();
        lines.push(format!("to go on: fedweave fit --resume {dir} --max-iterations N --out {dir} --overwrite"));
    }
    lines.push(written(path, "parameters, clusters and a report"));
    Ok(lines.join("\n"))
}

/// What helps a solver that stops short because nothing decides between several models.
fn not_unique(fit: &FitResult) -> Option<String> {
    let s = &fit.solution;
    let short = s.status == Status::Stalled && s.certified_gap.is_none();
    (short && fit.request.model.options.ridge == 0.0).then(|| {
        "note: several models may fit the rows of a node equally well (few rows, or columns that say the same): --ridge 0.001 decides"
            .into()
    })
}

fn held_out(fit: &FitResult) -> Vec<String> {
    let Some(held) = &fit.held_out else { return Vec::new() };
    let global = held.global.as_ref().and_then(|g| g.mean());
    let (networked, local) = (shown(held.validation.mean()), shown(held.local.mean()));
    let alone = fit.request.rounds.as_ref().is_some_and(|r| !r.is_coupled());
    let ours = if alone { fit.solution.choice.method.as_str() } else { "networked" };
    let mut lines = vec![
        format!("  held-out rows: {ours} {networked}, local-only {local}, global {}", shown(global)),
        format!("  {}", held.hurt_words()),
    ];
    lines.extend(fit.fallback.as_ref().map(|fallback| fallback.text()));
    lines.extend(held.classes.iter().flat_map(|found| classes::words(found, ours, &fit.input)));
    lines.push(format!("  split: {}", fit.request.held_out.describe()));
    lines
}

/// What a solver that exchanges messages sent.
fn sent(record: &RoundRecord) -> String {
    let RoundRecord { round, messages, bytes, .. } = record;
    format!("sent: {messages} messages, {bytes} bytes in {round} rounds")
}

fn chosen(fit: &FitResult) -> &'static str {
    if fit.input.graph.edges() == 0 {
        " (without edges it has no effect)"
    } else if fit.tuning.is_some() {
        " (chosen on held-out rows, then fitted to all rows)"
    } else {
        ""
    }
}

/// What a choice at the end of the grid leaves open.
pub(super) fn end_of_tuning(fit: &FitResult) -> Option<String> {
    let (tuning, request) = (fit.tuning.as_ref()?, &fit.request);
    let lambda = number(tuning.best().lambda);
    if tuning.at_low_end() {
        return Some(format!("the chosen lambda {lambda} is the smallest tried; a smaller one might do better"));
    }
    // The default grid of a norm begins where models agree: beyond, nothing changes.
    let complete = request.lambda.grid.is_none() && request.model.penalty.is_norm();
    let largest = || format!("the chosen lambda {lambda} is the largest tried; a larger one might do better");
    (tuning.at_high_end() && !complete).then(largest)
}
