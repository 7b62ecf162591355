//! Does the network help?

use fedweave_run::compare::{compare as compare_job, summary};
use fedweave_run::request::CompareRequest;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::fit::{Told, json};
use crate::task::Task;
use crate::watch::{Done, work};

/// Compares methods on held-out rows: a summary, a report, and the mean test error of every node by method.
#[pyfunction]
pub fn compare<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = CompareRequest::of_memory(&task.settings()?, task.matrix());
    let request = request.map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        let result = compare_job(request, input, &**line)?;
        Ok(Told { summary: json(&summary(&result)), report: json(&result.report()), result })
    })?;
    let Done { value: told, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let (out, errors) = (PyDict::new(py), PyDict::new(py));
    for method in told.result.methods() {
        let of_node = |i: usize| told.result.node_error(method, i);
        errors.set_item(method.name, (0..told.result.input.names.len()).map(of_node).collect::<Vec<_>>())?;
    }
    out.set_item("by_node", errors)?;
    told.put_words(&out, None)?;
    Ok(out)
}
