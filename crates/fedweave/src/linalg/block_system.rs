//! Systems with the matrix `diag(B_i) + D' diag(M_e) D`: a block for every node, and one for every edge that couples its ends.
//! By a sparse Cholesky factor: unbeatable on chains, trees and other graphs that hardly fill up.

use super::sparse::{Budget, Elimination, block_entries};
use crate::graph::Graph;
use crate::matrix::axpy;
use crate::parallel::for_blocks;

/// The plan and the numbers of a factorisation.
pub struct BlockSystem<'a> {
    graph: &'a Graph,
    d: usize,
    elimination: Elimination,
    /// `M_e`, `d x d`.
    coupling: Vec<f64>,
    /// Diagonal blocks.
    own: Vec<f64>,
    entries: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> BlockSystem<'a> {
    /// `None` if a factorisation costs more than the budget.
    pub fn plan(graph: &'a Graph, d: usize, budget: Budget) -> Option<Self> {
        let elimination = Elimination::plan(graph, d, budget)?;
        Some(BlockSystem {
            graph,
            d,
            entries: vec![0.0; elimination.entries()],
            elimination,
            coupling: vec![0.0; graph.edges() * d * d],
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

    /// Sets the matrix: `edge(e, M_e)` and `node(i, B_i)` fill blocks, all their entries, from zeros.
    pub fn set(&mut self, edge: impl Fn(usize, &mut [f64]) + Sync, node: impl Fn(usize, &mut [f64]) + Sync) {
        let (size, graph) = (self.d * self.d, self.graph);
        for_blocks(&mut self.coupling, size, |start, blocks| {
            blocks.fill(0.0);
            blocks.chunks_exact_mut(size).enumerate().for_each(|(k, block)| edge(start + k, block));
        });
        let coupling = &self.coupling;
        for_blocks(&mut self.own, size, |start, blocks| {
            blocks.fill(0.0);
            for (k, block) in blocks.chunks_exact_mut(size).enumerate() {
                node(start + k, block);
                for end in graph.ends(start + k) {
                    let e = end.edge as usize;
                    axpy(1.0, &coupling[e * size..(e + 1) * size], block);
                }
            }
        });
        self.fill_entries();
    }

    /// Factors the matrix; false if it is not numerically positive definite.
    pub fn factor(&mut self) -> bool {
        self.elimination.factor(&self.entries, &mut self.values)
    }

    /// `x <-` the inverse of the matrix times `x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.elimination.solve(&self.values, x, 1);
    }

    /// The mean of the diagonal.
    pub fn mean_diagonal(&self) -> f64 {
        let trace = |block: &[f64]| (0..self.d).map(|j| block[j * (self.d + 1)]).sum::<f64>();
        self.own.chunks_exact(self.d * self.d).map(trace).sum::<f64>() / (self.graph.nodes() * self.d) as f64
    }

    /// Adds `shift` to the diagonal.
    pub fn shift(&mut self, shift: f64) {
        let d = self.d;
        self.own.chunks_exact_mut(d * d).for_each(|block| (0..d).for_each(|j| block[j * (d + 1)] += shift));
        self.fill_entries();
    }

    fn fill_entries(&mut self) {
        block_entries(self.graph, self.d, &self.coupling, &self.own, &mut self.entries);
    }
}
