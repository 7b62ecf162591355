//! What the penalty found: groups of nodes that ended with the same model, and the edges that resist.

use crate::graph::partition::Partition;
use crate::matrix::{Matrix, axpy};
use crate::problem::Problem;

/// Two neighbours have the same model if `|w_i - w_j| <= FUSED * max_k |w_k|`.
pub const FUSED: f64 = 1e-4;

/// The clusters of a solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    /// Connected components of the edges whose ends agree, largest first.
    pub partition: Partition,
    /// The mean model of each cluster.
    pub models: Matrix,
    /// Edges whose ends have the same model.
    pub fused: Vec<bool>,
    /// Edges whose flow is on the boundary of its domain: only there may models differ.
    pub saturated: Vec<bool>,
}

/// Finds the clusters of models `w` with flows `u`.
pub fn clusters(problem: &Problem, w: &Matrix, u: &Matrix) -> Clusters {
    let scale = w.max_row_norm();
    let fused: Vec<bool> = (0..problem.graph().edges()).map(|e| problem.is_fused(w, e, FUSED, scale)).collect();
    let partition = Partition::of_edges(problem.graph(), |e| fused[e]).by_size();
    let sizes = partition.sizes();
    let mut models = Matrix::zeros(partition.len(), w.cols());
    for i in 0..w.rows() {
        let part = partition.part(i);
        axpy(1.0 / sizes[part] as f64, w.row(i), models.row_mut(part));
    }
    let inner = |e: usize| problem.edge_weights()[e] * (1.0 - 1e-6);
    let saturated = |e: usize| problem.penalty().excess(e, inner(e), u.row(e)) > 0.0;
    let saturated = (0..problem.graph().edges()).map(|e| problem.lambda() > 0.0 && saturated(e)).collect();
    Clusters { partition, models, fused, saturated }
}
