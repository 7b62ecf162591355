//! A preconditioner for stiff edges: `(L + h I) (x) I`, with `L` the Laplacian of the edges' mean stiffness and `h` the mean
//! curvature of the nodes. It knows the whole network and nothing about a single node; the diagonal blocks
//! know each node and nothing beyond its neighbours. One scalar factor serves all coordinates.

use std::sync::Arc;

use crate::graph::Graph;
use crate::linalg::sparse::{Elimination, laplacian_elimination};
use crate::matrix::Matrix;

/// The plan and the numbers of the factor. Places are the nodes of the graph.
pub struct Coupling<'a> {
    graph: &'a Graph,
    elimination: Arc<Elimination>,
    entries: Vec<f64>,
    values: Vec<f64>,
    /// Right-hand sides, coordinate after coordinate.
    columns: Vec<f64>,
}

impl<'a> Coupling<'a> {
    /// `None` if the factor would fill up.
    pub fn plan(graph: &'a Graph, d: usize) -> Option<Self> {
        Some(Self::planned(graph, d, Arc::new(laplacian_elimination(graph, d)?)))
    }

    /// With a [`laplacian_elimination`] of the same graph.
    pub fn planned(graph: &'a Graph, d: usize, elimination: Arc<Elimination>) -> Self {
        let columns = vec![0.0; graph.nodes() * d];
        Coupling { graph, entries: Vec::new(), elimination, values: Vec::new(), columns }
    }

    /// Factors for edges of this stiffness, and that of all nodes; false if that fails.
    pub fn set(&mut self, stiffness: &[f64], own: f64) -> bool {
        self.entries.clear();
        for j in 0..self.graph.nodes() {
            let ends = self.graph.ends(j);
            let above = ends.iter().filter(|end| (end.neighbour as usize) < j);
            self.entries.extend(above.map(|end| -stiffness[end.edge as usize]));
            let coupled: f64 = ends.iter().map(|end| stiffness[end.edge as usize]).sum();
            self.entries.push(own + coupled);
        }
        self.elimination.factor(&self.entries, &mut self.values)
    }

    /// `z <- M^-1 r`.
    pub fn solve(&mut self, r: &Matrix, z: &mut Matrix) {
        let (n, d) = (r.rows(), r.cols());
        for i in 0..n {
            r.row(i).iter().enumerate().for_each(|(k, r)| self.columns[k * n + i] = *r);
        }
        self.elimination.solve(&self.values, &mut self.columns, d);
        for i in 0..n {
            z.row_mut(i).iter_mut().enumerate().for_each(|(k, z)| *z = self.columns[k * n + i]);
        }
    }
}
