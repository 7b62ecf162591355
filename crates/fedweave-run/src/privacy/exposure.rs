//! What neighbours could learn about the rows of a node from the models that it sends, in words, for the report.

use fedweave::loss::{Family, LossSpec};
use fedweave::trust::privacy::features::information;
use fedweave::trust::privacy::probe::{Explained, linear, nearest};

use crate::fit::FitResult;
use crate::wording::counted;

/// So many nodes are named.
const NAMED: usize = 5;
/// With fewer nodes nothing can be learnt about guessing.
const NODES_MIN: usize = 20;

/// A sentence for every way; none where nobody has a neighbour.
pub(crate) fn words(fit: &FitResult) -> Vec<String> {
    if fit.input.graph.edges() == 0 {
        return Vec::new();
    }
    if fit.protection.is_some() {
        return vec![
            "About single rows no more than epsilon allows, whatever they compute: the rows are protected by noise. Numbers of rows, the graph, names and \
             positions are not."
                .into(),
        ];
    }
    let mut all: Vec<String> = solved_for(fit).into_iter().chain(few_rows(fit)).collect();
    all.extend(guessed(fit));
    all.push(
        "Whether a row was trained with: `fedweave privacy leak RUN --members ROWS --others NEW_ROWS` measures how well that can be told. Noise with a proof: \
         --dp-epsilon."
            .into(),
    );
    all
}

/// The names of some nodes.
fn names(fit: &FitResult, which: &[usize]) -> String {
    let named: Vec<&str> = which.iter().take(NAMED).map(|&i| fit.input.names[i].as_str()).collect();
    let more = if which.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", named.join(", "))
}

/// Nodes with rows and a single neighbour.
fn solved_for(fit: &FitResult) -> Option<String> {
    let (graph, data) = (&fit.input.graph, &fit.training.rows);
    let alone: Vec<usize> = (0..data.nodes()).filter(|&i| graph.degree(i) == 1 && !data.rows(i).is_empty()).collect();
    let d = fit.solution.w.cols();
    let squared = fit.loss == LossSpec::Same(Family::Squared);
    let what = match squared {
        true => format!(
            "can solve for X'X and X'y of its rows after {} rounds (`fedweave privacy reconstruct` does it)",
            d + 1
        ),
        false => "gets an equation about its rows in every round".into(),
    };
    (!alone.is_empty()).then(|| {
        format!("The only neighbour of a node {what}: {}, {}.", counted(alone.len(), "such node"), names(fit, &alone))
    })
}

/// Nodes whose sums are close to their rows.
fn few_rows(fit: &FitResult) -> Option<String> {
    let (data, d) = (&fit.training.rows, fit.solution.w.cols());
    let few: Vec<usize> = (0..data.nodes()).filter(|&i| (1..2 * d).contains(&data.rows(i).len())).collect();
    (!few.is_empty()).then(|| {
        format!(
            "Sums over fewer than {} rows, for {}, are close to the rows themselves: {}, {}.",
            2 * d,
            counted(d, "parameter"),
            counted(few.len(), "such node"),
            names(fit, &few)
        )
    })
}

/// How well positions can be guessed from models, on nodes whose position nobody knew.
fn guessed(fit: &FitResult) -> Vec<String> {
    let Some(at) = &fit.input.coordinates else { return Vec::new() };
    let known: Vec<usize> = (0..at.values.rows()).filter(|&i| at.values.row(i).iter().all(|v| v.is_finite())).collect();
    if known.len() < NODES_MIN {
        return Vec::new();
    }
    let d = fit.parameters.cols();
    let models: Vec<f64> = known.iter().flat_map(|&i| fit.parameters.row(i)).copied().collect();
    let column = |(j, name): (usize, &String)| {
        let position: Vec<f64> = known.iter().map(|&i| at.values.row(i)[j]).collect();
        let by = |e: Explained| {
            let nats = information(e.r2.max(0.0));
            let share = |r2: f64| format!("{:.0} %", 100.0 * r2.max(0.0));
            format!("{} of its variance ({} to {}), {nats:.2} nats", share(e.r2), share(e.low), share(e.high))
        };
        format!(
            "How well {name} of a node can be told from its model alone: by the nearest models {}; by a linear function {} (90 % intervals).",
            by(nearest(&models, d, &position, 0)),
            by(linear(&models, d, &position, 0))
        )
    };
    at.names.iter().enumerate().map(column).collect()
}
