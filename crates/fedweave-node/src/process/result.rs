//! What a part leaves behind: its models, its flows, a summary.

use fedweave::Matrix;
use fedweave::learn::coupling::shared::SharedCoupling;
use fedweave::model::Fitted;
use fedweave_io::{IoError, ModelFile, NodeModel, RunWriter};
use serde::{Deserialize, Serialize};

use crate::config::{PartSettings, plain_encoding};
use crate::metrics::{NeighbourSnapshot, Snapshot};
use crate::models::Models;
use crate::part::{Outcome, Part, Reason};

/// `summary.json` of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartSummary {
    /// Name of the part.
    pub part: String,
    /// Why it ended.
    pub reason: Reason,
    /// Rounds done.
    pub rounds: u64,
    /// The largest residual of the network, as last computed.
    pub residual: Option<f64>,
    /// Mean error on rows not trained with, if there were such.
    #[serde(default)]
    pub validation_error: Option<f64>,
    /// Seconds since the start of the process.
    pub seconds: f64,
    /// Median time of a round, in seconds.
    pub round_seconds_median: Option<f64>,
    /// Longest time of a round, in seconds.
    pub round_seconds_max: Option<f64>,
    /// Frames sent.
    pub frames_sent: u64,
    /// Bytes of frames sent, before encryption.
    pub bytes_sent: u64,
    /// Frames turned away before they reached the state machine.
    pub refused: u64,
    /// Neighbours whose edges did not count at the end, or whose last rows stood because they had ended before.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Neighbours that had not said that they have the last rows of this part when its process ended.
    #[serde(default)]
    pub lacking: Vec<String>,
}

impl PartSummary {
    fn new(outcome: &Outcome, snapshot: &Snapshot) -> Self {
        let sum = |of: fn(&NeighbourSnapshot) -> u64| snapshot.neighbours.iter().map(of).sum::<u64>();
        PartSummary {
            part: snapshot.name.clone(),
            reason: outcome.reason,
            rounds: outcome.round,
            residual: Some(outcome.residual).filter(|r| r.is_finite()),
            validation_error: snapshot.validation_error,
            seconds: snapshot.seconds,
            round_seconds_median: snapshot.round_seconds.map(|(median, _)| median),
            round_seconds_max: snapshot.round_seconds.map(|(_, max)| max),
            frames_sent: sum(|n| n.sent.0),
            bytes_sent: sum(|n| n.sent.1),
            refused: snapshot.refused,
            missing: snapshot.neighbours.iter().filter(|n| !n.counted).map(|n| n.name.clone()).collect(),
            lacking: snapshot.neighbours.iter().filter(|n| n.lacks).map(|n| n.name.clone()).collect(),
        }
    }
}

/// What a part leaves in its folder `result`.
const RESULT_FILES: [&str; 6] =
    ["summary.json", "parameters.csv", "flows.csv", "models.json", "encoding.json", "coupling.json"];

/// `coupling.json` of a part: what was learnt, and the models in scaled features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CouplingFile {
    /// Share of the graph.
    pub rho: f64,
    /// Deviation of the noise of a row.
    pub noise: f64,
    /// Everything that was learnt ([`SharedCoupling::to_numbers`]).
    pub numbers: Vec<f64>,
    /// Models of the nodes of the part, in the units of the rounds.
    pub scaled_models: Vec<Vec<f64>>,
}

/// Writes the folder `result`.
pub(super) fn write(
    settings: &PartSettings,
    outcome: &Outcome,
    part: &Part,
    snapshot: &Snapshot,
) -> Result<PartSummary, IoError> {
    let summary = PartSummary::new(outcome, snapshot);
    let writer = RunWriter::create(&settings.state.join("result"), true, &RESULT_FILES)?;
    match (&settings.plan.models, part.plan().learnt()) {
        (Some(models), _) => write_models(settings, models, &part.fitted(), &writer)?,
        (None, Some(learnt)) => {
            let mut models = outcome.models.clone();
            learnt.scaling.restore(&mut models);
            write_coupling(learnt, &outcome.models, &writer)?;
            write_parameters(settings, &Outcome { models, ..outcome.clone() }, &writer)?;
        }
        (None, None) => write_parameters(settings, outcome, &writer)?,
    }
    writer.write_json("summary.json", &summary)?;
    writer.finish()?;
    Ok(summary)
}

fn write_coupling(learnt: &SharedCoupling, models: &Matrix, writer: &RunWriter) -> Result<(), IoError> {
    let file = CouplingFile {
        rho: learnt.coupling.rho,
        noise: learnt.coupling.s2.sqrt(),
        numbers: learnt.to_numbers(),
        scaled_models: (0..models.rows()).map(|i| models.row(i).to_vec()).collect(),
    };
    writer.write_json("coupling.json", &file)
}

/// Models of any class, which `fedweave predict` reads.
fn write_models(
    settings: &PartSettings,
    models: &Models,
    fitted: &[Option<Fitted>],
    writer: &RunWriter,
) -> Result<(), IoError> {
    let node = |((name, spec), fitted): ((&String, _), &Option<Fitted>)| NodeModel {
        node: name.clone(),
        spec: Clone::clone(spec),
        fitted: fitted.clone(),
    };
    let nodes = settings.plan.nodes.iter().zip(&models.specs).zip(fitted).map(node).collect();
    let file = ModelFile::new(models.task, settings.features.clone(), None, nodes);
    writer.write_json("models.json", &file)?;
    writer.write_json("encoding.json", &file.numbered(plain_encoding(&settings.node_column, &settings.features)))
}

fn write_parameters(settings: &PartSettings, outcome: &Outcome, writer: &RunWriter) -> Result<(), IoError> {
    let features: Vec<String> = match outcome.models.cols() == settings.features.len() {
        true => settings.features.clone(),
        // Several classes: the features of each of them.
        false => (1..=outcome.models.cols()).map(|k| format!("w{k}")).collect(),
    };
    writer.write_parameters(&features, &settings.plan.nodes, &outcome.models)?;
    // Edges are numbered as in the file of the part.
    let flow = |k: usize| outcome.flows.row(k).iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" ");
    let rows = (0..outcome.flows.rows()).map(|k| [(k + 1).to_string(), flow(k)]);
    writer.write_csv("flows.csv", &["edge", "flow"], rows)
}
