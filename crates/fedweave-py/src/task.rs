//! What the Python face asks for, read from the attributes of its `Task`, and the mathematics it stands for.

use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::penalty::{Penalty, Quadratic, named};
use fedweave::scaling::Scaling;
use fedweave::solve::{Settings, Solver, nodes_without_minimiser};
use fedweave::{Dataset, Graph, Matrix, Problem};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors::{of_node, plain, raised};
use crate::rows::{Grouped, Rows, matrix};

/// A request.
#[derive(FromPyObject)]
pub struct Task<'py> {
    rows: Rows<'py>,
    loss: String,
    huber_delta: f64,
    quantile: f64,
    classes: usize,
    penalty: String,
    penalty_matrix: Option<PyReadonlyArray2<'py, f64>>,
    ridge: f64,
    weigh_rows: bool,
    standardize: bool,
    solver: String,
    tol: f64,
    max_iter: usize,
    /// `None`: choose it.
    pub lam: Option<f64>,
    /// Seconds.
    pub time_limit: Option<f64>,
    /// Zero: all cores.
    pub threads: usize,
    /// Of everything random.
    pub seed: u64,
    /// Called with the state of the solver now and then.
    pub progress: Option<Py<PyAny>>,
}

/// The mathematics of a task: everything but lambda.
pub struct Ready {
    /// The rows, in the units of the input.
    pub data: Dataset,
    /// Where each row stood in the input.
    pub origin: Vec<usize>,
    /// The graph.
    pub graph: Graph,
    /// The losses.
    pub loss: LossSpec,
    /// Their options.
    pub options: LossOptions,
    /// When to stop.
    pub settings: Settings,
    standardize: bool,
    penalty: String,
    penalty_matrix: Option<Matrix>,
}

impl Task<'_> {
    /// Checks the request and copies its numbers, once.
    pub fn ready(&self, py: Python<'_>) -> PyResult<Ready> {
        let ready = self.assembled(py)?;
        ready.refuse_runaway(py, self.lam.unwrap_or(1.0))?;
        Ok(ready)
    }

    /// The same; the losses may decrease for ever.
    pub fn assembled(&self, py: Python<'_>) -> PyResult<Ready> {
        let Grouped { data, origin, graph } = self.rows.grouped(py)?;
        let unknown = |what: &str, name: &str| plain(py, "ParameterError", &format!("{what} {name:?} is unknown"));
        let family = match Family::named(&self.loss, self.huber_delta, self.quantile) {
            Some(Family::Multinomial { .. }) => Family::Multinomial { classes: self.classes },
            Some(family) => family,
            None => return Err(unknown("loss", &self.loss)),
        };
        let node_weight = if self.weigh_rows { NodeWeight::Rows } else { NodeWeight::Equal };
        let solver = match self.solver.as_str() {
            "auto" => Solver::Auto,
            "primal-dual" => Solver::PrimalDual,
            "newton" => Solver::Newton,
            "newton-cg" => Solver::NewtonCg,
            other => return Err(unknown("solver", other)),
        };
        let ready = Ready {
            data,
            origin,
            graph,
            loss: LossSpec::Same(family),
            options: LossOptions { ridge: self.ridge, spare_last: self.rows.intercept, node_weight },
            settings: Settings { tolerance: self.tol, iterations_max: self.max_iter, solver, ..Settings::default() },
            standardize: self.standardize,
            penalty: self.penalty.clone(),
            penalty_matrix: self.penalty_matrix.as_ref().map(matrix),
        };
        ready.penalty().map_err(|error| error.raise(py))?;
        Ok(ready)
    }
}

/// A penalty that cannot be had.
pub enum NoPenalty {
    Unknown(String),
    Wrong(fedweave::Error),
}

impl NoPenalty {
    pub fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            NoPenalty::Unknown(message) => plain(py, "ParameterError", message),
            NoPenalty::Wrong(error) => raised(py, error, &[]),
        }
    }
}

impl Ready {
    /// Moves the rows out: there is never a second copy of them.
    pub fn take_data(&mut self) -> fedweave::Result<Dataset> {
        let empty = Dataset::new(vec![0], Matrix::zeros(0, self.data.dim()), Vec::new(), Vec::new())?;
        Ok(std::mem::replace(&mut self.data, empty))
    }

    /// The penalty.
    pub fn penalty(&self) -> Result<Box<dyn Penalty>, NoPenalty> {
        match (&self.penalty_matrix, self.penalty.as_str()) {
            (Some(matrix), "quadratic") if matrix.rows() == matrix.cols() => {
                let made = Quadratic::new(std::slice::from_ref(matrix)).map_err(NoPenalty::Wrong)?;
                Ok(Box::new(made))
            }
            (_, "quadratic") => Err(NoPenalty::Unknown("the quadratic penalty needs a square penalty_matrix".into())),
            (_, name) => named(name).ok_or_else(|| NoPenalty::Unknown(format!("penalty {name:?} is unknown"))),
        }
    }

    /// The scaling of `rows`, if the rows are to be scaled.
    pub fn scaling(&self, rows: &Dataset) -> Option<Scaling> {
        self.standardize.then(|| Scaling::of(rows, self.options.spare_last))
    }

    /// The problem on `rows`, already scaled.
    pub fn problem(&self, rows: Dataset, lambda: f64) -> fedweave::Result<Problem> {
        let penalty = self.penalty().map_err(|failure| match failure {
            NoPenalty::Wrong(error) => error,
            NoPenalty::Unknown(_) => fedweave::Error::Method { method: "penalty", needs: "a known name" },
        })?;
        Problem::build(self.graph.clone(), self.loss.build(rows, &self.options)?, penalty, lambda)
    }

    /// Models in the units of the input.
    pub fn restore(&self, scaling: Option<&Scaling>, w: &Matrix) -> Matrix {
        let mut parameters = w.clone();
        match (scaling, &self.loss) {
            (Some(s), LossSpec::Same(Family::Point)) => s.restore_points(&mut parameters),
            (Some(s), _) => s.restore(&mut parameters),
            (None, _) => {}
        }
        parameters
    }

    /// Losses that decrease for ever are refused, not iterated for ever.
    fn refuse_runaway(&self, py: Python<'_>, lambda: f64) -> PyResult<()> {
        let LossSpec::Same(family) = self.loss else { return Ok(()) };
        if !family.may_lack_minimiser() {
            return Ok(());
        }
        let bad = nodes_without_minimiser(&self.loss, &self.data, &self.graph, lambda, &[], &self.options);
        match bad.map_err(|error| raised(py, &error, &self.origin))?.first() {
            Some(&node) => Err(of_node(py, "NoMinimiserError", &runaway(family, self.options.ridge), node)),
            None => Ok(()),
        }
    }
}

fn runaway(family: Family, ridge: f64) -> String {
    let why = match ridge > 0.0 {
        true => "all labels are alike, so the intercept grows without bound: set fit_intercept=False, or connect it",
        false => "labels can be predicted perfectly, so parameters grow without bound: give a ridge, e.g. ridge=0.001",
    };
    format!("the {family} loss has no minimiser at node {{node}} and those connected with it: {why}")
}
