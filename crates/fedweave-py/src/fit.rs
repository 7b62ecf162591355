//! Fits: the rows of all nodes in, a model for every node out.

use fedweave_run::fit::{FitResult, fit as fit_job, report_of, summary};
use fedweave_run::request::FitRequest;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::outcome::put_fit;
use crate::task::Task;
use crate::watch::{Done, work};

/// Something finished, and what there is to say about it, as JSON.
pub struct Told<R> {
    pub result: R,
    pub summary: String,
    pub report: String,
}

impl<R> Told<R> {
    /// Puts the words into `out`.
    pub fn put_words(&self, out: &Bound<'_, PyDict>, interrupt: Option<PyErr>) -> PyResult<()> {
        out.set_item("summary", &self.summary)?;
        out.set_item("report", &self.report)?;
        out.set_item("interrupt", interrupt.map(|error| error.into_value(out.py())))
    }
}

/// A value as JSON.
pub fn json(value: &impl serde::Serialize) -> String {
    // Plain data without keys other than texts: there is nothing that cannot be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// Fits the task. The dictionary holds `interrupt`, an exception, if one stopped the solver early.
#[pyfunction]
pub fn fit<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = FitRequest::of_memory(&task.settings()?, task.matrix());
    let request = request.map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        let result: FitResult = fit_job(request, input, &**line)?;
        Ok(Told { summary: json(&summary(&result)?), report: json(&report_of(&result)?), result })
    })?;
    let Done { value: told, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    let out = PyDict::new(py);
    put_fit(&out, &told.result)?;
    told.put_words(&out, interrupt)?;
    Ok(out)
}
