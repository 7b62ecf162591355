//! Active sampling: nodes that learn from whoever's answer helps most on their own rows.

use std::collections::HashMap;

use fedweave::scaling::Scaling;
use fedweave_run::Error as JobError;
use fedweave_run::ask::{Lesson, Taught, ask, ask_with};
use fedweave_run::relax::task as task_of_job;
use fedweave_run::request::AskRequest;
use fedweave_run::request::ask::Learner;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::of_job;
use crate::models::{Kept, Wish};
use crate::relax::{matrices, put_scaling};
use crate::task::Task;
use crate::watch::{Done, work};

/// A request.
#[derive(FromPyObject)]
pub struct AskTask<'py> {
    task: Task<'py>,
    /// By the name of a node that may ask: a text or an adapter; none for gradient steps on a linear model.
    models: Option<HashMap<String, Bound<'py, PyAny>>>,
    /// Public rows: one array for all nodes, or one each; drawn if there are none.
    public: Option<Vec<PyReadonlyArray2<'py, f64>>>,
}

/// What the nodes learnt: from whom, and a model or the parameters of one.
struct Learnt {
    lessons: Vec<Lesson>,
    models: Option<Vec<Kept>>,
    w: Vec<Vec<f64>>,
    scaling: Option<Scaling>,
    notices: Vec<String>,
}

/// Lets the nodes ask.
#[pyfunction]
pub fn active<'py>(py: Python<'py>, task: AskTask<'py>) -> PyResult<Bound<'py, PyDict>> {
    let AskTask { task, models, public } = task;
    let request = AskRequest::of_memory(&task.settings()?, models.is_some(), matrices(public.as_ref()));
    let request = request.map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let raise = |error: JobError| of_job(py, &error, &origin);
    let mut wishes = HashMap::new();
    if let (Some(models), Learner::Fits(relax)) = (&models, &request.learner) {
        let kind = task_of_job(relax, &input).map_err(raise)?;
        for (node, name) in input.names.iter().enumerate() {
            let Some(wish) = models.get(name) else { continue };
            wishes.insert(node, Wish::of(wish, name, kind)?);
        }
    }
    let done = work(py, task.threads, None, |line| match request.learner.clone() {
        Learner::Gradients(_) => {
            let result = ask(request, input, &**line)?;
            let w = match &result.taught {
                Taught::Parameters(_, w) => (0..w.rows()).map(|i| w.row(i).to_vec()).collect(),
                Taught::Models(..) => Vec::new(),
            };
            Ok(Learnt { lessons: result.lessons, models: None, w, scaling: None, notices: result.notices })
        }
        Learner::Fits(relax) => {
            let kind = task_of_job(&relax, &input)?;
            let blank = &|node: usize, kind, seed| wishes[&node].build(kind, seed, line);
            let taught = ask_with(&request, &relax, &input, kind, blank, &**line)?;
            let models = taught.models.iter().map(|model| model.keep()).collect();
            let (lessons, scaling, notices) = (taught.lessons, taught.scaling, taught.notices);
            Ok(Learnt { lessons, models: Some(models), w: Vec::new(), scaling, notices })
        }
    })?;
    let Done { value, interrupt } = done.or_raise(raise)?;
    interrupt.map_or_else(|| value.put(py), Err)
}

impl Learnt {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (out, pupils) = (PyDict::new(py), PyList::empty(py));
        for (k, lesson) in self.lessons.iter().enumerate() {
            let pupil = put_lesson(py, lesson)?;
            pupil.set_item("model", self.models.as_ref().map(|models| models[k].object(py)).transpose()?)?;
            pupil.set_item("w", self.w.get(k).map(|w| PyArray1::from_slice(py, w)))?;
            pupils.append(pupil)?;
        }
        out.set_item("pupils", pupils)?;
        out.set_item("scaling", put_scaling(py, self.scaling.as_ref())?)?;
        out.set_item("notices", &self.notices)?;
        Ok(out)
    }
}

fn put_lesson<'py>(py: Python<'py>, lesson: &Lesson) -> PyResult<Bound<'py, PyDict>> {
    let (out, told) = (PyDict::new(py), &lesson.told);
    out.set_item("node", lesson.node)?;
    out.set_item("candidate", PyArray1::from_iter(py, told.iter().map(|t| t.candidate as i64)))?;
    out.set_item("reward", PyArray1::from_iter(py, told.iter().map(|t| t.reward)))?;
    out.set_item("loss", PyArray1::from_iter(py, told.iter().map(|t| t.loss)))?;
    let shape = [told.len(), told.first().map_or(0, |t| t.asked.len())];
    let all = || told.iter().flat_map(|t| &t.asked);
    out.set_item("asked", PyArray1::from_iter(py, all().map(|r| r.0 as i64)).reshape(shape)?)?;
    out.set_item("rewards", PyArray1::from_iter(py, all().map(|r| r.1)).reshape(shape)?)?;
    out.set_item("teachers", lesson.teachers.clone())?;
    out.set_item("bytes", lesson.bytes)?;
    Ok(out)
}
