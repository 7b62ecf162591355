//! Watching for drift: do new rows with labels look like those that the models were judged by?
//!
//! The scores of new rows of a node (how far labels are from predictions) are compared with the scores of its calibration rows:
//! their size by a rank test, and how many are inside intervals by a test of two shares. Nodes with too few calibration rows are
//! compared with all nodes. Which nodes drifted is decided for all together, so that the share of false alarms is controlled.

mod words;

use std::path::{Path, PathBuf};

use fedweave::learn::conformal::{Calibration, Coverage, Threshold};
use fedweave::learn::drift::{coverage_test, discovery_rates, rank_test};
use fedweave_io::RunWriter;

use crate::calibration::RunCalibration;
use crate::error::{Error, Result, require};
use crate::predictor::{NewRow, Predictor};
use crate::run_dir::{MONITOR, SUMMARY, cell};

pub use words::{summary, text};

/// Calibration rows that a node needs to be compared with itself.
const KNOWN_MIN: usize = 5;

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonitorRequest {
    /// Level of the intervals that are checked.
    pub level: f64,
    /// The accepted share of false alarms among alarms.
    pub fdr: f64,
}

impl Default for MonitorRequest {
    fn default() -> Self {
        MonitorRequest { level: 0.9, fdr: 0.1 }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitored {
    /// What was looked for.
    pub request: MonitorRequest,
    /// Number of new rows with a label.
    pub rows: usize,
    /// Number of new rows without.
    pub unlabelled: usize,
    /// Nodes with new rows, in the order of the run.
    pub nodes: Vec<MonitoredNode>,
}

/// New rows of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitoredNode {
    /// Its name.
    pub name: String,
    /// Number of new rows.
    pub rows: usize,
    /// Number of rows they are compared with.
    pub known_rows: usize,
    /// These are rows of all nodes: its own are too few.
    pub pooled: bool,
    /// The mean size of new scores over that of known ones; `None` where that is zero.
    pub error_ratio: Option<f64>,
    /// Share of new rows inside their intervals.
    pub coverage: f64,
    /// Share of known rows inside intervals from other known rows.
    pub known_coverage: Option<f64>,
    /// Probability of errors as large as these without drift.
    pub p_error: f64,
    /// Probability of so few rows inside without drift.
    pub p_coverage: f64,
    /// Both together: twice the smaller one.
    pub p: f64,
    /// The smallest rate of false alarms at which this node counts as one that drifted.
    pub rate: f64,
    /// It does, at the rate asked for.
    pub drifted: bool,
}

impl Monitored {
    /// Nodes that drifted, the clearest first.
    pub fn drifted(&self) -> impl Iterator<Item = &MonitoredNode> {
        let mut found: Vec<&MonitoredNode> = self.nodes.iter().filter(|node| node.drifted).collect();
        found.sort_by(|a, b| a.p.total_cmp(&b.p));
        found.into_iter()
    }

    /// Share of all new rows inside their intervals; `None` without rows.
    pub fn coverage(&self) -> Option<f64> {
        let inside: f64 = self.nodes.iter().map(|node| node.coverage * node.rows as f64).sum();
        (self.rows > 0).then(|| inside / self.rows as f64)
    }
}

/// Compares the rows of a file, whose nodes stand in the column `node` if it is not that of the fit, with the calibration of a run.
pub fn monitor(run: &Path, rows: &Path, node: Option<&str>, request: MonitorRequest) -> Result<Monitored> {
    let (level, fdr) = (request.level, request.fdr);
    require!(level > 0.0 && level < 1.0, "--level {level}: must be between 0 and 1, e.g. 0.9");
    require!(fdr > 0.0 && fdr < 1.0, "--fdr {fdr}: must be between 0 and 1, e.g. 0.1");
    let predictor = Predictor::open(run)?;
    let predictor = match node {
        Some(column) => predictor.with_node_column(column),
        None => predictor,
    };
    let missing = || {
        let shown = run.display();
        Error::request(format!(
            "{shown} has no calibration to compare with; fit with --calibrate 10, or with --validation 0.2"
        ))
    };
    let known = predictor.calibration().ok_or_else(missing)?;
    let (new, unlabelled) = new_scores(&predictor, known, rows)?;
    let names: Vec<&str> = predictor.names().collect();
    Ok(Monitored { rows: new.rows(), unlabelled, nodes: compare(known, &new, &names, request)?, request })
}

/// Scores of the labelled rows of a file, and how many rows have no label.
fn new_scores(predictor: &Predictor, known: &RunCalibration, path: &Path) -> Result<(Calibration, usize)> {
    let rows = predictor.read_rows(path, true)?;
    let target = predictor.target().unwrap_or("the target");
    let without = || Error::request(format!("{}: no labels in column `{target}`", path.display()));
    let labels = rows.y.as_ref().ok_or_else(without)?;
    let places = predictor.places(&rows, path)?;
    let labelled = (0..labels.len()).filter(|r| !labels[*r].is_nan());
    let scored =
        labelled.map(|r| Ok((places[r], predictor.score(known.score, NewRow::of(&rows, &places, r), labels[r])?)));
    let scored = scored.collect::<Result<Vec<_>>>()?;
    let unlabelled = labels.len() - scored.len();
    Ok((Calibration::new(predictor.names().count(), scored)?, unlabelled))
}

/// Tests every node with new rows.
fn compare(
    known: &RunCalibration,
    new: &Calibration,
    names: &[&str],
    request: MonitorRequest,
) -> Result<Vec<MonitoredNode>> {
    let thresholds = known.scores.thresholds(request.level, known.score.tails())?;
    let before = Before::new(known, known.coverage(request.level)?);
    let with_rows = (0..names.len()).filter(|i| !new.scores(*i).is_empty());
    let mut nodes: Vec<MonitoredNode> =
        with_rows.map(|i| test(names[i], i, &before, new.scores(i), &thresholds[i])).collect();
    let rates = discovery_rates(&nodes.iter().map(|node| node.p).collect::<Vec<_>>());
    for (node, rate) in nodes.iter_mut().zip(rates) {
        (node.rate, node.drifted) = (rate, rate <= request.fdr);
    }
    Ok(nodes)
}

/// Sizes of known scores, of nodes and of all together, and how many are inside.
struct Before {
    sizes: Vec<Vec<f64>>,
    all: Vec<f64>,
    inside: Coverage,
}

impl Before {
    fn new(known: &RunCalibration, inside: Coverage) -> Before {
        let size = |i: usize| known.scores.scores(i).iter().map(|s| s.abs()).collect();
        let sizes: Vec<Vec<f64>> = (0..known.scores.nodes()).map(size).collect();
        Before { all: sizes.concat(), sizes, inside }
    }

    /// Sizes, rows inside and all rows to compare a node with; true if they are those of all nodes.
    fn of(&self, node: usize) -> (&[f64], (usize, usize), bool) {
        if self.sizes[node].len() >= KNOWN_MIN {
            return (&self.sizes[node], self.inside.by_node[node], false);
        }
        let sum = self.inside.by_node.iter().fold((0, 0), |(a, b), (inside, rows)| (a + inside, b + rows));
        (&self.all, sum, true)
    }
}

fn test(name: &str, node: usize, before: &Before, scores: &[f64], threshold: &Threshold) -> MonitoredNode {
    let (known, (inside, known_rows), pooled) = before.of(node);
    let sizes: Vec<f64> = scores.iter().map(|s| s.abs()).collect();
    let new_inside = scores.iter().filter(|s| threshold.holds(**s)).count();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let p_error = rank_test(known, &sizes);
    let p_coverage = coverage_test(inside, known_rows, new_inside, scores.len());
    MonitoredNode {
        name: name.to_owned(),
        rows: scores.len(),
        known_rows: known.len(),
        pooled,
        error_ratio: Some(mean(&sizes) / mean(known)).filter(|ratio| ratio.is_finite()),
        coverage: new_inside as f64 / scores.len() as f64,
        known_coverage: (known_rows > 0).then(|| inside as f64 / known_rows as f64),
        p_error,
        p_coverage,
        p: (2.0 * p_error.min(p_coverage)).min(1.0),
        rate: 1.0,
        drifted: false,
    }
}

/// Writes a folder with every node and the summary; returns where it is.
pub fn write(found: &Monitored, writer: RunWriter) -> Result<PathBuf> {
    let row = |node: &MonitoredNode| {
        let numbers = [node.error_ratio, Some(node.coverage), node.known_coverage].map(cell);
        let probabilities = [node.p_error, node.p_coverage, node.p].map(|p| p.to_string());
        let start = [node.name.clone(), node.rows.to_string(), node.known_rows.to_string()];
        let end = [if node.drifted { "1" } else { "0" }.to_owned()];
        [start.to_vec(), numbers.to_vec(), probabilities.to_vec(), end.to_vec()].concat()
    };
    writer.write_csv(MONITOR.0, &MONITOR.1, found.nodes.iter().map(row))?;
    writer.write_json(SUMMARY, &summary(found))?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests;
