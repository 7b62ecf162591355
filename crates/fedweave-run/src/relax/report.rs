//! Models of any class as a report.

use fedweave::tune::Errors;
use fedweave_report as report;
use fedweave_report::{MethodKind, Report, plural};

use super::summary::{Gain, error_name, gains};
use super::{RelaxResult, RelaxRound, RelaxStatus};
use crate::calibration::panel;
use crate::drawing::{blank, draw};
use crate::error::Result;
use crate::wording::notices;

const SOLVER: &str = "fedrelax on predictions";

/// The report of a fit.
pub fn report_of(fit: &RelaxResult) -> Result<Report> {
    let (input, held, naming) = (&fit.input, fit.held_out.as_ref(), &fit.request.naming);
    let title = || format!("{} at {}", naming.target.clone().unwrap_or_default(), plural(input.names.len(), "node"));
    let step = |r: &RelaxRound| report::Step {
        iteration: r.number,
        objective: r.objective,
        gap: None,
        kkt: None,
        bytes: Some(r.bytes),
    };
    let mut report = Report {
        what: what(fit),
        outcome: outcome(fit),
        notices: notices(input)
            .into_iter()
            .chain([fit.public.clone()])
            .chain(fit.protection.iter().flat_map(|p| p.text()))
            .collect(),
        history: fit.history.iter().map(step).collect(),
        lambda_curve: lambda_curve(fit),
        comparison: comparison(fit),
        calibration: fit.calibration.as_ref().map(panel).transpose()?,
        ..blank(naming, title)
    };
    let node = |i: usize| report::Node {
        train_error: fit.train.by_node[i],
        validation_error: held.and_then(|h| h.validation.by_node[i]),
        local_error: held.and_then(|h| h.local.by_node[i]),
        ..Default::default()
    };
    draw(&mut report, input, &input.graph, node, |_| true);
    Ok(report)
}

fn what(fit: &RelaxResult) -> report::What {
    let names: Vec<String> = gains(fit).iter().map(|g| format!("{} at {}", g.class, g.nodes)).collect();
    report::What {
        loss: String::new(),
        models: Some(names.join(", ")),
        penalty: "difference of predictions on public rows".into(),
        lambda: fit.lambda,
        solver: SOLVER.into(),
        dim: 0,
        nodes: fit.input.names.len(),
        edges: fit.input.graph.edges(),
        rows: fit.rows_trained,
        rows_held_out: fit.held_out.as_ref().map_or(0, |h| h.rows()),
        refitted: fit.chosen.is_some(),
        features: fit.input.features.clone(),
        target: fit.request.naming.target.clone(),
        split: fit.request.held_out.describe(),
    }
}

fn outcome(fit: &RelaxResult) -> report::Outcome {
    let (last, held) = (fit.last(), fit.held_out.as_ref());
    report::Outcome {
        status: match fit.status {
            RelaxStatus::Done => report::Status::Finished,
            RelaxStatus::TimeLimit => report::Status::TimeLimit,
            RelaxStatus::Interrupted => report::Status::Interrupted,
        },
        objective: last.objective,
        certified_gap: None,
        kkt_residual: None,
        tolerance: 0.0,
        iterations: last.number,
        seconds: Some(fit.seconds),
        error_name: error_name(fit.task).into(),
        train_error: fit.train.mean(),
        validation_error: held.and_then(|h| h.validation.mean()),
        local_error: held.and_then(|h| h.local.mean()),
        global_error: None,
        baseline_error: None,
    }
}

/// Every model class with the network and alone.
fn comparison(fit: &RelaxResult) -> Option<report::Comparison> {
    let held = fit.held_out.as_ref()?;
    let method = |name: String, kind, error: Option<(f64, f64)>| {
        let (error, standard_error) = error?;
        Some(report::Method { name, kind, error, standard_error: Some(standard_error) })
    };
    let of = |g: &Gain| {
        let networked = method(format!("{}, networked", g.class), MethodKind::Networked, g.networked);
        let local = method(format!("{}, local only", g.class), MethodKind::Local, g.local);
        [networked, local].into_iter().flatten().collect::<Vec<_>>()
    };
    let pairs = || held.validation.by_node.iter().zip(&held.local.by_node).filter_map(|(a, b)| Some((*a)? - (*b)?));
    Some(report::Comparison {
        methods: gains(fit).iter().flat_map(of).collect(),
        splits: 1,
        nodes_gain: pairs().filter(|d| *d < 0.0).count(),
        nodes_lose: pairs().filter(|d| *d > 0.0).count(),
        splits_better_than_shuffled: None,
    })
}

fn lambda_curve(fit: &RelaxResult) -> Option<report::LambdaCurve> {
    let chosen = fit.chosen.as_ref()?;
    let point = |(lambda, errors): &(f64, Errors)| report::LambdaPoint {
        lambda: *lambda,
        train: None,
        validation: errors.mean(),
        standard_error: errors.standard_error(),
    };
    let rule = "smallest error on held-out rows".into();
    Some(report::LambdaCurve { points: chosen.tried.iter().map(point).collect(), chosen: fit.lambda, rule })
}
