//! Graphs from files and from positions.

use std::path::PathBuf;

use fedweave::Graph;
use fedweave::graph::{great_circle_points, k_nearest};
use fedweave_io::EdgeList;
use fedweave_run::learnt_graph::learn;
use fedweave_run::request::LearnRequest;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::coupling::Coupling;
use crate::errors::{of_file, of_job, raised};
use crate::outcome::put_edges;
use crate::rows::matrix;
use crate::task::Task;

/// The edges of a file, and the ids in it.
#[pyfunction]
pub fn read_edges<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let list = py.detach(|| EdgeList::read(&path)).map_err(|error| of_file(py, &error))?;
    let mut names = list.ids().to_vec();
    let mut known = std::collections::HashSet::new();
    // As they come; a graph wants them sorted.
    names.retain(|name| known.insert(name.clone()));
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let graph = list.graph(&sorted).map_err(|error| of_file(py, &error))?;
    let out = edges(py, &graph, Some(sorted))?;
    out.set_item("order", names)?;
    Ok(out)
}

/// The graph in which every point is joined with its `k` nearest; `globe`: the points are latitude and longitude.
#[pyfunction]
pub fn nearest<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    k: usize,
    globe: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let points = matrix(&points);
    let graph = py.detach(|| match globe {
        true => k_nearest(&great_circle_points(&points)?, k),
        false => k_nearest(&points, k),
    });
    edges(py, &graph.map_err(|error| raised(py, &error, &[]))?, None)
}

/// A graph learnt from the rows of nodes, the reasons for its edges, and what was found in words.
#[pyfunction]
pub fn learn_graph<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = LearnRequest::of_memory(&task.settings()?).map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let found = py.detach(|| learn(request, input)).map_err(|error| of_job(py, &error, &origin))?;
    let out = edges(py, &found.input.graph, None)?;
    let learnt = &found.evidence.learnt;
    out.set_item("discrepancy", PyArray1::from_slice(py, &learnt.discrepancy))?;
    out.set_item("probability", learnt.probability.as_ref().map(|all| PyArray1::from_slice(py, all)))?;
    out.set_item("summary", found.summary().to_string())?;
    out.set_item("text", found.text())?;
    Ok(out)
}

/// The mean of `values` over the rows of each node.
#[pyfunction]
pub fn node_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    node_of_row: PyReadonlyArray1<'py, i64>,
    nodes: usize,
) -> Bound<'py, PyArray1<f64>> {
    let node = |&node: &i64| usize::try_from(node).ok();
    let pairs = node_of_row.as_array().into_iter().map(node).zip(values.as_array().into_iter().copied());
    PyArray1::from_vec(py, fedweave::dataset::node_means(pairs, nodes))
}

/// The part of every node when a network is cut into `parts` of nearly equal size with few edges between them.
#[pyfunction]
pub fn cut<'py>(py: Python<'py>, coupling: &Coupling, parts: usize) -> Bound<'py, PyArray1<i64>> {
    let graph = coupling.problem().graph();
    let found = py.detach(|| fedweave::graph::cut(graph, parts));
    PyArray1::from_iter(py, found.part.into_iter().map(|part| part as i64))
}

fn edges<'py>(py: Python<'py>, graph: &Graph, names: Option<Vec<String>>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    put_edges(&out, graph)?;
    out.set_item("names", names)?;
    Ok(out)
}
