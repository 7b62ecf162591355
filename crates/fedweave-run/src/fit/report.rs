//! A fit as a report.

use fedweave::tune::{Rule, Tried};
use fedweave_report as report;
use fedweave_report::{Report, plural};

use super::FitResult;
use super::text::end_of_tuning;
use crate::calibration::panel;
use crate::classes;
use crate::drawing::{blank, draw, report_status};
use crate::error::Result;
use crate::predictor::parameter_names;
use crate::privacy::exposure;
use crate::trust::explain;
use crate::wording::{error_name, loss_name, notices_on};

/// The report of a fit.
pub fn report_of(fit: &FitResult) -> Result<Report> {
    let (input, train, held) = (&fit.input, fit.train()?, fit.held_out.as_ref());
    let title = || match &fit.request.naming.target {
        Some(target) => format!("{target} at {}", plural(input.names.len(), "node")),
        None => plural(input.names.len(), "node"),
    };
    let mut report = Report {
        what: what(fit),
        outcome: outcome(fit, train.mean()),
        notices: notices_on(input, fit.evidence.is_some())
            .into_iter()
            .chain(fit.learnt.iter().flat_map(|learnt| learnt.text()))
            .chain(words(fit))
            .collect(),
        history: history(fit),
        lambda_curve: lambda_curve(fit),
        confusion: confusion(fit),
        calibration: fit.calibration.as_ref().map(panel).transpose()?,
        exposure: exposure::words(fit),
        ..blank(&fit.request.naming, title)
    };
    // Of the models that are there, wherever they come from.
    let judged = fit.fallback.as_ref().map(|f| &f.errors).or(held.map(|h| &h.validation));
    let shaped = explain::shaped_by(fit);
    let node = |i: usize| report::Node {
        shaped_by: shaped.as_ref().map_or_else(Vec::new, |shaped| shaped[i].clone()),
        cluster: Some(fit.clusters.partition.part(i)),
        train_error: train.by_node[i],
        validation_error: judged.and_then(|errors| errors.by_node[i]),
        local_error: held.and_then(|h| h.local.by_node[i]),
        global_error: held.and_then(|h| h.global.as_ref()?.by_node[i]),
        parameters: fit.parameters.row(i).to_vec(),
        ..Default::default()
    };
    draw(&mut report, input, &input.graph, node, |e| !fit.clusters.fused[e]);
    report.learnt = fit.evidence.as_ref().map(|evidence| evidence.panel(input));
    let (sizes, models) = (fit.clusters.partition.sizes(), &fit.clusters.models);
    let cluster = |(c, &size): (usize, &usize)| report::Cluster { size, model: models.row(c).to_vec() };
    report.clusters = sizes.iter().enumerate().map(cluster).collect();
    Ok(report)
}

/// Which classes of held-out rows the networked models take for which.
fn confusion(fit: &FitResult) -> Option<report::Confusion> {
    let confusion = fit.held_out.as_ref()?.classes.as_ref()?.networked.as_ref()?;
    classes::panel(confusion, &fit.input, "the networked models")
}

/// How rows are protected, and who does without the network.
fn words(fit: &FitResult) -> impl Iterator<Item = String> + '_ {
    let protection = fit.protection.iter().flat_map(|protection| protection.text());
    let fallback = fit.fallback.iter().map(|fallback| fallback.text());
    protection.chain(fallback).map(|line| line.trim().to_owned())
}

fn outcome(fit: &FitResult, train_error: Option<f64>) -> report::Outcome {
    let (s, held) = (&fit.solution, fit.held_out.as_ref());
    report::Outcome {
        status: report_status(s.status),
        objective: s.objective,
        certified_gap: s.certified_gap,
        kkt_residual: Some(s.kkt.residual()),
        tolerance: fit.request.solve.tolerance,
        iterations: s.iterations,
        seconds: Some(fit.seconds),
        error_name: error_name(&fit.loss).into(),
        train_error,
        validation_error: held.and_then(|h| h.validation.mean()),
        local_error: held.and_then(|h| h.local.mean()),
        global_error: held.and_then(|h| h.global.as_ref()?.mean()),
        baseline_error: None,
    }
}

fn history(fit: &FitResult) -> Vec<report::Step> {
    let records = fit.solution.history.iter().enumerate();
    let step = |(k, r): (usize, &fedweave::solve::Record)| report::Step {
        iteration: r.iteration,
        objective: r.objective,
        gap: r.certified_gap,
        kkt: Some(r.kkt.residual()),
        bytes: fit.traffic.as_ref().map(|t| t.records[k].bytes),
    };
    records.map(step).collect()
}

fn what(fit: &FitResult) -> report::What {
    report::What {
        models: None,
        loss: loss_name(&fit.loss),
        penalty: fit.problem.penalty().name().into(),
        lambda: fit.problem.lambda(),
        solver: fit.solution.choice.method.clone(),
        dim: fit.solution.w.cols(),
        nodes: fit.input.names.len(),
        edges: fit.input.graph.edges(),
        rows: fit.training.rows.len(),
        rows_held_out: fit.held_out.as_ref().map_or(0, |h| h.rows()),
        refitted: fit.tuning.is_some() || fit.learnt.is_some(),
        features: parameter_names(&fit.loss, &fit.input),
        target: fit.request.naming.target.clone(),
        split: fit.request.held_out.describe(),
    }
}

fn lambda_curve(fit: &FitResult) -> Option<report::LambdaCurve> {
    let tuning = fit.tuning.as_ref()?;
    let point = |t: &Tried| report::LambdaPoint {
        lambda: t.lambda,
        train: t.train.mean(),
        validation: t.validation.mean(),
        standard_error: t.validation.standard_error(),
    };
    let rule = match fit.request.lambda.rule {
        Rule::Minimum => "smallest error on held-out rows",
        Rule::OneStandardError => {
            "largest lambda whose error exceeds the smallest by at most one standard error of the difference"
        }
    };
    Some(report::LambdaCurve {
        points: tuning.tried.iter().map(point).collect(),
        chosen: fit.problem.lambda(),
        rule: end_of_tuning(fit).map_or(rule.into(), |words| format!("{rule} ({words})")),
    })
}
