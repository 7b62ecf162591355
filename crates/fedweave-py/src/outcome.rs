//! What was found, as a dictionary of NumPy arrays.

use fedweave::cluster::Clusters;
use fedweave::graph::partition::Partition;
use fedweave::solve::{Record, Solution};
use fedweave::{Graph, Matrix, Problem};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A matrix as an array.
pub fn table<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.as_slice()).reshape([matrix.rows(), matrix.cols()])
}

/// The part of every node.
pub fn labels<'py>(py: Python<'py>, partition: &Partition, nodes: usize) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, (0..nodes).map(|i| partition.part(i) as i64))
}

/// Puts a solution into `out`; `parameters` are its models in the units of the input.
pub fn put_solution(
    out: &Bound<'_, PyDict>,
    problem: &Problem,
    solution: &Solution,
    parameters: &Matrix,
    clusters: &Clusters,
) -> PyResult<()> {
    let py = out.py();
    out.set_item("w", table(py, parameters)?)?;
    out.set_item("u", table(py, &solution.u)?)?;
    out.set_item("status", solution.status.name())?;
    out.set_item("objective", solution.objective)?;
    out.set_item("certified_gap", solution.certified_gap)?;
    out.set_item("kkt_residual", solution.kkt.residual())?;
    out.set_item("iterations", solution.iterations)?;
    out.set_item("method", &solution.choice.method)?;
    out.set_item("reason", &solution.choice.reason)?;
    out.set_item("lam", problem.lambda())?;
    out.set_item("labels", labels(py, &clusters.partition, problem.nodes()))?;
    out.set_item("cluster_models", table(py, &clusters.models)?)?;
    out.set_item("fused", PyArray1::from_slice(py, &clusters.fused))?;
    out.set_item("history", history(py, &solution.history)?)?;
    put_edges(out, problem.graph())
}

/// Puts the edges into `out`, in the order of the flows.
pub fn put_edges(out: &Bound<'_, PyDict>, graph: &Graph) -> PyResult<()> {
    let py = out.py();
    let ends = |e: usize| graph.nodes_of(e);
    out.set_item("heads", PyArray1::from_iter(py, (0..graph.edges()).map(|e| ends(e).0 as i64)))?;
    out.set_item("tails", PyArray1::from_iter(py, (0..graph.edges()).map(|e| ends(e).1 as i64)))?;
    out.set_item("edge_weights", PyArray1::from_slice(py, graph.weights()))
}

fn history<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let column = |of: fn(&Record) -> f64| PyArray1::from_iter(py, records.iter().map(of));
    out.set_item("iteration", PyArray1::from_iter(py, records.iter().map(|r| r.iteration as i64)))?;
    out.set_item("objective", column(|r| r.objective))?;
    out.set_item("certified_gap", column(|r| r.certified_gap.unwrap_or(f64::NAN)))?;
    out.set_item("kkt_residual", column(|r| r.kkt.residual()))?;
    Ok(out)
}
