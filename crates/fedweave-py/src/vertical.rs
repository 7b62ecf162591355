//! Columns that several parties hold.

use fedweave::loss::Family;
use fedweave::vertical::VerticalOptions;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{plain, raised};
use crate::rows::matrix;

/// One model of the columns of all parties; `holder` has the labels.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the keyword arguments of the face")]
pub fn fit_vertical<'py>(
    py: Python<'py>,
    parties: Vec<PyReadonlyArray2<'py, f64>>,
    y: PyReadonlyArray1<'py, f64>,
    holder: usize,
    loss: &str,
    ridge: f64,
    intercept: bool,
    standardize: bool,
    tolerance: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(family) = Family::named(loss, 1.0, 0.5) else {
        return Err(plain(py, "ParameterError", &format!("loss {loss:?}: unknown; use squared, logistic or poisson")));
    };
    let x: Vec<_> = parties.iter().map(matrix).collect();
    let y = y.as_array().to_vec();
    let options = VerticalOptions { family, ridge, intercept, standardize, tolerance };
    let fit = py.detach(|| fedweave::vertical::fit_vertical(&x, holder, &y, &options));
    let fit = fit.map_err(|error| raised(py, &error, &[]))?;
    let out = PyDict::new(py);
    let coefficients: Vec<_> = fit.w.iter().map(|w| PyArray1::from_slice(py, w)).collect();
    out.set_item("coef", coefficients)?;
    out.set_item("intercept", fit.intercept.unwrap_or(0.0))?;
    out.set_item("objective", fit.objective)?;
    out.set_item("converged", fit.converged)?;
    out.set_item("steps", fit.steps)?;
    out.set_item("rounds", fit.traffic.rounds())?;
    out.set_item("messages", fit.traffic.messages())?;
    out.set_item("bytes_sent", fit.traffic.bytes_by_node().to_vec())?;
    Ok(out)
}
