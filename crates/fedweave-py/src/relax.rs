//! FedRelax on predictions: models of any class at the nodes, ours or Python's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedweave::Matrix;
use fedweave::model::relax::Relax;
use fedweave::model::{LocalModel, SpecError, Task as Kind};
use fedweave::scaling::Scaling;
use fedweave_run::intervals::Doubts;
use fedweave_run::relax::{ModelSource, RelaxRound, Relaxed, When, relax_with, task as task_of_job};
use fedweave_run::request::RelaxRequest;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::models::{Handle, Kept, Wish};
use crate::outcome::by_node;
use crate::rows::matrix;
use crate::task::Task;
use crate::watch::{Done, Line, work};

/// A request.
#[derive(FromPyObject)]
pub struct RelaxTask<'py> {
    task: Task<'py>,
    /// One per node: a text that describes one of our models, or an adapter.
    models: Vec<Bound<'py, PyAny>>,
    /// Public rows: one array for all nodes, or one each; drawn if there are none.
    public: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    /// Measure objective and errors after every round.
    track: bool,
}

/// Arrays as matrices.
pub fn matrices(given: Option<&Vec<PyReadonlyArray2<'_, f64>>>) -> Option<Vec<Matrix>> {
    given.map(|given| given.iter().map(matrix).collect())
}

/// The models that Python asks for, and what became of them.
struct Wished<'l> {
    wishes: Vec<Wish>,
    line: &'l Arc<Line>,
    /// Of the models that were built last.
    handles: Mutex<Vec<Option<Handle>>>,
    alone: Mutex<Vec<Kept>>,
    done: Mutex<Vec<Kept>>,
}

fn open<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelSource for Wished<'_> {
    fn build(&self, node: usize, task: Kind, seed: u64) -> Result<Box<dyn LocalModel>, SpecError> {
        let model = self.wishes[node].build(task, seed, self.line)?;
        open(&self.handles)[node] = Some(model.handle(seed));
        Ok(Box::new(model))
    }

    fn keep(&self, when: When, relax: &Relax) -> fedweave::Result<()> {
        let handles = open(&self.handles);
        let kept = handles.iter().enumerate().filter_map(|(node, handle)| Some((node, handle.as_ref()?)));
        let kept = kept.map(|(node, handle)| {
            handle.keep(relax.model(node)).map_err(|source| fedweave::Error::Fit { node, source })
        });
        let kept = kept.collect::<fedweave::Result<Vec<_>>>()?;
        *open(if when == When::Alone { &self.alone } else { &self.done }) = kept;
        Ok(())
    }
}

struct Trained {
    relaxed: Relaxed,
    models: Vec<Kept>,
    local: Vec<Kept>,
}

/// Trains the models. The dictionary holds `interrupt`, an exception, if one stopped it early.
#[pyfunction]
pub fn relax<'py>(py: Python<'py>, task: RelaxTask<'py>) -> PyResult<Bound<'py, PyDict>> {
    let RelaxTask { task, models, public, track } = task;
    let request = RelaxRequest::of_memory(&task.settings()?, matrices(public.as_ref()));
    let request = RelaxRequest { track, ..request.map_err(|error| of_job(py, &error, &[]))? };
    let (input, origin) = task.input(py)?;
    let kind = task_of_job(&request, &input).map_err(|error| of_job(py, &error, &origin))?;
    let wishes = Wish::all(&models, &input.names, kind)?;
    let done = work(py, task.threads, None, |line| {
        let handles = Mutex::new(wishes.iter().map(|_| None).collect());
        let source = Wished { wishes, line, handles, alone: Mutex::default(), done: Mutex::default() };
        let relaxed = relax_with(&request, &input, kind, &source, &**line)?;
        let (models, local) = (std::mem::take(&mut *open(&source.done)), std::mem::take(&mut *open(&source.alone)));
        Ok(Trained { relaxed, models, local })
    })?;
    let Done { value, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    let out = value.put(py)?;
    out.set_item("interrupt", interrupt.map(|error| error.into_value(py)))?;
    Ok(out)
}

impl Trained {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (out, relaxed) = (PyDict::new(py), &self.relaxed);
        let objects = |kept: &[Kept]| kept.iter().map(|k| k.object(py)).collect::<PyResult<Vec<_>>>();
        out.set_item("models", objects(&self.models)?)?;
        out.set_item("local", objects(&self.local)?)?;
        out.set_item("history", history(py, &relaxed.history)?)?;
        out.set_item("status", relaxed.status.to_string())?;
        out.set_item("public", &relaxed.public)?;
        out.set_item("seconds", relaxed.seconds)?;
        out.set_item("scaling", put_scaling(py, relaxed.scaling.as_ref())?)?;
        out.set_item("lam", relaxed.lambda)?;
        let nodes = self.models.len();
        out.set_item("intervals", Doubts::of_models(nodes, relaxed.calibration.clone()).to_json())?;
        if let Some(chosen) = &relaxed.chosen {
            let tried = PyDict::new(py);
            tried.set_item("lams", PyArray1::from_iter(py, chosen.tried.iter().map(|(lambda, _)| *lambda)))?;
            let errors: Vec<_> = chosen.tried.iter().map(|(_, errors)| errors).collect();
            tried.set_item("validation", by_node(py, &errors)?)?;
            out.set_item("tuning", tried)?;
        }
        if let Some(held) = &relaxed.held_out {
            let errors = PyDict::new(py);
            for (name, of) in [("networked", &held.validation), ("local", &held.local)] {
                errors.set_item(name, by_node(py, &[of])?.reshape([of.by_node.len()])?)?;
            }
            out.set_item("held_out", errors)?;
        }
        Ok(out)
    }
}

fn history<'py>(py: Python<'py>, rounds: &[RelaxRound]) -> PyResult<Bound<'py, PyDict>> {
    let history = PyDict::new(py);
    let numbers = |of: fn(&RelaxRound) -> f64| PyArray1::from_iter(py, rounds.iter().map(of));
    let counts = |of: fn(&RelaxRound) -> u64| PyArray1::from_iter(py, rounds.iter().map(|r| of(r) as i64));
    history.set_item("round", PyArray1::from_iter(py, 0..rounds.len() as i64))?;
    history.set_item("objective", numbers(|r| r.objective))?;
    history.set_item("train_error", numbers(|r| r.train.unwrap_or(f64::NAN)))?;
    history.set_item("validation_error", numbers(|r| r.validation.unwrap_or(f64::NAN)))?;
    history.set_item("messages", counts(|r| r.messages))?;
    history.set_item("bytes", counts(|r| r.bytes))?;
    Ok(history)
}

/// Means and scales of the features, or nothing.
pub fn put_scaling<'py>(py: Python<'py>, scaling: Option<&Scaling>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(scaling) = scaling else { return Ok(None) };
    let pair = (PyArray1::from_slice(py, scaling.mean()), PyArray1::from_slice(py, scaling.scale()));
    Ok(Some(pair.into_pyobject(py)?.into_any()))
}
