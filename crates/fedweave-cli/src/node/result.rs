//! What a part leaves behind: its models, its flows, a summary.

use anyhow::Result;
use fedweave::model::Fitted;
use fedweave_io::RunWriter;
use fedweave_node::metrics::{NeighbourSnapshot, Snapshot};
use fedweave_node::{Outcome, Reason};
use serde_json::json;

use super::{NodeArgs, NodeSettings, predictions};
use crate::models::ModelFile;
use crate::say;

/// A run that came to its end.
pub struct Ended<'a> {
    pub settings: &'a NodeSettings,
    pub outcome: &'a Outcome,
    /// Models of any class, for the method on predictions.
    pub fitted: &'a [Option<Fitted>],
    pub snapshot: &'a Snapshot,
}

/// Writes the folder `result`.
pub fn write(ended: &Ended<'_>) -> Result<()> {
    let Ended { settings, outcome, snapshot, .. } = ended;
    let writer = RunWriter::create(&settings.state.join("result"), true)?;
    match &settings.plan.models {
        Some(_) => write_models(ended, &writer)?,
        None => write_parameters(ended, &writer)?,
    }
    writer.write_json("summary.json", &summary(outcome, snapshot))?;
    writer.finish()?;
    Ok(())
}

/// Models of any class, which `fedweave predict` reads.
fn write_models(ended: &Ended<'_>, writer: &RunWriter) -> Result<()> {
    let Ended { settings, fitted, .. } = ended;
    let Some(models) = &settings.plan.models else { return Ok(()) };
    let nodes = settings.plan.nodes.iter().zip(&models.specs).zip(fitted.iter());
    let nodes = nodes.map(|((name, spec), fitted)| (name.clone(), spec.clone(), fitted.clone()));
    let file = ModelFile::new(models.task, settings.features.clone(), None, nodes);
    writer.write_json("models.json", &file)?;
    writer
        .write_json("encoding.json", &file.model(predictions::encoding(&settings.node_column, &settings.features)))?;
    Ok(())
}

fn write_parameters(ended: &Ended<'_>, writer: &RunWriter) -> Result<()> {
    let Ended { settings, outcome, .. } = ended;
    let plan = &settings.plan;
    let features: Vec<String> = match outcome.models.cols() == settings.features.len() {
        true => settings.features.clone(),
        // Several classes: the features of each of them.
        false => (1..=outcome.models.cols()).map(|k| format!("w{k}")).collect(),
    };
    writer.write_parameters(&features, &plan.nodes, &outcome.models)?;
    // Edges are numbered as in the file of the part.
    let flow = |k: usize| outcome.flows.row(k).iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" ");
    writer.write_csv(
        "flows.csv",
        &["edge", "flow"],
        (0..outcome.flows.rows()).map(|k| [(k + 1).to_string(), flow(k)]),
    )?;
    Ok(())
}

fn summary(outcome: &Outcome, snapshot: &Snapshot) -> serde_json::Value {
    let sum = |of: fn(&NeighbourSnapshot) -> u64| snapshot.neighbours.iter().map(of).sum::<u64>();
    json!({
        "part": snapshot.name,
        "reason": outcome.reason,
        "rounds": outcome.round,
        "residual": Some(outcome.residual).filter(|r| r.is_finite()),
        "seconds": snapshot.seconds,
        "round_seconds_median": snapshot.round_seconds.map(|(median, _)| median),
        "round_seconds_max": snapshot.round_seconds.map(|(_, max)| max),
        "frames_sent": sum(|n| n.sent.0),
        "bytes_sent": sum(|n| n.sent.1),
        "refused": snapshot.refused,
    })
}

/// Says how it ended.
pub fn report(args: &NodeArgs, ended: &Ended<'_>) -> Result<()> {
    let Ended { settings, outcome, snapshot, .. } = ended;
    if args.json {
        return say(&summary(outcome, snapshot).to_string());
    }
    let median = snapshot.round_seconds.map_or(String::new(), |(m, _)| format!(", {:.2} ms a round", m * 1e3));
    say(&format!(
        "{}: {} after {} rounds, {:.2} s{median}\nwritten to {}",
        settings.plan.name,
        words(outcome.reason),
        outcome.round,
        snapshot.seconds,
        settings.state.join("result").display()
    ))
}

/// Why it ended, in words.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Converged => "converged",
        Reason::RoundLimit => "all rounds done",
        Reason::PeerLost => "stopped, because a neighbour is gone and the policy is to stop,",
        Reason::Left => "left",
        Reason::PeerFinished => "ended, because a neighbour had ended,",
        Reason::Diverged => "diverged (numbers out of range, or a model that cannot be fitted)",
    }
}
