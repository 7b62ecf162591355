//! Models at nodes: ours, and estimators of Python, asked when needed.

use std::sync::{Arc, Mutex, PoisonError};

use fedweave::matrix::Rows;
use fedweave::model::{FitError, Fitted, Local, LocalModel, ModelSpec, SpecError, Task, Workspace};
use fedweave_run::Error as JobError;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{of_job, plain};
use crate::watch::Line;

/// What Python asks for at a node: the description of one of our models, or an adapter around an estimator, with
/// `fit(x, y, weight)`, which returns a fitted adapter and leaves the old one as it is, and `outputs(x)`.
#[derive(Clone)]
pub enum Wish {
    Ours(ModelSpec),
    Theirs(Arc<Py<PyAny>>),
}

impl Wish {
    /// The wishes of a list, one per node.
    pub fn all(list: &[Bound<'_, PyAny>], names: &[String], task: Task) -> PyResult<Vec<Wish>> {
        list.iter().zip(names).map(|(wish, name)| Wish::of(wish, name, task)).collect()
    }

    /// The wish of a node.
    pub fn of(wish: &Bound<'_, PyAny>, name: &str, task: Task) -> PyResult<Wish> {
        let Ok(text) = wish.cast::<PyString>() else { return Ok(Wish::Theirs(Arc::new(wish.clone().unbind()))) };
        let spec = text.to_str()?.parse::<ModelSpec>().and_then(|spec| spec.check(task).map(|()| spec));
        let error =
            |e: SpecError| of_job(wish.py(), &JobError::Node { name: name.into(), message: e.to_string() }, &[]);
        spec.map(Wish::Ours).map_err(error)
    }

    /// A model that is not fitted yet; ours get their random numbers from `seed`.
    pub fn build(&self, task: Task, seed: u64, line: &Arc<Line>) -> Result<NodeModel, SpecError> {
        let kind = match self {
            Wish::Ours(spec) => Kind::Ours(Local::new(spec.clone(), task, seed)?),
            Wish::Theirs(adapter) => Kind::Theirs(Cell::new(adapter.clone()), task),
        };
        Ok(NodeModel { kind, line: line.clone() })
    }
}

/// The model of a node in training. Fits end at once after an interrupt.
#[derive(Clone)]
pub struct NodeModel {
    kind: Kind,
    line: Arc<Line>,
}

/// What a pickled model is made from again: its class, the number of classes, what it learnt.
type Arguments = (String, usize, Option<String>);

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // one per node: a box would cost more than it saves
enum Kind {
    Ours(Local),
    Theirs(Cell, Task),
}

/// An adapter that others may look at; a clone is another cell.
pub struct Cell(Arc<Mutex<Arc<Py<PyAny>>>>);

impl Cell {
    fn new(adapter: Arc<Py<PyAny>>) -> Self {
        Cell(Arc::new(Mutex::new(adapter)))
    }

    fn read(&self) -> Arc<Py<PyAny>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn write(&self, adapter: Arc<Py<PyAny>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = adapter;
    }
}

impl Clone for Cell {
    fn clone(&self) -> Self {
        Cell::new(self.read())
    }
}

/// What is looked at later: our models can be read from the network, estimators cannot.
pub enum Handle {
    Ours(ModelSpec, u64),
    Theirs(Cell),
}

impl NodeModel {
    /// To look at this very model later.
    pub fn handle(&self, seed: u64) -> Handle {
        match &self.kind {
            Kind::Ours(local) => Handle::Ours(local.spec().clone(), seed),
            Kind::Theirs(cell, _) => Handle::Theirs(Cell(cell.0.clone())),
        }
    }

    /// The model as it is now.
    pub fn keep(&self) -> Kept {
        match &self.kind {
            Kind::Ours(local) => Kept::Ours(Box::new(local.clone())),
            Kind::Theirs(cell, _) => Kept::Theirs(cell.read()),
        }
    }
}

impl Handle {
    /// The model as it is now; `model` is what the network shows of it.
    pub fn keep(&self, model: &dyn LocalModel) -> Result<Kept, FitError> {
        match self {
            Handle::Theirs(cell) => Ok(Kept::Theirs(cell.read())),
            Handle::Ours(spec, seed) => {
                let blank = || Local::new(spec.clone(), model.task(), *seed);
                let local = match model.fitted() {
                    Some(fitted) => Local::load(spec.clone(), *seed, fitted)?,
                    None => blank().map_err(|e| FitError::Failed { model: "blank", what: e.to_string() })?,
                };
                Ok(Kept::Ours(Box::new(local)))
            }
        }
    }
}

/// A model that was trained.
pub enum Kept {
    Ours(Box<Local>),
    Theirs(Arc<Py<PyAny>>),
}

impl Kept {
    /// As Python sees it: a [`Model`], or the adapter.
    pub fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Kept::Ours(local) => Ok(Py::new(py, Model { local: (**local).clone() })?.into_any()),
            Kept::Theirs(adapter) => Ok(adapter.clone_ref(py)),
        }
    }
}

impl LocalModel for NodeModel {
    fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Ours(local) => local.name(),
            Kind::Theirs(..) => "Python",
        }
    }

    fn task(&self) -> Task {
        match &self.kind {
            Kind::Ours(local) => local.task(),
            Kind::Theirs(_, task) => *task,
        }
    }

    fn fit(&mut self, x: Rows, y: Rows, weight: &[f64], work: &mut Workspace) -> Result<(), FitError> {
        match &mut self.kind {
            Kind::Ours(_) if self.line.stopped() => Err(ended()),
            Kind::Ours(local) => local.fit(x, y, weight, work),
            Kind::Theirs(cell, _) => {
                let (adapter, rows, weight) = (cell.read(), x.rows(), weight.to_vec());
                let (x, y) = ((x.as_slice().to_vec(), x.cols()), (y.as_slice().to_vec(), y.cols()));
                let fit = move |py: Python<'_>| -> PyResult<Arc<Py<PyAny>>> {
                    let [x, y] = [x, y].map(|(v, cols)| PyArray1::from_vec(py, v).reshape([rows, cols]));
                    let made = adapter.bind(py).call_method1("fit", (x?, y?, PyArray1::from_vec(py, weight)))?;
                    Ok(Arc::new(made.unbind()))
                };
                cell.write(self.line.ask(fit).ok_or_else(ended)?);
                Ok(())
            }
        }
    }

    fn predict(&self, x: Rows, out: &mut [f64]) -> Result<(), FitError> {
        let cell = match &self.kind {
            Kind::Ours(local) => return local.predict(x, out),
            Kind::Theirs(cell, _) => cell,
        };
        let (adapter, rows, cols, x) = (cell.read(), x.rows(), x.cols(), x.as_slice().to_vec());
        let ask = move |py: Python<'_>| -> PyResult<Vec<f64>> {
            let x = PyArray1::from_vec(py, x).reshape([rows, cols])?;
            let answer = adapter.bind(py).call_method1("outputs", (x,))?;
            let said: PyReadonlyArray2<'_, f64> = answer.extract()?;
            Ok(said.as_array().iter().copied().collect())
        };
        let said = self.line.ask(ask).ok_or_else(ended)?;
        match said.len() == out.len() {
            true => out.copy_from_slice(&said),
            false => return Err(FitError::Size { what: "predictions", expected: out.len(), found: said.len() }),
        }
        Ok(())
    }

    fn fitted(&self) -> Option<Fitted> {
        match &self.kind {
            Kind::Ours(local) => local.fitted(),
            Kind::Theirs(..) => None,
        }
    }
}

/// The exception itself is with the calling thread.
fn ended() -> FitError {
    FitError::Failed { model: "Python", what: "the work was ended".into() }
}

/// A trained model of the engine, as plain data.
#[pyclass(frozen, module = "fedweave._engine")]
pub struct Model {
    local: Local,
}

#[pymethods]
impl Model {
    /// The class and its options.
    #[getter]
    fn spec(&self) -> String {
        self.local.spec().to_string()
    }

    /// Numbers, or the positions of the most probable classes.
    fn predict<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.local.task().labels(&self.said(py, &x)?)))
    }

    /// A number, or the probability of every class, for every row.
    fn outputs<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        PyArray1::from_vec(py, self.said(py, &x)?).reshape([x.as_array().nrows(), self.local.task().outputs()])
    }

    /// A model from the arguments of `__reduce__`.
    #[staticmethod]
    fn load(py: Python<'_>, spec: &str, classes: usize, fitted: Option<&str>) -> PyResult<Self> {
        let wrong = |what: String| plain(py, "ModelError", &format!("a damaged model: {what}"));
        let spec: ModelSpec = spec.parse().map_err(|e: SpecError| wrong(e.to_string()))?;
        let local = match fitted {
            None => Local::new(spec, task_of(classes), 0).map_err(|e| wrong(e.to_string()))?,
            Some(text) => {
                let fitted: Fitted = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
                Local::load(spec, 0, fitted).map_err(|e| wrong(e.to_string()))?
            }
        };
        Ok(Model { local })
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, Arguments)> {
        let classes = match self.local.task() {
            Task::Regression => 0,
            Task::Classification { classes } => classes,
        };
        let text = self.local.fitted().map(|fitted| serde_json::to_string(&fitted)).transpose();
        let text = text.map_err(|e| plain(py, "ModelError", &e.to_string()))?;
        let load = py.get_type::<Model>().getattr("load")?.unbind();
        Ok((load, (self.spec(), classes, text)))
    }

    fn __repr__(&self) -> String {
        format!("<fedweave model: {}>", self.local.spec())
    }
}

impl Model {
    fn said(&self, py: Python<'_>, x: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<f64>> {
        let x = crate::rows::matrix(x);
        let mut out = vec![0.0; x.rows() * self.local.task().outputs()];
        let said = py.detach(|| self.local.predict(x.view(), &mut out));
        said.map_err(|e| plain(py, "ModelError", &e.to_string()))?;
        Ok(out)
    }
}

/// Zero classes: regression.
pub fn task_of(classes: usize) -> Task {
    match classes {
        0 => Task::Regression,
        classes => Task::Classification { classes },
    }
}
