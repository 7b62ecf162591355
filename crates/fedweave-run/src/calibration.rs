//! What is known from rows that models have not seen about how far predictions are off: made by a fit, kept as
//! `calibration.json`, used by intervals and by the watch for drift.

pub(crate) mod folds;
mod words;

use std::path::Path;

use fedweave::Dataset;
use fedweave::learn::conformal::{Calibration, Score};
use fedweave::loss::{Family, Link, LossSpec, Prediction};
use fedweave::matrix::Matrix;
use fedweave_io::{RunWriter, read_json};
use serde::{Deserialize, Serialize};

use crate::error::{Result, require};
use crate::run_dir::CALIBRATION;

pub(crate) use words::{coverage_words, panel, summary};

const FORMAT: &str = "fedweave-calibration";
const VERSION: u32 = 1;

/// A row that the model that predicts it has not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFold {
    /// Its node.
    pub node: usize,
    /// What was predicted.
    pub prediction: Prediction,
    /// What was seen; of classes their number, from 0.
    pub label: f64,
    /// The deviation that the model expects, in the units of the score; 1 if it has no opinion.
    pub scale: f64,
}

/// Scores from rows that models have not seen.
pub fn calibration_of(score: Score, nodes: usize, rows: impl IntoIterator<Item = OutOfFold>) -> Result<Calibration> {
    let scored = rows.into_iter().map(|row| (row.node, score.of(&row.prediction, row.label, row.scale)));
    Ok(Calibration::new(nodes, scored)?)
}

/// The calibration of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCalibration {
    /// What its scores are.
    pub score: Score,
    /// The scores.
    pub scores: Calibration,
    /// Where they are from, in words.
    pub how: String,
    /// The models of the run have not seen these rows either: split conformal intervals, whose coverage is exact.
    pub unseen: bool,
    /// Scores are in units of what the models expect.
    pub scaled: bool,
}

/// `calibration.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    format: String,
    version: u32,
    score: Score,
    how: String,
    unseen: bool,
    scaled: bool,
    nodes: Vec<NodeScores>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeScores {
    node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<usize>,
    scores: Vec<f64>,
}

impl RunCalibration {
    /// Writes `calibration.json`.
    pub(crate) fn write(&self, names: &[String], writer: &RunWriter) -> Result<()> {
        let node = |(i, name): (usize, &String)| NodeScores {
            node: name.clone(),
            cluster: self.scores.cluster(i),
            scores: self.scores.scores(i).to_vec(),
        };
        let file = CalibrationFile {
            format: FORMAT.into(),
            version: VERSION,
            score: self.score,
            how: self.how.clone(),
            unseen: self.unseen,
            scaled: self.scaled,
            nodes: names.iter().enumerate().map(node).collect(),
        };
        Ok(writer.write_json(CALIBRATION, &file)?)
    }

    /// Reads it back for the nodes `names`; `None` if the run has none.
    pub fn read(run: &Path, names: &[&str]) -> Result<Option<RunCalibration>> {
        let path = run.join(CALIBRATION);
        if !path.is_file() {
            return Ok(None);
        }
        let file: CalibrationFile = read_json(run, CALIBRATION)?;
        let shown = path.display();
        require!(
            file.format == FORMAT && file.version == VERSION,
            "{shown}: written by another version; fit again with this one"
        );
        let same = file.nodes.iter().map(|n| n.node.as_str()).eq(names.iter().copied());
        require!(same, "{shown}: its nodes are not those of the models; the run directory was changed");
        let rows = file.nodes.iter().enumerate().flat_map(|(i, of)| of.scores.iter().map(move |s| (i, *s)));
        let mut scores = Calibration::new(names.len(), rows)?;
        let cluster: Option<Vec<usize>> = file.nodes.iter().map(|of| of.cluster).collect();
        if let Some(cluster) = cluster.filter(|of| of.iter().all(|c| *c < names.len())) {
            scores = scores.with_clusters(cluster)?;
        }
        let CalibrationFile { score, how, unseen, scaled, .. } = file;
        Ok(Some(RunCalibration { score, scores, how, unseen, scaled }))
    }
}

/// The deviation that a model expects of the score of a row, with `spread` the variance of its linear score and `noise` that of a
/// row of a squared loss. A count varies by itself by 1 on the scale of its score.
pub(crate) fn expected_deviation(family: Family, prediction: &Prediction, spread: f64, noise: f64) -> f64 {
    let variance = match (family, prediction) {
        (Family::Squared, _) => spread.max(0.0) + noise,
        (Family::Poisson, Prediction::Number(mean)) => 1.0 + mean * spread.max(0.0),
        _ => 1.0,
    };
    // A model without any doubt is not believed.
    if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 }
}

/// The score of one loss for all nodes; `None` where nodes differ, or where rows are not predicted.
pub(crate) fn score_of(loss: &LossSpec) -> Option<(Family, Score)> {
    match loss {
        LossSpec::Same(family) => Score::of_loss(*family).map(|score| (*family, score)),
        LossSpec::PerNode(_) => None,
    }
}

/// The number of the class that a label of a two-class loss stands for; other labels are what they are.
pub(crate) fn label_of(family: Family, label: f64) -> f64 {
    match family.link() {
        Some(Link::Logit | Link::Margin) => f64::from(u8::from(label > 0.0)),
        _ => label,
    }
}

/// Scores of all rows of `data` by linear models `w`, in the order of the rows; `deviation` says what a model expects.
pub(crate) fn linear_scores(
    (family, score): (Family, Score),
    data: &Dataset,
    w: &Matrix,
    deviation: impl Fn(usize, &[f64], &Prediction) -> f64,
) -> Vec<(usize, f64)> {
    let rows = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |r| (i, r)));
    let scored = rows.filter_map(|(i, r)| {
        let prediction = family.predict(data.x(r), w.row(i))?;
        let scale = deviation(i, data.x(r), &prediction);
        Some((i, score.of(&prediction, label_of(family, data.y()[r]), scale)))
    });
    scored.collect()
}
