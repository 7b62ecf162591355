//! What the Python face asks for, read from the attributes of its `Task`, and the mathematics it stands for.

use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::penalty::{Penalty, Quadratic, named};
use fedweave::scaling::Scaling;
use fedweave::solve::{Settings, Solver, nodes_without_minimiser};
use fedweave::{Dataset, Graph, Matrix, Problem};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::{of_node, plain, raised};

/// A request. Nodes are numbered in the byte order of their names.
#[derive(FromPyObject)]
pub struct Task<'py> {
    x: PyReadonlyArray2<'py, f64>,
    y: Option<PyReadonlyArray1<'py, f64>>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    node_of_row: PyReadonlyArray1<'py, i64>,
    nodes: usize,
    heads: PyReadonlyArray1<'py, i64>,
    tails: PyReadonlyArray1<'py, i64>,
    edge_weights: PyReadonlyArray1<'py, f64>,
    loss: String,
    huber_delta: f64,
    quantile: f64,
    classes: usize,
    penalty: String,
    penalty_matrix: Option<PyReadonlyArray2<'py, f64>>,
    intercept: bool,
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
        let origin = self.origin(py)?;
        let data = self.dataset(&origin).map_err(|error| raised(py, &error, &origin))?;
        let graph = self.graph().map_err(|error| raised(py, &error, &[]))?;
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
            options: LossOptions { ridge: self.ridge, spare_last: self.intercept, node_weight },
            settings: Settings { tolerance: self.tol, iterations_max: self.max_iter, solver, ..Settings::default() },
            standardize: self.standardize,
            penalty: self.penalty.clone(),
            penalty_matrix: self.penalty_matrix.as_ref().map(matrix),
        };
        ready.penalty().map_err(|error| error.raise(py))?;
        Ok(ready)
    }

    /// The rows in the order of their nodes; inside a node as they came.
    fn origin(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let node_of_row = self.node_of_row.as_array();
        let mut next = vec![0usize; self.nodes + 1];
        for &node in node_of_row.iter() {
            match usize::try_from(node) {
                Ok(node) if node < self.nodes => next[node + 1] += 1,
                _ => return Err(plain(py, "SizeError", &format!("there is no node number {node}"))),
            }
        }
        (0..self.nodes).for_each(|i| next[i + 1] += next[i]);
        let mut origin = vec![0; node_of_row.len()];
        for (row, &node) in node_of_row.iter().enumerate() {
            let place = &mut next[node as usize];
            origin[*place] = row;
            *place += 1;
        }
        Ok(origin)
    }

    fn dataset(&self, origin: &[usize]) -> fedweave::Result<Dataset> {
        let x = self.x.as_array();
        if x.nrows() != origin.len() {
            return Err(fedweave::Error::Size { what: "rows of X", expected: origin.len(), found: x.nrows() });
        }
        let cols = x.ncols() + usize::from(self.intercept);
        let mut sorted = Matrix::zeros(origin.len(), cols);
        for (to, &from) in origin.iter().enumerate() {
            let row = sorted.row_mut(to);
            row.iter_mut().zip(x.row(from)).for_each(|(to, from)| *to = *from);
            if self.intercept {
                row[cols - 1] = 1.0;
            }
        }
        let mut offsets = vec![0; self.nodes + 1];
        self.node_of_row.as_array().iter().for_each(|&node| offsets[node as usize + 1] += 1);
        (0..self.nodes).for_each(|i| offsets[i + 1] += offsets[i]);
        let pick = |array: &Option<PyReadonlyArray1<'_, f64>>, otherwise: f64| match array {
            // A wrong length is for the dataset to refuse.
            Some(array) if array.as_array().len() == origin.len() => {
                let array = array.as_array();
                origin.iter().map(|&row| array[row]).collect()
            }
            Some(array) => array.as_array().to_vec(),
            None => vec![otherwise; origin.len()],
        };
        Dataset::new(offsets, sorted, pick(&self.y, 0.0), pick(&self.weight, 1.0))
    }

    fn graph(&self) -> fedweave::Result<Graph> {
        let (heads, tails, weights) = (self.heads.as_array(), self.tails.as_array(), self.edge_weights.as_array());
        // An end that is no index becomes one beyond the nodes, which the graph refuses.
        let index = |i: i64| usize::try_from(i).unwrap_or(usize::MAX);
        let edges: Vec<_> =
            heads.iter().zip(&tails).zip(&weights).map(|((&i, &j), &a)| (index(i), index(j), a)).collect();
        Graph::new(self.nodes, &edges)
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

/// A copy of an array.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let array = array.as_array();
    let mut matrix = Matrix::zeros(array.nrows(), array.ncols());
    for (i, row) in array.outer_iter().enumerate() {
        matrix.row_mut(i).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
    }
    matrix
}
