//! What the Python face asks for, read from the attributes of its `Task`: rows and names in memory, and settings by key.

use fedweave::loss::LossSpec;
use fedweave::penalty::Penalty;
use fedweave::{Matrix, Problem};
use fedweave_io::{Coordinates, Encoding, Feature, Input, Metric, NodeColumn, TargetKind, TimeColumn, TimeScale};
use fedweave_run::request::{FitRequest, Settings};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::rows::{Grouped, Rows, matrix};
use crate::settings::settings_of;

/// The column in which the losses of nodes arrive.
const LOSS_COLUMN: &str = "loss";
/// The column of the times of rows.
const TIME_COLUMN: &str = "time";

/// A request.
#[derive(FromPyObject)]
pub struct Task<'py> {
    rows: Rows<'py>,
    /// In byte order.
    names: Vec<String>,
    features: Vec<String>,
    /// Of a target that is a class, in the order of its numbers.
    classes: Vec<String>,
    /// How the two classes of a two-class loss are written; empty for other losses.
    two_classes: Vec<String>,
    positions: Option<Positions<'py>>,
    /// The loss of every node, where they differ.
    losses: Option<Vec<Option<String>>>,
    /// The group of every row.
    groups: Option<PyReadonlyArray1<'py, u32>>,
    /// When every row was observed; differences are lengths of time.
    times: Option<PyReadonlyArray1<'py, f64>>,
    penalty_matrix: Option<PyReadonlyArray2<'py, f64>>,
    settings: Bound<'py, PyDict>,
    /// Zero: all cores.
    pub threads: usize,
    /// Called with the state of the solver now and then.
    pub progress: Option<Py<PyAny>>,
}

/// Where the nodes are.
#[derive(FromPyObject)]
struct Positions<'py> {
    columns: Vec<String>,
    values: PyReadonlyArray2<'py, f64>,
    geographic: bool,
    /// With how many nearest every node is joined.
    k: Option<usize>,
    /// By distances on the globe.
    globe: bool,
}

impl Task<'_> {
    /// What was said.
    pub fn settings(&self) -> PyResult<Settings> {
        settings_of(&self.settings)
    }

    /// The matrix of the quadratic penalty.
    pub fn matrix(&self) -> Option<Matrix> {
        self.penalty_matrix.as_ref().map(matrix)
    }

    /// Copies the rows, once; also tells where each row stood.
    pub fn input(&self, py: Python<'_>) -> PyResult<(Input, Vec<usize>)> {
        let times = self.times.as_ref().map(|times| times.as_array().to_vec());
        let Grouped { data, origin, graph } = self.rows.grouped(py, times.as_deref())?;
        let number = |column: &String| Feature::Number { column: column.clone(), mean: None };
        let encoding = Encoding {
            node: "node".into(),
            target: None,
            binary: self.two_classes.clone().try_into().ok(),
            target_kind: if self.classes.is_empty() { TargetKind::Number } else { TargetKind::Class },
            features: self.features.iter().map(number).collect(),
            intercept: self.rows.intercept,
            classes: self.classes.clone(),
            time: times.is_some().then(|| TimeColumn { column: TIME_COLUMN.into(), scale: TimeScale::Number }),
        };
        let coordinates = self.positions.as_ref().map(|at| Coordinates {
            names: at.columns.clone(),
            values: matrix(&at.values),
            geographic: at.geographic,
        });
        let lines = origin.iter().map(|&row| row as u64 + 1).collect();
        let mut input = Input::in_memory(self.names.clone(), graph, data, lines, encoding, coordinates);
        input.groups = self.groups.as_ref().map(|groups| {
            let groups = groups.as_array();
            origin.iter().map(|&row| groups[row]).collect()
        });
        let metric = |globe: bool| if globe { Metric::GreatCircle } else { Metric::Euclidean };
        input.nearest = self.positions.as_ref().and_then(|at| at.k.map(|k| (k, metric(at.globe))));
        input.times = times.map(|times| origin.iter().map(|&row| times[row]).collect());
        let column = |values: &Vec<_>| NodeColumn { name: LOSS_COLUMN.into(), values: values.clone() };
        input.per_node.extend(self.losses.as_ref().map(column));
        Ok((input, origin))
    }

    /// The losses and the penalty of the task, and its rows; the losses may decrease for ever.
    pub fn assembled(&self, py: Python<'_>) -> PyResult<Ready> {
        let request = FitRequest::of_memory(&self.settings()?, self.matrix());
        let request = request.map_err(|error| of_job(py, &error, &[]))?;
        let (input, origin) = self.input(py)?;
        let made = |input: &Input| Ok((request.model.loss(input)?, request.model.penalty(input)?));
        let (loss, penalty) = made(&input).map_err(|error| of_job(py, &error, &origin))?;
        Ok(Ready { request, input, origin, loss, penalty })
    }
}

/// The mathematics of a task.
pub struct Ready {
    /// What was asked for.
    pub request: FitRequest,
    /// The rows.
    pub input: Input,
    /// Where each row stood in the input.
    pub origin: Vec<usize>,
    /// The losses.
    pub loss: LossSpec,
    /// The penalty.
    pub penalty: Box<dyn Penalty>,
}

impl Ready {
    /// The problem on all rows, as they are.
    pub fn problem(self) -> fedweave::Result<Problem> {
        let loss = self.loss.build(self.input.data, &self.request.model.options)?;
        Problem::build(self.input.graph, loss, self.penalty, self.request.lambda.fixed.unwrap_or(0.0))
    }
}
