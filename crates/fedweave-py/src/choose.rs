//! For cross-validation, which splits rows in Python: a grid of lambda, and errors on rows held out by others.

use fedweave::Problem;
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, Tuning};
use fedweave_run::checks::{Checked, check, refuse_runaway};
use fedweave_run::held_out::{HeldOutRows, grid_of};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{of_job, plain};
use crate::outcome::put_tuning;
use crate::task::{Ready, Task};
use crate::watch::{Done, work};

/// The task, once its data are known to be good.
fn checked(py: Python<'_>, task: &Task<'_>) -> PyResult<(Ready, Checked)> {
    let ready = task.assembled(py)?;
    let Ready { request, input, loss, .. } = &ready;
    let lambda = request.lambda.fixed.unwrap_or(1.0);
    let made = check(&request.model, input, loss).and_then(|checked| {
        refuse_runaway(&request.model, input, loss, &input.data, lambda, &request.model.options)?;
        Ok(checked)
    });
    let checked = made.map_err(|error| of_job(py, &error, &ready.origin))?;
    Ok((ready, checked))
}

/// A grid of lambda for the task: from one model per component to nearly independent ones.
#[pyfunction]
pub fn grid<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (Ready { request, input, origin, penalty, .. }, Checked { loss, .. }) = checked(py, &task)?;
    let done = work(py, task.threads, None, |line| {
        let mut problem = Problem::build(input.graph, loss, penalty, 0.0)?;
        grid_of(&request, &mut problem, &**line)
    })?;
    let Done { value, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    interrupt.map_or_else(|| Ok(PyArray1::from_vec(py, value)), Err)
}

/// Errors of models for every lambda, trained without the rows of `held` and judged on them, a column per node.
#[pyfunction]
pub fn validate<'py>(
    py: Python<'py>,
    task: Task<'py>,
    held: PyReadonlyArray1<'py, bool>,
) -> PyResult<Bound<'py, PyDict>> {
    let (Ready { request, input, origin, loss, .. }, _) = checked(py, &task)?;
    let held = held.as_array();
    if held.len() != origin.len() {
        return Err(plain(py, "SizeError", "one mark per row: is it held out?"));
    }
    let part = origin.iter().map(|&row| if held[row] { Part::Validation } else { Part::Train }).collect();
    let split = Split { part };
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        HeldOutRows::new(&request, &input, &loss, &split).tune(&request, &input, &**line)
    })?;
    let Done { value, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    let tuning: Tuning = interrupt.map_or(Ok(value), Err)?;
    let out = PyDict::new(py);
    put_tuning(&out, &tuning)?;
    let means = tuning.tried.iter().map(|t| Errors::mean(&t.validation).unwrap_or(f64::NAN));
    out.set_item("mean", PyArray1::from_iter(py, means))?;
    Ok(out)
}
