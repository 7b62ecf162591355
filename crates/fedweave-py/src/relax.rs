//! FedRelax on predictions: models of any class at the nodes, ours or Python's.

use std::sync::Arc;
use std::time::Instant;

use fedweave::model::relax::{Discrepancy, PublicRows, PublicSource, Relax, RelaxOptions, sample_public, seed_of};
use fedweave::model::{LocalModel, Task};
use fedweave::scaling::Scaling;
use fedweave::tune::Errors;
use fedweave::{Dataset, Error, Graph, Matrix};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{plain, raised};
use crate::models::{Handle, Kept, Wish, task_of};
use crate::rows::{Grouped, Rows, matrix};
use crate::watch::{Done, Line, work};

/// A request.
#[derive(FromPyObject)]
pub struct RelaxTask<'py> {
    rows: Rows<'py>,
    /// One per node: a text that describes one of our models, or an adapter.
    models: Vec<Bound<'py, PyAny>>,
    /// Zero for regression.
    classes: usize,
    public: Public<'py>,
    lam: f64,
    rounds: usize,
    order: String,
    judged_on: String,
    row_weights: String,
    distil: usize,
    standardize: bool,
    /// Measure objective and errors after every round.
    track: bool,
    threads: usize,
    time_limit: Option<f64>,
    seed: u64,
}

/// Public rows: given (one dataset for all nodes, or one each), or drawn.
#[derive(FromPyObject)]
pub struct Public<'py> {
    given: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    source: String,
    rows: usize,
}

/// Public rows to be, without Python.
pub enum PublicWish {
    Given(Vec<Matrix>),
    Drawn(PublicSource, usize),
}

impl Public<'_> {
    pub fn wish(&self, py: Python<'_>) -> PyResult<PublicWish> {
        match &self.given {
            Some(given) => Ok(PublicWish::Given(given.iter().map(matrix).collect())),
            None => Ok(PublicWish::Drawn(word(py, "public", &self.source, &PublicSource::NAMES)?, self.rows)),
        }
    }
}

impl PublicWish {
    /// The rows in the features of the models, and where they come from, in words.
    pub fn rows(
        self,
        data: &Dataset,
        scaling: Option<&Scaling>,
        seed: u64,
    ) -> fedweave::Result<(Vec<PublicRows>, String)> {
        match self {
            PublicWish::Drawn(source, rows) => {
                Ok((sample_public(data, source, rows, seed)?, source.describe(data, rows)))
            }
            PublicWish::Given(given) => {
                let count: usize = given.iter().map(Matrix::rows).sum();
                let whose = if given.len() == 1 { "the same for all nodes" } else { "each of its node" };
                let scaled = |mut x: Matrix| {
                    if let Some(scaling) = scaling.filter(|s| s.dim() == x.cols()) {
                        scaling.apply_rows(&mut x);
                    }
                    PublicRows::new(x)
                };
                let rows = given.into_iter().map(scaled).collect::<fedweave::Result<_>>()?;
                Ok((rows, format!("{count} public rows, {whose}")))
            }
        }
    }
}

/// One of some words.
pub fn word<T: Copy>(py: Python<'_>, what: &str, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(word, _)| *word == name).map(|(_, value)| *value);
    found.ok_or_else(|| plain(py, "ParameterError", &format!("{what} {name:?} is unknown")))
}

/// A training without Python.
struct Training {
    data: Dataset,
    graph: Graph,
    task: Task,
    wishes: Vec<Wish>,
    public: PublicWish,
    options: RelaxOptions,
    rounds: usize,
    standardize: bool,
    track: bool,
}

struct Trained {
    models: Vec<Kept>,
    local: Vec<Kept>,
    history: Vec<Round>,
    status: &'static str,
    scaling: Option<Scaling>,
    public: String,
    seconds: f64,
}

struct Round {
    objective: f64,
    train: f64,
    messages: u64,
    bytes: u64,
}

/// Trains the models. The dictionary holds `interrupt`, an exception, if one stopped it early.
#[pyfunction]
pub fn relax<'py>(py: Python<'py>, task: RelaxTask<'py>) -> PyResult<Bound<'py, PyDict>> {
    let Grouped { data, origin, graph } = task.rows.grouped(py)?;
    let kind = task_of(task.classes);
    let training = Training {
        data,
        graph,
        task: kind,
        wishes: Wish::all(&task.models, kind)?,
        public: task.public.wish(py)?,
        options: RelaxOptions {
            lambda: task.lam,
            order: word(py, "order", &task.order, &RelaxOptions::ORDERS)?,
            judged_on: word(py, "judged_on", &task.judged_on, &RelaxOptions::JUDGED_ON)?,
            weighting: word(py, "row_weights", &task.row_weights, &RelaxOptions::WEIGHTINGS)?,
            distil: task.distil,
            seed: task.seed,
            ..RelaxOptions::default()
        },
        rounds: task.rounds,
        standardize: task.standardize,
        track: task.track,
    };
    let Done { value, interrupt } = work(py, task.threads, task.time_limit, None, |line| training.run(line))?;
    let failure = match (value, interrupt) {
        (Ok(trained), interrupt) => {
            let out = trained.put(py)?;
            out.set_item("interrupt", interrupt.map(|error| error.into_value(py)))?;
            return Ok(out);
        }
        (Err(_), Some(interrupt)) => interrupt,
        (Err(error), None) => raised(py, &error, &origin),
    };
    Err(failure)
}

impl Training {
    fn run(self, line: &Arc<Line>) -> fedweave::Result<Trained> {
        let started = Instant::now();
        let n = self.graph.nodes();
        if self.wishes.len() != n {
            return Err(Error::Size { what: "models, one per node", expected: n, found: self.wishes.len() });
        }
        let scaling = self.standardize.then(|| Scaling::centred(&self.data));
        let data = match &scaling {
            Some(scaling) => scaling.apply(&self.data),
            None => self.data,
        };
        let (public, words) = self.public.rows(&data, scaling.as_ref(), self.options.seed)?;
        let (mut models, mut handles) = (Vec::<Box<dyn LocalModel>>::new(), Vec::new());
        for (node, wish) in self.wishes.iter().enumerate() {
            let seed = seed_of(self.options.seed, node);
            let model = wish.build(self.task, seed, line).map_err(|source| Error::Spec { node, source })?;
            handles.push(model.handle(seed));
            models.push(Box::new(model));
        }
        let mut relax = Relax::with_models(&self.graph, &data, self.task, models, public, self.options)?;
        let local = keep(&relax, &handles)?;
        let mut history = vec![look(&relax, &data, self.track)?];
        let mut status = "finished";
        for _ in 0..self.rounds {
            if line.late() {
                status = "time-limit";
                break;
            }
            match relax.round().and_then(|()| look(&relax, &data, self.track)) {
                Ok(round) => history.push(round),
                // The models are what they were when somebody interrupted: some of this round, some of the one before.
                Err(_) if line.stopped() => {
                    status = "interrupted";
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let models = keep(&relax, &handles)?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(Trained { models, local, history, status, scaling, public: words, seconds })
    }
}

fn keep(relax: &Relax, handles: &[Handle]) -> fedweave::Result<Vec<Kept>> {
    let kept =
        |(node, handle): (usize, &Handle)| handle.keep(relax.model(node)).map_err(|source| Error::Fit { node, source });
    handles.iter().enumerate().map(kept).collect()
}

fn look(relax: &Relax, data: &Dataset, track: bool) -> fedweave::Result<Round> {
    let by = match relax.task() {
        Task::Regression => Discrepancy::Squared,
        Task::Classification { .. } => Discrepancy::Misclassified,
    };
    let (objective, train) = match track {
        true => (relax.objective(Discrepancy::Squared)?, Errors { by_node: relax.errors(data, by)? }.mean()),
        false => (f64::NAN, None),
    };
    let (messages, bytes) = (relax.traffic().messages(), relax.traffic().bytes());
    Ok(Round { objective, train: train.unwrap_or(f64::NAN), messages, bytes })
}

impl Trained {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        let objects = |kept: &[Kept]| kept.iter().map(|k| k.object(py)).collect::<PyResult<Vec<_>>>();
        out.set_item("models", objects(&self.models)?)?;
        out.set_item("local", objects(&self.local)?)?;
        let history = PyDict::new(py);
        let numbers = |of: fn(&Round) -> f64| PyArray1::from_iter(py, self.history.iter().map(of));
        let counts = |of: fn(&Round) -> u64| PyArray1::from_iter(py, self.history.iter().map(|r| of(r) as i64));
        history.set_item("round", PyArray1::from_iter(py, 0..self.history.len() as i64))?;
        history.set_item("objective", numbers(|r| r.objective))?;
        history.set_item("train_error", numbers(|r| r.train))?;
        history.set_item("messages", counts(|r| r.messages))?;
        history.set_item("bytes", counts(|r| r.bytes))?;
        out.set_item("history", history)?;
        out.set_item("status", self.status)?;
        out.set_item("public", &self.public)?;
        out.set_item("seconds", self.seconds)?;
        out.set_item("scaling", put_scaling(py, self.scaling.as_ref())?)?;
        Ok(out)
    }
}

/// Means and scales of the features, or nothing.
pub fn put_scaling<'py>(py: Python<'py>, scaling: Option<&Scaling>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(scaling) = scaling else { return Ok(None) };
    let pair = (PyArray1::from_slice(py, scaling.mean()), PyArray1::from_slice(py, scaling.scale()));
    Ok(Some(pair.into_pyobject(py)?.into_any()))
}
