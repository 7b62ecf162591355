//! What was found, as a dictionary of NumPy arrays.

use fedweave::graph::partition::Partition;
use fedweave::solve::{History, Record};
use fedweave::tune::{Errors, Tuning};
use fedweave::{Graph, Matrix};
use fedweave_run::fit::FitResult;
use fedweave_run::intervals::Doubts;
use fedweave_run::network_file::NetworkFile;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_job;
use crate::fit::json;

/// A matrix as an array.
pub fn table<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.as_slice()).reshape([matrix.rows(), matrix.cols()])
}

/// The part of every node.
pub fn labels<'py>(py: Python<'py>, partition: &Partition, nodes: usize) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, (0..nodes).map(|i| partition.part(i) as i64))
}

/// Errors, a column per node; NaN without rows.
pub fn by_node<'py>(py: Python<'py>, errors: &[&Errors]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let nodes = errors.first().map_or(0, |e| e.by_node.len());
    let all = errors.iter().flat_map(|e| e.by_node.iter().map(|e| e.unwrap_or(f64::NAN)));
    PyArray1::from_iter(py, all).reshape([errors.len(), nodes])
}

/// Puts a fit into `out`.
pub fn put_fit(out: &Bound<'_, PyDict>, fit: &FitResult) -> PyResult<()> {
    let (py, solution, clusters) = (out.py(), &fit.solution, &fit.clusters);
    out.set_item("w", table(py, &fit.parameters)?)?;
    out.set_item("status", solution.status.to_string())?;
    out.set_item("objective", solution.objective)?;
    out.set_item("certified_gap", solution.certified_gap)?;
    out.set_item("kkt_residual", solution.kkt.residual())?;
    out.set_item("iterations", solution.iterations)?;
    out.set_item("method", &solution.choice.method)?;
    out.set_item("lam", fit.problem.lambda())?;
    out.set_item("seconds", fit.seconds)?;
    out.set_item("intervals", Doubts::of_fit(fit).to_json())?;
    let network = NetworkFile::of(fit).map_err(|error| of_job(py, &error, &[]))?;
    out.set_item("network", network.as_ref().map(json))?;
    out.set_item("labels", labels(py, &clusters.partition, fit.input.names.len()))?;
    out.set_item("cluster_models", table(py, &clusters.models)?)?;
    out.set_item("fused", PyArray1::from_slice(py, &clusters.fused))?;
    out.set_item("history", history(py, &solution.history, fit.traffic.as_ref())?)?;
    if let Some(tuning) = &fit.tuning {
        let tried = PyDict::new(py);
        put_tuning(&tried, tuning)?;
        out.set_item("tuning", tried)?;
    }
    if let Some(held) = &fit.held_out {
        let errors = PyDict::new(py);
        let all =
            [("networked", Some(&held.validation)), ("local", Some(&held.local)), ("global", held.global.as_ref())];
        for (name, of) in all.into_iter().filter_map(|(name, of)| Some((name, of?))) {
            errors.set_item(name, by_node(py, &[of])?.reshape([of.by_node.len()])?)?;
        }
        out.set_item("held_out", errors)?;
    }
    match fit.problem.nodes() == fit.input.names.len() {
        true => out.set_item("u", table(py, &solution.u)?)?,
        false => out.set_item("u", table(py, &without_hub(fit))?)?,
    }
    put_edges(out, &fit.input.graph)
}

/// The flows of edges between nodes, without those to the common mean.
fn without_hub(fit: &FitResult) -> Matrix {
    let (graph, nodes) = (fit.problem.graph(), fit.input.names.len());
    let between = |e: &usize| graph.nodes_of(*e).0 < nodes && graph.nodes_of(*e).1 < nodes;
    let kept: Vec<usize> = (0..graph.edges()).filter(between).collect();
    let mut flows = Matrix::zeros(fit.input.graph.edges(), fit.solution.u.cols());
    // A common mean that everything is drawn to leaves no edges between nodes.
    for (to, &from) in kept.iter().enumerate().take(flows.rows()) {
        flows.row_mut(to).copy_from_slice(fit.solution.u.row(from));
    }
    flows
}

/// Puts what was tried into `out`: lambda by lambda, largest first, the error of each node (NaN without rows).
pub fn put_tuning(out: &Bound<'_, PyDict>, tuning: &Tuning) -> PyResult<()> {
    let (py, tried) = (out.py(), &tuning.tried);
    out.set_item("lams", PyArray1::from_iter(py, tried.iter().map(|t| t.lambda)))?;
    out.set_item("train", by_node(py, &tried.iter().map(|t| &t.train).collect::<Vec<_>>())?)?;
    out.set_item("validation", by_node(py, &tried.iter().map(|t| &t.validation).collect::<Vec<_>>())?)?;
    out.set_item("chosen", tuning.chosen)
}

/// Puts the edges into `out`, in the order of the flows.
pub fn put_edges(out: &Bound<'_, PyDict>, graph: &Graph) -> PyResult<()> {
    let py = out.py();
    let ends = |e: usize| graph.nodes_of(e);
    out.set_item("heads", PyArray1::from_iter(py, (0..graph.edges()).map(|e| ends(e).0 as i64)))?;
    out.set_item("tails", PyArray1::from_iter(py, (0..graph.edges()).map(|e| ends(e).1 as i64)))?;
    out.set_item("edge_weights", PyArray1::from_slice(py, graph.weights()))
}

fn history<'py>(py: Python<'py>, records: &[Record], traffic: Option<&History>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let column = |of: fn(&Record) -> f64| PyArray1::from_iter(py, records.iter().map(of));
    out.set_item("iteration", PyArray1::from_iter(py, records.iter().map(|r| r.iteration as i64)))?;
    out.set_item("objective", column(|r| r.objective))?;
    out.set_item("certified_gap", column(|r| r.certified_gap.unwrap_or(f64::NAN)))?;
    out.set_item("kkt_residual", column(|r| r.kkt.residual()))?;
    if let Some(sent) = traffic {
        out.set_item("messages", PyArray1::from_iter(py, sent.records.iter().map(|r| r.messages as i64)))?;
        out.set_item("bytes", PyArray1::from_iter(py, sent.records.iter().map(|r| r.bytes as i64)))?;
    }
    Ok(out)
}
