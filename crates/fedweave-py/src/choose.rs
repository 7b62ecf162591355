//! Choosing lambda on held-out rows.

use fedweave::Dataset;
use fedweave::compare::trial_rows;
use fedweave::solve::Record;
use fedweave::split::{Part, Split, SplitSpec, split};
use fedweave::tune::{Rule, Tuning, lambda_grid, tune_rows};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{plain, raised};
use crate::task::{Ready, Task};
use crate::watch::{Done, Line, work};

/// Holds a fifth of the rows of every node out; `None` if no node has enough.
pub fn hold_out(ready: &Ready, seed: u64) -> fedweave::Result<Option<Split>> {
    let split = split(&ready.data, None, &SplitSpec { seed, ..SplitSpec::default() })?;
    Ok(split.part.contains(&Part::Validation).then_some(split))
}

/// Tries values of lambda on the training rows of `split`: those of `lambdas`, or a grid of its own that may grow.
pub fn try_lambdas(ready: &Ready, split: &Split, lambdas: Option<&[f64]>, line: &Line) -> fedweave::Result<Tuning> {
    let (train, validation) = trial_rows(&ready.data, split, Part::Validation);
    let scaling = ready.scaling(&train);
    let scaled = |rows: Dataset| match &scaling {
        Some(scaling) => scaling.apply(&rows),
        None => rows,
    };
    let (train, validation) = (scaled(train), scaled(validation));
    let mut problem = ready.problem(train.clone(), 0.0)?;
    let grid = match lambdas {
        Some(lambdas) => lambdas.to_vec(),
        None => lambda_grid(&mut problem, &mut |record| line.see(record))?,
    };
    let (open, settings) = (lambdas.is_none(), ready.settings.quick());
    let watch = &mut |k: usize, record: &Record| line.see_piece(k, record);
    tune_rows(&mut problem, &ready.loss, &train, &validation, &grid, open, Rule::Minimum, &settings, watch)
}

/// A grid of lambda for the task: from one model per component to nearly independent ones.
#[pyfunction]
pub fn grid<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let ready = task.ready(py)?;
    let Done { value, interrupt } = work(py, task.threads, task.time_limit, None, |line| {
        let scaling = ready.scaling(&ready.data);
        let rows = scaling.map_or_else(|| ready.data.clone(), |s| s.apply(&ready.data));
        let mut problem = ready.problem(rows, 0.0)?;
        lambda_grid(&mut problem, &mut |record| line.see(record))
    })?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let grid = value.map_err(|error| raised(py, &error, &ready.origin))?;
    Ok(PyArray1::from_vec(py, grid))
}

/// Errors of models for every lambda, trained without the rows of `held` and judged on them, a column per node.
#[pyfunction]
pub fn validate<'py>(
    py: Python<'py>,
    task: Task<'py>,
    held: PyReadonlyArray1<'py, bool>,
    lambdas: Vec<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let ready = task.ready(py)?;
    let held = held.as_array();
    if held.len() != ready.origin.len() {
        return Err(plain(py, "SizeError", "one mark per row: is it held out?"));
    }
    let part = ready.origin.iter().map(|&row| if held[row] { Part::Validation } else { Part::Train }).collect();
    let split = Split { part };
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let Done { value, interrupt } =
        work(py, task.threads, task.time_limit, progress, |line| try_lambdas(&ready, &split, Some(&lambdas), line))?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let tuning = value.map_err(|error| raised(py, &error, &ready.origin))?;
    let out = PyDict::new(py);
    put_tuning(&out, &tuning)?;
    Ok(out)
}

/// Puts what was tried into `out`: lambda by lambda, largest first, the error of each node (NaN without rows).
pub fn put_tuning(out: &Bound<'_, PyDict>, tuning: &Tuning) -> PyResult<()> {
    let py = out.py();
    let errors = |of: fn(&fedweave::tune::Tried) -> &fedweave::tune::Errors| -> PyResult<Bound<'_, PyArray2<f64>>> {
        let all = tuning.tried.iter().flat_map(|t| of(t).by_node.iter().map(|e| e.unwrap_or(f64::NAN)));
        let nodes = tuning.tried.first().map_or(0, |t| of(t).by_node.len());
        PyArray1::from_iter(py, all).reshape([tuning.tried.len(), nodes])
    };
    out.set_item("lams", PyArray1::from_iter(py, tuning.tried.iter().map(|t| t.lambda)))?;
    out.set_item("train", errors(|t| &t.train)?)?;
    out.set_item("validation", errors(|t| &t.validation)?)?;
    out.set_item("chosen", tuning.chosen)
}
