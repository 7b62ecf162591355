//! How much it takes to do harm.

use fedweave_run::request::AttackRequest;
use fedweave_run::trust::attack::attack as attack_job;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::task::Task;
use crate::watch::{Done, work};

/// Attacks with one node, two nodes, ...: what was achieved as JSON, and in words.
#[pyfunction]
pub fn attack<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = AttackRequest::of_memory(&task.settings()?, task.matrix());
    let request = request.map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        let result = attack_job(request, input, &**line)?;
        Ok((result.summary().to_string(), result.text()))
    })?;
    let Done { value: (summary, text), interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let out = PyDict::new(py);
    out.set_item("summary", summary)?;
    out.set_item("text", text)?;
    Ok(out)
}
