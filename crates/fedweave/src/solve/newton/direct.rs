//! The Newton system by a sparse Cholesky factor.

use super::augmented::{Augmented, AugmentedPoint};
use crate::graph::Graph;
use crate::linalg::block_system::BlockSystem;
use crate::linalg::cholesky::{packed_len, unpack};
use crate::linalg::sparse::{Budget, FILL_MAX, product_cost};
use crate::solve::tuning::{PLANNED_EDGES_PER_NODE, PLANNED_SIZE};

/// The plan and the numbers of a factorisation. Places are the nodes of the graph.
pub struct Direct<'a> {
    system: BlockSystem<'a>,
}

impl<'a> Direct<'a> {
    /// `None` if a factorisation costs more than `worth` steps of conjugate gradients.
    pub fn plan(graph: &'a Graph, d: usize, worth: f64) -> Option<Self> {
        let (n, edges, size) = (graph.nodes() as f64, graph.edges() as f64, d as f64);
        if n * size > PLANNED_SIZE && edges > PLANNED_EDGES_PER_NODE * n {
            return None;
        }
        let budget = Budget { flops: worth * product_cost(graph, d), fill: FILL_MAX };
        Some(Direct { system: BlockSystem::plan(graph, d, budget)? })
    }

    /// Entries of the factor.
    pub fn fill(&self) -> usize {
        self.system.fill()
    }

    /// Entries of the upper triangle of the matrix.
    pub fn entries(&self) -> usize {
        self.system.entries()
    }

    /// `x <- -(H + delta + sigma D' J D)^-1 gradient`; false if the matrix is singular.
    pub fn solve(
        &mut self,
        a: &Augmented,
        point: &AugmentedPoint,
        hessian_at: &[usize],
        hessian: &[f64],
        x: &mut [f64],
    ) -> bool {
        let (d, sigma) = (a.terms.dim(), a.sigma);
        let edge = |e: usize, block: &mut [f64]| {
            let mut work = a.scratch.lock();
            for (j, row) in block.chunks_exact_mut(d).enumerate() {
                row[j] = sigma;
                let y = point.y.row(e);
                a.penalty.jacobian(a.layout.edge[e] as usize, a.weight[e], sigma, y, row, &mut work);
            }
        };
        let node = |place: usize, block: &mut [f64]| {
            let mut packed = vec![0.0; packed_len(d)];
            a.terms.add_hessian(place, &hessian[hessian_at[place]..hessian_at[place + 1]], &mut packed);
            unpack(&packed, d, block);
            (0..d).for_each(|j| block[j * (d + 1)] += a.delta + a.damping);
        };
        self.system.set(edge, node);
        if !self.system.factor() {
            return false;
        }
        x.iter_mut().zip(point.gradient.as_slice()).for_each(|(x, g)| *x = -g);
        self.system.solve(x);
        x.iter().all(|x| x.is_finite())
    }
}
