//! The optimality conditions, linearised at the optimum, on the nodes that are free to move apart.
//!
//! Nodes of a cluster move together, so there is one unknown model per cluster. An edge between clusters resists with the second
//! derivative of its penalty, which is the limit of `sigma J` for large `sigma`, where `J` is the Jacobian of the dual step at
//! `u + sigma (w_i - w_j)`: exact for quadratic penalties, and for norms as long as no edge fuses or comes apart.

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::linalg::cholesky::{packed_len, unpack};
use crate::linalg::sparse::{Budget, Elimination, FILL_MAX, block_entries};
use crate::matrix::{Matrix, axpy};
use crate::problem::Problem;

/// Work of a factorisation that is still quick.
const FLOPS_MAX: f64 = 2e10;

/// `sigma` over the strength of an edge where no edge is half fused, and where some may be: then the system gets stiff.
const SHARP: f64 = 1e12;
const STIFF: f64 = 1e7;

/// A factored system.
pub(super) struct System {
    /// Which nodes move together.
    pub parts: Partition,
    elimination: Elimination,
    values: Vec<f64>,
    dim: usize,
}

impl System {
    /// `hessians` are those of the nodes, `d x d` each; `None` if the factor would fill up, `Some(None)` if it is singular.
    pub fn new(problem: &Problem, w: &Matrix, u: &Matrix, hessians: &[f64], fused: &[bool]) -> Option<Option<System>> {
        let (d, graph) = (problem.dim(), problem.graph());
        // Smooth penalties fuse nothing: equal models may part at any time.
        let smooth = problem.penalty().is_smooth() || problem.lambda() == 0.0;
        let parts = Partition::of_edges(graph, |e| !smooth && fused[e]);
        let mut blocks: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for e in (0..graph.edges()).filter(|_| problem.lambda() > 0.0) {
            let (i, j) = graph.nodes_of(e);
            let (a, b) = (parts.part(i).min(parts.part(j)), parts.part(i).max(parts.part(j)));
            if a != b {
                axpy(1.0, &edge_hessian(problem, w, u, e), blocks.entry((a, b)).or_insert_with(|| vec![0.0; d * d]));
            }
        }
        let pairs: Vec<(usize, usize, f64)> = blocks.keys().map(|&(a, b)| (a, b, 1.0)).collect();
        let between = Graph::new(parts.len(), &pairs).expect("clusters and the edges between them are a graph");
        let elimination = Elimination::plan(&between, d, Budget { flops: FLOPS_MAX, fill: FILL_MAX })?;
        let stiff: Vec<f64> = (0..between.edges()).flat_map(|e| blocks[&between.nodes_of(e)].clone()).collect();
        let mut own = vec![0.0; parts.len() * d * d];
        let mut add = |part: usize, block: &[f64]| axpy(1.0, block, &mut own[part * d * d..][..d * d]);
        (0..problem.nodes()).for_each(|i| add(parts.part(i), &hessians[i * d * d..][..d * d]));
        for ((a, b), block) in &blocks {
            add(*a, block);
            add(*b, block);
        }
        let (mut entries, mut values) = (vec![0.0; elimination.entries()], Vec::new());
        block_entries(&between, d, &stiff, &own, &mut entries);
        let factored = elimination.factor(&entries, &mut values) && values.iter().all(|v| v.is_finite());
        Some(factored.then_some(System { parts, elimination, values, dim: d }))
    }

    /// `G_{i,.}`: rows of the inverse that belong to a node, `d` numbers for each cluster and each of its own coordinates.
    pub fn inverse_rows(&self, node: usize) -> Vec<f64> {
        let (d, size) = (self.dim, self.parts.len() * self.dim);
        let mut x = vec![0.0; size * d];
        (0..d).for_each(|a| x[a * size + self.parts.part(node) * d + a] = 1.0);
        self.elimination.solve(&self.values, &mut x, d);
        x
    }
}

/// The second derivative of `lambda A_e phi` at `w_i - w_j`, `d x d`.
fn edge_hessian(problem: &Problem, w: &Matrix, u: &Matrix, edge: usize) -> Vec<f64> {
    let (d, penalty) = (problem.dim(), problem.penalty());
    let weight = problem.edge_weights()[edge];
    let size = problem.with_difference(w, edge, |t| t.iter().map(|t| t * t).sum::<f64>()).sqrt();
    let limit = if penalty.is_smooth() || penalty.name() == "norm2" { SHARP } else { STIFF };
    let sigma = match penalty.is_smooth() {
        true => limit * weight * penalty.smoothness(edge).max(f64::MIN_POSITIVE),
        false => limit * weight / size,
    };
    let mut y = problem.with_difference(w, edge, |t| t.to_vec());
    y.iter_mut().zip(u.row(edge)).for_each(|(y, u)| *y = u + sigma * *y);
    let (mut block, mut work) = (vec![0.0; d * d], vec![0.0; 8 * d]);
    for (j, row) in block.chunks_exact_mut(d).enumerate() {
        row[j] = sigma;
        penalty.jacobian(edge, weight, sigma, &y, row, &mut work);
    }
    // Rounding must not make it asymmetric.
    for a in 0..d {
        for b in 0..a {
            let mean = 0.5 * (block[a * d + b] + block[b * d + a]);
            (block[a * d + b], block[b * d + a]) = (mean, mean);
        }
    }
    block
}

/// The Hessians of all nodes, `d x d` each; `None` where the loss has kinks.
pub(crate) fn hessians(problem: &Problem, w: &Matrix) -> Option<Vec<f64>> {
    let (loss, d) = (problem.loss(), problem.dim());
    let second = loss.second_order().filter(|second| !second.has_kinks())?;
    let (mut all, mut packed) = (vec![0.0; problem.nodes() * d * d], vec![0.0; packed_len(d)]);
    let mut work = vec![0.0; loss.work_len()];
    for i in (0..problem.nodes()).filter(|&i| loss.has_rows(i)) {
        let mut own = vec![0.0; second.hessian_len(i)];
        second.hessian(i, w.row(i), &mut own, &mut work);
        packed.fill(0.0);
        second.add_hessian(i, &own, &mut packed);
        unpack(&packed, d, &mut all[i * d * d..][..d * d]);
    }
    Some(all)
}
