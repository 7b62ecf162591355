//! A race as a report.

use fedweave::learn::race::Entry;
use fedweave_report as report;
use fedweave_report::{MethodKind, Report, plural};

use super::TuneResult;
use crate::calibration::panel;
use crate::drawing::{blank, draw};
use crate::error::Result;
use crate::wording::notices;

/// The report of a race.
pub fn report_of(tuned: &TuneResult) -> Result<Report> {
    let (input, race, naming) = (&tuned.input, &tuned.race, &tuned.request.naming);
    let title = || format!("{} at {}", naming.target.clone().unwrap_or_default(), plural(input.names.len(), "node"));
    let mut page = Report {
        what: what(tuned),
        outcome: outcome(tuned),
        notices: notices(input)
            .into_iter()
            .chain([tuned.why(), format!("the same without a race: {}", tuned.command())])
            .collect(),
        comparison: Some(comparison(tuned)),
        calibration: tuned.calibration.as_ref().map(panel).transpose()?,
        ..blank(naming, title)
    };
    let of = |name: &str, i: usize| race.entry(name).and_then(|e| e.errors.by_node[i]);
    let node = |i: usize| report::Node {
        validation_error: race.errors.by_node[i],
        local_error: of("local", i),
        global_error: of("pooled", i),
        ..Default::default()
    };
    draw(&mut page, input, &input.graph, node, |_| true);
    Ok(page)
}

fn what(tuned: &TuneResult) -> report::What {
    let share = |e: &Entry| format!("{:.0} % {}", 100.0 * e.member.share, e.member.name);
    report::What {
        loss: tuned.request.model.family.to_string(),
        models: Some(tuned.race.winners().map(share).collect::<Vec<_>>().join(", ")),
        penalty: "found by a race on folds".into(),
        lambda: f64::NAN,
        solver: "race".into(),
        dim: 0,
        nodes: tuned.input.names.len(),
        edges: tuned.input.graph.edges(),
        rows: tuned.input.data.len(),
        rows_held_out: tuned.input.data.len(),
        refitted: true,
        features: tuned.input.features.clone(),
        target: tuned.request.naming.target.clone(),
        split: tuned.request.folds.describe(),
    }
}

fn outcome(tuned: &TuneResult) -> report::Outcome {
    let race = &tuned.race;
    let mean = |name: &str| race.entry(name).and_then(|e| e.errors.mean());
    report::Outcome {
        status: if race.stopped { report::Status::TimeLimit } else { report::Status::Converged },
        objective: f64::NAN,
        seconds: Some(tuned.seconds),
        error_name: tuned.cost.name().into(),
        validation_error: race.errors.mean(),
        local_error: mean("local"),
        global_error: mean("pooled"),
        ..Default::default()
    }
}

fn comparison(tuned: &TuneResult) -> report::Comparison {
    let (nodes_gain, nodes_lose) = tuned.gain_and_lose();
    let race = &tuned.race;
    let together = report::Method {
        name: "winners together".into(),
        kind: MethodKind::Networked,
        error: race.errors.mean().unwrap_or(f64::NAN),
        standard_error: race.errors.standard_error(),
    };
    let method = |entry: &Entry| report::Method {
        name: entry.member.name.clone(),
        kind: match entry.member.name.as_str() {
            "local" => MethodKind::Local,
            "pooled" => MethodKind::Global,
            _ => MethodKind::Other,
        },
        error: entry.error(),
        standard_error: entry.errors.standard_error(),
    };
    let methods = std::iter::once(together).chain(race.entries.iter().map(method)).collect();
    report::Comparison { methods, splits: 0, nodes_gain, nodes_lose, splits_better_than_shuffled: None }
}
