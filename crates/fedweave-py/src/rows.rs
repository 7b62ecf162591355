//! The rows of all nodes and the edges between them, copied once from NumPy.

use fedweave::{Dataset, Graph, Matrix};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::{plain, raised};

/// Rows and edges as Python has them. Nodes are numbered in the byte order of their names.
#[derive(FromPyObject)]
pub struct Rows<'py> {
    x: PyReadonlyArray2<'py, f64>,
    y: Option<PyReadonlyArray1<'py, f64>>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    node_of_row: PyReadonlyArray1<'py, i64>,
    nodes: usize,
    heads: PyReadonlyArray1<'py, i64>,
    tails: PyReadonlyArray1<'py, i64>,
    edge_weights: PyReadonlyArray1<'py, f64>,
    /// A column of ones is added.
    pub intercept: bool,
}

/// Rows grouped by node, and the graph.
pub struct Grouped {
    /// The rows.
    pub data: Dataset,
    /// Where each row stood in the input.
    pub origin: Vec<usize>,
    /// The graph.
    pub graph: Graph,
}

impl Rows<'_> {
    /// Checks the numbers and copies them, once; inside a node rows are in the order of `times`, then as they came.
    pub fn grouped(&self, py: Python<'_>, times: Option<&[f64]>) -> PyResult<Grouped> {
        let (offsets, mut origin) = self.order(py)?;
        if let Some(times) = times {
            let (expected, found) = (origin.len(), times.len());
            if expected != found {
                return Err(raised(py, &fedweave::Error::Size { what: "times", expected, found }, &[]));
            }
            let earlier = |a: &usize, b: &usize| times[*a].total_cmp(&times[*b]);
            offsets.windows(2).for_each(|node| origin[node[0]..node[1]].sort_by(earlier));
        }
        let data = self.dataset(offsets, &origin).map_err(|error| raised(py, &error, &origin))?;
        let graph = self.graph().map_err(|error| raised(py, &error, &[]))?;
        Ok(Grouped { data, origin, graph })
    }

    /// Where the rows of every node start, and the rows in the order of their nodes; inside a node as they came.
    fn order(&self, py: Python<'_>) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let node_of_row = self.node_of_row.as_array();
        let mut offsets = vec![0usize; self.nodes + 1];
        for &node in node_of_row.iter() {
            match usize::try_from(node) {
                Ok(node) if node < self.nodes => offsets[node + 1] += 1,
                _ => return Err(plain(py, "SizeError", &format!("there is no node number {node}"))),
            }
        }
        (0..self.nodes).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut next = offsets.clone();
        let mut origin = vec![0; node_of_row.len()];
        for (row, &node) in node_of_row.iter().enumerate() {
            let place = &mut next[node as usize];
            origin[*place] = row;
            *place += 1;
        }
        Ok((offsets, origin))
    }

    fn dataset(&self, offsets: Vec<usize>, origin: &[usize]) -> fedweave::Result<Dataset> {
        let x = self.x.as_array();
        if x.nrows() != origin.len() {
            return Err(fedweave::Error::Size { what: "rows of X", expected: origin.len(), found: x.nrows() });
        }
        let cols = x.ncols() + usize::from(self.intercept);
        if cols == 0 {
            return Err(fedweave::Error::Size { what: "columns of X", expected: 1, found: 0 });
        }
        let mut sorted = Vec::with_capacity(origin.len() * cols);
        for &from in origin {
            match x.row(from).to_slice() {
                Some(row) => sorted.extend_from_slice(row),
                None => sorted.extend(x.row(from)),
            }
            sorted.extend(self.intercept.then_some(1.0));
        }
        let pick = |array: &Option<PyReadonlyArray1<'_, f64>>, otherwise: f64| match array {
            // A wrong length is for the dataset to refuse.
            Some(array) if array.as_array().len() == origin.len() => {
                let array = array.as_array();
                origin.iter().map(|&row| array[row]).collect()
            }
            Some(array) => array.as_array().to_vec(),
            None => vec![otherwise; origin.len()],
        };
        Dataset::new(offsets, Matrix::from_rows(cols, sorted), pick(&self.y, 0.0), pick(&self.weight, 1.0))
    }

    fn graph(&self) -> fedweave::Result<Graph> {
        let (heads, tails, weights) = (self.heads.as_array(), self.tails.as_array(), self.edge_weights.as_array());
        // An end that is no index becomes one beyond the nodes, which the graph refuses.
        let index = |i: i64| usize::try_from(i).unwrap_or(usize::MAX);
        let edges: Vec<_> =
            heads.iter().zip(&tails).zip(&weights).map(|((&i, &j), &a)| (index(i), index(j), a)).collect();
        Graph::new(self.nodes, &edges)
    }
}

/// An array as a matrix.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let array = array.as_array();
    let mut matrix = Matrix::zeros(array.nrows(), array.ncols());
    for (i, row) in array.outer_iter().enumerate() {
        matrix.row_mut(i).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
    }
    matrix
}
