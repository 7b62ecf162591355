//! What a report says, as plain data: every number is computed elsewhere, nothing here refers to a solver or a file.
//!
//! All types serialise, so a `report.json` kept beside a run can be rendered again later. Everything that may be unknown
//! is an `Option` or may be empty, and the page leaves out what is not there. JSON has no NaN: a number that is not
//! finite is written as `null` and read back as NaN (or `None`).

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Calibration, LearntGraph, Path};

/// One fitted network of models, told to people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The headline, e.g. `Temperature at 207 weather stations`.
    pub title: String,
    /// The program that made it and its version, e.g. `fedweave 0.1.0`.
    pub version: String,
    /// The command line that runs it again; empty if unknown.
    pub command: String,
    /// What was fitted.
    pub what: What,
    /// What came out.
    pub outcome: Outcome,
    /// Things the reader must know, e.g. `3 nodes had no rows`.
    pub notices: Vec<String>,
    /// Where the data come from, with attribution, one line each.
    pub sources: Vec<String>,
    /// What the `x` and `y` of the nodes mean.
    pub coordinates: Coordinates,
    /// The nodes; edges and clusters refer to them by position.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The clusters: groups of nodes joined by edges whose ends have the same model.
    pub clusters: Vec<Cluster>,
    /// How the solver got there.
    pub history: Vec<Step>,
    /// The errors along a grid of lambda, if one was searched.
    pub lambda_curve: Option<LambdaCurve>,
    /// The networked models against the alternatives, if they were compared.
    pub comparison: Option<Comparison>,
    /// Which classes of held-out rows are taken for which, where labels are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// How often intervals of predictions hold, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What neighbours of a node could learn about its rows, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exposure: Vec<String>,
    /// Why the edges are there, if the graph was learnt from rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learnt: Option<LearntGraph>,
    /// Who learnt from whom, where nodes asked others instead of being coupled; edges then join a node and a teacher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asking: Option<Asking>,
    /// The clusters and errors along a grid of lambda, if the whole path was fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
}

/// The problem: `minimise sum_i L_i(w_i) + lambda * sum_e A_e * phi(w_i - w_j)`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct What {
    /// The loss `L_i`, e.g. `squared`.
    pub loss: String,
    /// The classes of models, where they have no parameters to show, e.g. `40 trees and 30 forests`; what is coupled then are
    /// predictions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<String>,
    /// The penalty `phi`, e.g. `norm2`.
    pub penalty: String,
    /// The strength of the coupling.
    #[serde(deserialize_with = "nan_if_null")]
    pub lambda: f64,
    /// The solver, e.g. `primal-dual`.
    pub solver: String,
    /// The number of parameters of one node's model.
    pub dim: usize,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of edges.
    pub edges: usize,
    /// The number of rows (data points) the models were fitted to.
    pub rows: usize,
    /// The number of rows held out.
    pub rows_held_out: usize,
    /// The rows held out to validate were used again for the final models, and are counted in `rows`.
    pub refitted: bool,
    /// The names of the parameters, in the order of `parameters` and `model`, the intercept included. Empty: unnamed.
    pub features: Vec<String>,
    /// The column predicted, if there is one.
    pub target: Option<String>,
    /// Which rows were held out and how they were chosen, as a sentence. Always shown.
    pub split: String,
}

/// The result and how far it can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Why the solver stopped.
    pub status: Status,
    /// The value of the objective at the models returned.
    #[serde(deserialize_with = "nan_if_null")]
    pub objective: f64,
    /// A proven upper bound on `objective - minimum`, in the units of the objective; `None`: there is no certificate.
    pub certified_gap: Option<f64>,
    /// The largest relative violation of the optimality conditions.
    pub kkt_residual: Option<f64>,
    /// The tolerance asked for.
    #[serde(deserialize_with = "nan_if_null")]
    pub tolerance: f64,
    /// The iterations of the solver.
    pub iterations: usize,
    /// The seconds the solver took.
    pub seconds: Option<f64>,
    /// What the errors are, e.g. `mean squared error`.
    pub error_name: String,
    /// The error on the rows fitted to.
    pub train_error: Option<f64>,
    /// The error on the rows held out.
    pub validation_error: Option<f64>,
    /// The error of models fitted to each node alone, on the same held-out rows.
    pub local_error: Option<f64>,
    /// The error of one model fitted to all nodes together, on the same held-out rows.
    pub global_error: Option<f64>,
    /// The error that would be good, known from elsewhere: a noise level, an existing method, an expert.
    pub baseline_error: Option<f64>,
}

/// Why the solver stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The tolerance was reached.
    #[default]
    Converged,
    /// A method without a tolerance did the rounds it was asked for.
    Finished,
    /// The objective changed by less than asked between two looks.
    Stalled,
    /// The iteration limit came first.
    IterationLimit,
    /// The time limit came first.
    TimeLimit,
    /// Somebody interrupted it.
    Interrupted,
    /// The iterates grew without bound or stopped being numbers.
    Diverged,
}

/// What the `x` and `y` of the nodes mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinates {
    /// Nothing: the page computes a layout from the edges.
    #[default]
    None,
    /// Positions in a plane, drawn as they are, y upwards.
    Plane,
    /// `x` is the longitude and `y` the latitude, in degrees: drawn as a map.
    Geographic,
}

/// One node of the network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its id, any text.
    pub name: String,
    /// The rows its model was fitted to.
    pub rows: usize,
    /// Its cluster, an index into [`Report::clusters`]; cluster `k` is shown as number `k + 1`.
    pub cluster: Option<usize>,
    /// The first coordinate; the longitude if geographic.
    pub x: Option<f64>,
    /// The second coordinate; the latitude if geographic.
    pub y: Option<f64>,
    /// The error on its rows fitted to.
    pub train_error: Option<f64>,
    /// The error on its rows held out.
    pub validation_error: Option<f64>,
    /// The error of the model fitted to this node alone, on the same held-out rows.
    pub local_error: Option<f64>,
    /// The error of the one global model, on the same held-out rows.
    pub global_error: Option<f64>,
    /// Its model `w_i`; empty if it is not to be shown.
    #[serde(deserialize_with = "nans_if_null")]
    pub parameters: Vec<f64>,
    /// Whose rows shaped its model most, with their shares, largest first; empty if nobody worked it out.
    pub shaped_by: Vec<(String, f64)>,
}

/// One edge of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// One end, an index into [`Report::nodes`].
    pub i: usize,
    /// The other end.
    pub j: usize,
    /// The weight `A_e`.
    #[serde(deserialize_with = "nan_if_null")]
    pub weight: f64,
    /// Whether the ends have different models, that is, whether the edge joins two clusters.
    #[serde(alias = "saturated")]
    pub differs: bool,
}

/// A group of connected nodes with one common model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// The number of its nodes.
    pub size: usize,
    /// The common model.
    #[serde(deserialize_with = "nans_if_null")]
    pub model: Vec<f64>,
}

/// How nodes asked, and what they learnt from whom.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asking {
    /// How many others a node asked in a round.
    pub candidates: usize,
    /// How many rounds there were.
    pub rounds: usize,
    /// One for every node that asked.
    pub lessons: Vec<Lesson>,
}

/// What one node learnt from whom.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lesson {
    /// The name of the node that asked.
    pub node: String,
    /// By how much all answers together lowered the loss on its own rows.
    #[serde(deserialize_with = "nan_if_null")]
    pub reward: f64,
    /// The names of those it learnt from and their shares of the rounds, best first.
    pub teachers: Vec<(String, f64)>,
}

/// One entry of the solver's history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The iteration.
    pub iteration: usize,
    /// The objective there.
    #[serde(deserialize_with = "nan_if_null")]
    pub objective: f64,
    /// The certified gap there.
    pub gap: Option<f64>,
    /// The KKT residual there.
    pub kkt: Option<f64>,
    /// Bytes sent until then, by solvers that exchange messages.
    pub bytes: Option<u64>,
}

/// Errors along a grid of lambda.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LambdaCurve {
    /// The points, in any order.
    pub points: Vec<LambdaPoint>,
    /// The lambda chosen.
    #[serde(deserialize_with = "nan_if_null")]
    pub chosen: f64,
    /// How it was chosen, e.g. `largest lambda within one standard error of the smallest validation error`.
    pub rule: String,
}

/// The errors at one lambda.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LambdaPoint {
    /// The strength of the coupling.
    #[serde(deserialize_with = "nan_if_null")]
    pub lambda: f64,
    /// The error on the rows fitted to.
    pub train: Option<f64>,
    /// The error on the rows held out.
    pub validation: Option<f64>,
    /// The standard error of `validation`.
    pub standard_error: Option<f64>,
}

/// Which classes are taken for which.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confusion {
    /// Whose predictions these are, e.g. `the networked models`.
    pub whose: String,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// A row for each class: how many of its rows were given to each class.
    pub counts: Vec<Vec<usize>>,
}

/// The networked models against the alternatives, all on the same held-out rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// The methods, in the order to be shown.
    pub methods: Vec<Method>,
    /// How many random splits the errors are means of.
    pub splits: usize,
    /// How many nodes have a smaller error than their local-only model.
    pub nodes_gain: usize,
    /// How many nodes have a larger error than their local-only model.
    pub nodes_lose: usize,
    /// In how many splits the true graph beats the same graph with its nodes shuffled; `None`: not tried.
    pub splits_better_than_shuffled: Option<usize>,
}

/// One method of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Method {
    /// Its name, e.g. `local only`.
    pub name: String,
    /// What it stands for.
    pub kind: MethodKind,
    /// Its error on the held-out rows.
    #[serde(deserialize_with = "nan_if_null")]
    pub error: f64,
    /// The standard error of that.
    pub standard_error: Option<f64>,
}

/// What a method of a comparison stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodKind {
    /// Every node alone.
    Local,
    /// One model for all.
    Global,
    /// The method of this report.
    Networked,
    /// The method of this report on the graph with its nodes shuffled: the control.
    Shuffled,
    /// Anything else.
    #[default]
    Other,
}

impl Report {
    /// The name of parameter `k`: the feature's, or `w1`, `w2`, ... where it has none.
    pub fn parameter_name(&self, k: usize) -> String {
        self.what.features.get(k).cloned().unwrap_or_else(|| format!("w{}", k + 1))
    }
}

impl Node {
    /// How much smaller the held-out error is than the local-only model's, as a share of the latter: 0.3 is 30 % less.
    pub fn gain(&self) -> Option<f64> {
        let (error, local) = (self.validation_error?, self.local_error?);
        // Shares of errors that may be negative mean nothing.
        (error >= 0.0 && local > 0.0).then(|| 1.0 - error / local).filter(|gain| gain.is_finite())
    }
}

fn nan_if_null<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(input)?.unwrap_or(f64::NAN))
}

fn nans_if_null<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(input)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trip_keeps_every_number() {
        let mut report = Report { title: "a".into(), ..Report::default() };
        report.outcome.objective = 0.1 + 0.2;
        report.nodes.push(Node { name: "n".into(), parameters: vec![1e-300, -2.5], ..Node::default() });
        report.edges.push(Edge { i: 0, j: 0, weight: 1.0, differs: true });
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }

    #[test]
    fn not_finite_numbers_come_back_as_nan() {
        let mut report = Report::default();
        report.outcome.objective = f64::INFINITY;
        report.nodes.push(Node { parameters: vec![f64::NAN], ..Node::default() });
        let back: Report = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        assert!(back.outcome.objective.is_nan() && back.nodes[0].parameters[0].is_nan());
    }

    #[test]
    fn missing_fields_are_defaults() {
        let report: Report = serde_json::from_str(r#"{"title": "t", "outcome": {"objective": 2}}"#).unwrap();
        assert_eq!((report.outcome.objective, report.coordinates), (2.0, Coordinates::None));
    }

    #[test]
    fn gain_is_relative_to_local() {
        let node = Node { validation_error: Some(7.0), local_error: Some(10.0), ..Node::default() };
        assert!((node.gain().unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(Node { local_error: Some(0.0), ..node.clone() }.gain(), None);
        assert_eq!(Node { validation_error: None, ..node }.gain(), None);
    }
}
