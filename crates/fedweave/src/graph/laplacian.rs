//! The weighted Laplacian `L = D' A D`: products, energy and sparse Cholesky factors of shifted copies.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};
use rayon::prelude::*;

use super::Graph;

/// Multiplications beyond which a factorisation would take longer than a long Lanczos run.
const FLOPS_MAX: f64 = 2e10;

/// Entries of the factor beyond which it would take too much memory (8 bytes each).
const FILL_MAX: f64 = 4e7;

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

/// An elimination order and the pattern of the factor: everything about `L + diagonal` except its numbers.
pub(super) struct Elimination {
    pattern: SymbolicSparseColMat<u32>,
    symbolic: SymbolicCholesky<u32>,
}

impl Elimination {
    /// Plans the elimination in approximate minimum degree order; `None` if the factor would fill up, as it does on
    /// expanders.
    pub fn plan(graph: &Graph) -> Option<Self> {
        let pattern = upper_pattern(graph);
        let (order, place) = affordable_order(&pattern)?;
        let ordering = SymmetricOrdering::Custom(PermRef::new_checked(&order, &place, graph.nodes()));
        let params = CholeskySymbolicParams::default();
        let symbolic = factorize_symbolic_cholesky(pattern.as_ref(), Side::Upper, ordering, params).ok()?;
        Some(Elimination { pattern, symbolic })
    }

    /// Factors `sign L + diag(shift)`; `None` if it is not numerically positive definite.
    pub fn factor(&self, graph: &Graph, sign: f64, shift: impl Fn(usize) -> f64) -> Option<Factor<'_>> {
        let mut entries = Vec::with_capacity(graph.edges() + graph.nodes());
        for j in 0..graph.nodes() {
            let above = graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j);
            entries.extend(above.map(|end| -sign * graph.weight(end.edge as usize)));
            entries.push(sign * graph.weighted_degree(j) + shift(j));
        }
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), &entries);
        let mut values = vec![0.0; self.symbolic.len_val()];
        let scratch = self.symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        let (regularization, stack) = (LltRegularization::default(), MemStack::new(&mut memory));
        let params = Spec::default();
        self.symbolic
            .factorize_numeric_llt(&mut values, matrix, Side::Upper, regularization, Par::Seq, stack, params)
            .ok()?;
        Some(Factor { symbolic: &self.symbolic, values })
    }
}

/// A Cholesky factor.
pub(super) struct Factor<'a> {
    symbolic: &'a SymbolicCholesky<u32>,
    values: Vec<f64>,
}

impl Factor<'_> {
    /// `out <- M^-1 v` for the factored matrix `M`.
    pub fn solve(&self, v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        let n = out.len();
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        LltRef::new(self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(out, n, 1),
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }
}

/// Upper triangle by columns: the smaller neighbours of each node, then the node itself.
fn upper_pattern(graph: &Graph) -> SymbolicSparseColMat<u32> {
    let (mut starts, mut rows) = (vec![0], Vec::with_capacity(graph.edges() + graph.nodes()));
    for j in 0..graph.nodes() as u32 {
        rows.extend(graph.ends(j as usize).iter().map(|end| end.neighbour).filter(|&i| i < j));
        rows.push(j);
        starts.push(rows.len() as u32);
    }
    SymbolicSparseColMat::new_checked(graph.nodes(), graph.nodes(), starts, None, rows)
}

/// The elimination order and its inverse, unless the factorisation would be too expensive.
fn affordable_order(pattern: &SymbolicSparseColMat<u32>) -> Option<(Vec<u32>, Vec<u32>)> {
    let n = pattern.ncols();
    let (mut order, mut place) = (vec![0; n], vec![0; n]);
    let mut memory = MemBuffer::new(amd::order_scratch::<u32>(n, pattern.compute_nnz()));
    let (control, stack) = (amd::Control::default(), MemStack::new(&mut memory));
    let flops = amd::order(&mut order, &mut place, pattern.as_ref(), control, stack).ok()?;
    // One division per entry of the factor.
    (flops.n_mult_subs_ldl <= FLOPS_MAX && flops.n_div <= FILL_MAX).then_some((order, place))
}
