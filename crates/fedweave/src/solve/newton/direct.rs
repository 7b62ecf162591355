//! The Newton system by a sparse Cholesky factor: unbeatable on chains, trees and other graphs that hardly fill up.

use super::augmented::{Augmented, AugmentedPoint};
use crate::graph::Graph;
use crate::linalg::cholesky::{packed_len, unpack};
use crate::linalg::sparse::{Budget, Elimination, FILL_MAX, block_entries, product_cost};
use crate::matrix::axpy;
use crate::parallel::for_blocks;
use crate::solve::tuning::{PLANNED_EDGES_PER_NODE, PLANNED_SIZE};

/// The plan and the numbers of a factorisation. Places are the nodes of the graph.
pub struct Direct<'a> {
    graph: &'a Graph,
    elimination: Elimination,
    /// `sigma J` of every edge, `d x d`.
    stiff: Vec<f64>,
    /// Diagonal blocks.
    own: Vec<f64>,
    entries: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> Direct<'a> {
    /// `None` if a factorisation costs more than `worth` steps of conjugate gradients.
    pub fn plan(graph: &'a Graph, d: usize, worth: f64) -> Option<Self> {
        let (n, edges, size) = (graph.nodes() as f64, graph.edges() as f64, d as f64);
        if n * size > PLANNED_SIZE && edges > PLANNED_EDGES_PER_NODE * n {
            return None;
        }
        let budget = Budget { flops: worth * product_cost(graph, d), fill: FILL_MAX };
        let elimination = Elimination::plan(graph, d, budget)?;
        Some(Direct {
            graph,
            entries: vec![0.0; elimination.entries()],
            elimination,
            stiff: vec![0.0; graph.edges() * d * d],
            own: vec![0.0; graph.nodes() * d * d],
            values: Vec::new(),
        })
    }

    /// Entries of the factor.
    pub fn fill(&self) -> usize {
        self.elimination.fill()
    }

    /// Entries of the upper triangle of the matrix.
    pub fn entries(&self) -> usize {
        self.entries.len()
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
        self.fill_edges(a, point);
        self.fill_nodes(a, hessian_at, hessian);
        block_entries(self.graph, a.terms.dim(), &self.stiff, &self.own, &mut self.entries);
        if !self.elimination.factor(&self.entries, &mut self.values) {
            return false;
        }
        x.iter_mut().zip(point.gradient.as_slice()).for_each(|(x, g)| *x = -g);
        self.elimination.solve(&self.values, x, 1);
        x.iter().all(|x| x.is_finite())
    }

    fn fill_edges(&mut self, a: &Augmented, point: &AugmentedPoint) {
        let (d, sigma) = (a.terms.dim(), a.sigma);
        for_blocks(&mut self.stiff, d * d, |start, blocks| {
            let mut work = a.scratch.lock();
            for (k, block) in blocks.chunks_exact_mut(d * d).enumerate() {
                let (e, y) = (start + k, point.y.row(start + k));
                block.fill(0.0);
                for (j, row) in block.chunks_exact_mut(d).enumerate() {
                    row[j] = sigma;
                    a.penalty.jacobian(a.layout.edge[e] as usize, a.weight[e], sigma, y, row, &mut work);
                }
            }
        });
    }

    fn fill_nodes(&mut self, a: &Augmented, hessian_at: &[usize], hessian: &[f64]) {
        let (d, graph, stiff) = (a.terms.dim(), self.graph, &self.stiff);
        for_blocks(&mut self.own, d * d, |start, blocks| {
            let mut packed = vec![0.0; packed_len(d)];
            for (k, block) in blocks.chunks_exact_mut(d * d).enumerate() {
                let place = start + k;
                packed.fill(0.0);
                a.terms.add_hessian(place, &hessian[hessian_at[place]..hessian_at[place + 1]], &mut packed);
                unpack(&packed, d, block);
                (0..d).for_each(|j| block[j * (d + 1)] += a.delta + a.damping);
                for end in graph.ends(place) {
                    let e = end.edge as usize;
                    axpy(1.0, &stiff[e * d * d..(e + 1) * d * d], block);
                }
            }
        });
    }
}
