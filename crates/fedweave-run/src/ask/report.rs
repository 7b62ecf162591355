//! Nodes that asked, as a report.

use std::collections::BTreeMap;

use fedweave::graph::Graph;
use fedweave::matrix::Matrix;
use fedweave_report as report;
use fedweave_report::Report;

use super::{AskResult, Lesson, Taught};
use crate::drawing::{blank, draw};
use crate::error::Result;
use crate::predictor::parameter_names;

/// Edges between those who asked and their teachers: shares of rounds, both ways together, and whether one of them is
/// more than chance.
fn edges(ask: &AskResult) -> BTreeMap<(usize, usize), (f64, bool)> {
    let chance = 1.0 / (ask.input.names.len() - 1) as f64;
    let mut edges = BTreeMap::new();
    for lesson in &ask.lessons {
        for &(teacher, rounds, _) in &lesson.teachers {
            let ends = (lesson.node.min(teacher), lesson.node.max(teacher));
            let edge = edges.entry(ends).or_insert((0.0, false));
            *edge = (edge.0 + ask.share(rounds), edge.1 || ask.share(rounds) > chance);
        }
    }
    edges
}

/// Names and values of the parameters, a row for each node that asked.
fn parameters(ask: &AskResult) -> Option<(Vec<String>, &Matrix)> {
    match &ask.taught {
        Taught::Parameters(loss, w) => Some((parameter_names(loss, &ask.input), w)),
        Taught::Models(..) => None,
    }
}

/// The report of nodes that asked.
pub fn report_of(ask: &AskResult) -> Result<Report> {
    let (input, held, edges, parameters) = (&ask.input, ask.held_out.as_ref(), edges(ask), parameters(ask));
    let naming = ask.request.naming();
    let name = |i: usize| input.names[i].clone();
    let lesson = |l: &Lesson| report::Lesson {
        node: name(l.node),
        reward: l.first - l.last,
        teachers: l.teachers.iter().map(|t| (name(t.0), ask.share(t.1))).collect(),
    };
    let title = || format!("{}: who learnt from whom", naming.target.clone().unwrap_or_default());
    let mut report = Report {
        what: what(ask, edges.len()),
        outcome: outcome(ask),
        notices: ask.all_notices(),
        asking: Some(report::Asking {
            candidates: ask.asking.candidates,
            rounds: ask.asking.rounds,
            lessons: ask.lessons.iter().map(lesson).collect(),
        }),
        ..blank(naming, title)
    };
    let row: BTreeMap<usize, usize> = ask.lessons.iter().enumerate().map(|(k, l)| (l.node, k)).collect();
    let node = |i: usize| report::Node {
        train_error: ask.train.by_node[i],
        validation_error: held.and_then(|h| h.validation.by_node[i]),
        local_error: held.and_then(|h| h.local.by_node[i]),
        global_error: held.and_then(|h| h.global.as_ref()?.by_node[i]),
        parameters: parameters.as_ref().and_then(|p| Some(p.1.row(*row.get(&i)?).to_vec())).unwrap_or_default(),
        ..Default::default()
    };
    let triples: Vec<_> = edges.iter().map(|((i, j), (share, _))| (*i, *j, *share)).collect();
    let strong: Vec<bool> = edges.values().map(|e| e.1).collect();
    // Edges of a graph are in the order of the map: by their ends.
    draw(&mut report, input, &Graph::new(input.names.len(), &triples)?, node, |e| !strong[e]);
    Ok(report)
}

fn what(ask: &AskResult, edges: usize) -> report::What {
    let ((loss, model), parameters) = (ask.kind(), parameters(ask));
    report::What {
        loss: loss.unwrap_or_default(),
        models: model,
        solver: "active sampling".into(),
        dim: parameters.as_ref().map_or(0, |p| p.1.cols()),
        nodes: ask.input.names.len(),
        edges,
        rows: ask.rows_trained,
        rows_held_out: ask.held_out.as_ref().map_or(0, |h| h.rows()),
        features: parameters.map_or_else(|| ask.input.features.clone(), |p| p.0),
        target: ask.request.naming().target.clone(),
        split: ask.request.held_out().describe(),
        ..Default::default()
    }
}

fn outcome(ask: &AskResult) -> report::Outcome {
    let held = ask.held_out.as_ref();
    report::Outcome {
        status: report::Status::Finished,
        iterations: ask.asking.rounds,
        seconds: Some(ask.seconds),
        error_name: ask.error_name().into(),
        train_error: ask.train.mean(),
        validation_error: held.and_then(|h| h.validation.mean()),
        local_error: held.and_then(|h| h.local.mean()),
        global_error: held.and_then(|h| h.global.as_ref()?.mean()),
        ..Default::default()
    }
}
