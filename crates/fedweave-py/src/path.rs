//! The solution as a function of lambda.

use fedweave::graph::partition::Partition;
use fedweave::path::{Breakpoint, PathPoint};
use fedweave::tune::Errors;
use fedweave_run::path::{PathResult, path_of, path_report, summary};
use fedweave_run::request::PathRequest;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{of_job, plain};
use crate::fit::{Told, json};
use crate::outcome::{by_node, labels, put_fit};
use crate::task::Task;
use crate::watch::{Done, work};

/// Solves a grid of lambda. `partition` labels nodes; `clusters` is the number of clusters of the value to choose. The dictionary holds
/// `interrupt`, an exception, if one stopped it early, and the fit of the chosen value.
#[pyfunction]
#[pyo3(signature = (task, partition, clusters))]
pub fn path<'py>(
    py: Python<'py>,
    task: Task<'py>,
    partition: Option<Vec<String>>,
    clusters: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let request = PathRequest::of_memory(&task.settings()?, task.matrix(), partition);
    let request = PathRequest { clusters, ..request.map_err(|error| of_job(py, &error, &[]))? };
    let (input, origin) = task.input(py)?;
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        let Some(result) = path_of(request, input, &**line)? else { return Ok(None) };
        Ok(Some(Told { summary: json(&summary(&result)?), report: json(&path_report(&result)?), result }))
    })?;
    let Done { value, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    let Some(told) = value else {
        let none = || plain(py, "ParameterError", "time_limit: it was over before the first value of lam was solved");
        return Err(interrupt.unwrap_or_else(none));
    };
    let out = put(py, &told.result)?;
    told.put_words(&out, interrupt)?;
    Ok(out)
}

fn put<'py>(py: Python<'py>, result: &PathResult) -> PyResult<Bound<'py, PyDict>> {
    let (out, order, fit) = (PyDict::new(py), result.increasing(), PyDict::new(py));
    let points: Vec<&PathPoint> = order.iter().map(|&k| &result.path.points[k]).collect();
    let (nodes, dim) = (result.fit.input.names.len(), result.fit.problem.dim());
    let column = |of: fn(&PathPoint) -> f64| PyArray1::from_iter(py, points.iter().map(|p| of(p)));
    out.set_item("lams", column(|p| p.lambda))?;
    out.set_item("objective", column(|p| p.objective))?;
    out.set_item("certified_gap", column(|p| p.certified_gap.unwrap_or(f64::NAN)))?;
    out.set_item("n_clusters", PyArray1::from_iter(py, points.iter().map(|p| p.partition.len() as i64)))?;
    let parts = points.iter().map(|p| labels(py, &p.partition as &Partition, nodes)).collect::<Vec<_>>();
    out.set_item("labels", parts)?;
    out.set_item("status", points.iter().map(|p| p.status.to_string()).collect::<Vec<_>>())?;
    // With a common mean there is a row more.
    let (size, step) = (nodes * dim, result.models.len() / points.len());
    let models = order.iter().flat_map(|&k| result.models[k * step..k * step + size].iter().copied());
    out.set_item("w", PyArray1::from_iter(py, models).reshape([points.len(), nodes, dim])?)?;
    let errors = order.iter().map(|&k| &result.errors[k]);
    let (train, validation): (Vec<&Errors>, Vec<Option<&Errors>>) =
        errors.map(|e| (&e.train, e.validation.as_ref())).unzip();
    out.set_item("train", by_node(py, &train)?)?;
    let validation: Option<Vec<&Errors>> = validation.into_iter().collect();
    out.set_item("validation", validation.map(|all| by_node(py, &all)).transpose()?)?;
    out.set_item("lambda_max", result.lambda_max.as_ref().map(|b| b.above).filter(|top| *top > 0.0))?;
    out.set_item("stopped", result.path.stopped.map(|status| status.to_string()))?;
    let bracket = |b: &Breakpoint| (b.below, b.above);
    out.set_item("breakpoints", result.path.breakpoints.iter().map(bracket).collect::<Vec<_>>())?;
    out.set_item("chosen", order.iter().position(|&k| k == result.chosen))?;
    out.set_item("chosen_because", result.why)?;
    put_fit(&fit, &result.fit)?;
    out.set_item("fit", fit)?;
    Ok(out)
}
