//! The weighted Laplacian `L = D' A D`: products, energy and sparse Cholesky factors of shifted copies.

use rayon::prelude::*;

use super::Graph;
use crate::linalg::sparse::{Budget, Elimination};

/// Rows per task of a product.
const ROWS: usize = 1024;

/// `out <- L v`. Each row is summed in the order of its neighbours, whatever the number of threads.
pub(super) fn apply(graph: &Graph, v: &[f64], out: &mut [f64]) {
    let weight = graph.weights();
    out.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, out)| {
        for (k, out) in out.iter_mut().enumerate() {
            let i = chunk * ROWS + k;
            let pull = |end: &super::End| weight[end.edge as usize] * (v[i] - v[end.neighbour as usize]);
            *out = graph.ends(i).iter().map(pull).sum();
        }
    });
}

/// `v' L v`, as a sum of squares: accurate to the last digits also where `L v` is all cancellation.
pub(super) fn energy(graph: &Graph, v: &[f64]) -> f64 {
    let square = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        graph.weight(e) * (v[i] - v[j]) * (v[i] - v[j])
    };
    (0..graph.edges()).map(square).sum()
}

/// What a factorisation may cost: more, and a long Lanczos run is faster.
const BUDGET: Budget = Budget { flops: 2e10, fill: 4e7 };

/// Plans the factorisation of `L + diagonal`; `None` if the factor would fill up, as it does on expanders.
pub(crate) fn plan(graph: &Graph) -> Option<Elimination> {
    Elimination::plan(graph, 1, BUDGET)
}

/// Factors `sign L + diag(shift)`; `None` if it is not numerically positive definite.
pub(crate) fn factor<'a>(
    elimination: &'a Elimination,
    graph: &Graph,
    sign: f64,
    shift: impl Fn(usize) -> f64,
) -> Option<Factor<'a>> {
    let mut entries = Vec::with_capacity(graph.edges() + graph.nodes());
    for j in 0..graph.nodes() {
        let above = graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j);
        entries.extend(above.map(|end| -sign * graph.weight(end.edge as usize)));
        entries.push(sign * graph.weighted_degree(j) + shift(j));
    }
    let mut values = Vec::new();
    elimination.factor(&entries, &mut values).then_some(Factor { elimination, values })
}

/// A Cholesky factor.
pub(crate) struct Factor<'a> {
    elimination: &'a Elimination,
    values: Vec<f64>,
}

impl Factor<'_> {
    /// `out <- M^-1 v` for the factored matrix `M`.
    pub fn solve(&self, v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        self.elimination.solve(&self.values, out, 1);
    }
}
