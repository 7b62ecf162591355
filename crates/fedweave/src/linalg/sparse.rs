//! Sparse Cholesky factors: the elimination is planned once for a pattern and serves all matrices that have it.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::{SupernodalThreshold, amd};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::graph::Graph;

/// What a factorisation may cost.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Multiplications of the factorisation.
    pub flops: f64,
    /// Entries of the factor (8 bytes each).
    pub fill: f64,
}

/// An elimination order and the pattern of the factor: everything about a matrix except its numbers.
///
/// The matrix has a `d x d` block for every node and every edge of a graph. Its upper triangle is given column after
/// column: for column `b` of node `j` the blocks of its smaller neighbours in increasing order, then rows `0..=b` of its own.
pub struct Elimination {
    pattern: SymbolicSparseColMat<u32>,
    pub(super) symbolic: SymbolicCholesky<u32>,
}

/// Entries of a sparse factor at most.
pub const FILL_MAX: f64 = 4e7;

/// Operations of a product with a matrix that has a `d x d` block for every node and couples the ends of every edge.
pub fn product_cost(graph: &Graph, d: usize) -> f64 {
    let (n, edges, size) = (graph.nodes() as f64, graph.edges() as f64, d as f64);
    2.0 * n * size * size + 16.0 * edges * size
}

/// What a factorisation and a solution may cost, in products with the matrix of a Newton system.
const FACTOR_WORTH: f64 = 100.0;
const SOLVE_WORTH: f64 = 8.0;

/// Plans the elimination of a matrix with a number for every node and edge; `None` if the factor would fill up.
pub fn laplacian_elimination(graph: &Graph, d: usize) -> Option<Elimination> {
    let product = product_cost(graph, d);
    let fill = (SOLVE_WORTH * product / (4.0 * d as f64)).min(FILL_MAX);
    Elimination::plan(graph, 1, Budget { flops: FACTOR_WORTH * product, fill })
}

/// The entries of the upper triangle of a matrix with `d x d` blocks `own` on the diagonal and `-stiff` where nodes are joined.
pub fn block_entries(graph: &Graph, d: usize, stiff: &[f64], own: &[f64], entries: &mut [f64]) {
    let mut next = 0;
    let mut push = |value: f64| {
        entries[next] = value;
        next += 1;
    };
    for j in 0..graph.nodes() {
        for b in 0..d {
            for end in graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j) {
                let start = end.edge as usize * d * d + b * d;
                stiff[start..start + d].iter().for_each(|c| push(-c));
            }
            let start = j * d * d + b * d;
            own[start..=start + b].iter().for_each(|c| push(*c));
        }
    }
}

/// Blocks of this size or larger are eliminated as dense panels.
const PANEL: usize = 8;

impl Elimination {
    /// Plans the elimination in approximate minimum degree order; `None` if it would cost more than the budget, as on
    /// expanders, whose factors fill up.
    pub fn plan(graph: &Graph, d: usize, budget: Budget) -> Option<Self> {
        // Blocks of this size fill dense panels.
        let threshold = if d >= PANEL { SupernodalThreshold::FORCE_SUPERNODAL } else { SupernodalThreshold::AUTO };
        Self::plan_with(graph, d, budget, threshold)
    }

    /// The same with dense panels for every size of blocks, which the selected inverse needs.
    pub fn plan_panels(graph: &Graph, d: usize, budget: Budget) -> Option<Self> {
        Self::plan_with(graph, d, budget, SupernodalThreshold::FORCE_SUPERNODAL)
    }

    fn plan_with(graph: &Graph, d: usize, budget: Budget, threshold: SupernodalThreshold) -> Option<Self> {
        let blocks = upper_pattern(graph, 1);
        let (order, place) = affordable_order(&blocks, d, budget)?;
        let pattern = if d == 1 { blocks } else { upper_pattern(graph, d) };
        let (order, place) = (spread(&order, d), spread(&place, d));
        let ordering = SymmetricOrdering::Custom(PermRef::new_checked(&order, &place, graph.nodes() * d));
        let params = CholeskySymbolicParams { supernodal_flop_ratio_threshold: threshold, ..Default::default() };
        let symbolic = factorize_symbolic_cholesky(pattern.as_ref(), Side::Upper, ordering, params).ok()?;
        Some(Elimination { pattern, symbolic })
    }

    /// Entries of the upper triangle.
    pub fn entries(&self) -> usize {
        self.pattern.compute_nnz()
    }

    /// Entries of the factor.
    pub fn fill(&self) -> usize {
        self.symbolic.len_val()
    }

    /// Factors the matrix with these entries into `values` (which it makes as long as needed); false if the matrix is not
    /// numerically positive definite.
    pub fn factor(&self, entries: &[f64], values: &mut Vec<f64>) -> bool {
        values.resize(self.symbolic.len_val(), 0.0);
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), entries);
        let mut memory = MemBuffer::new(self.symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default()));
        let (regularization, stack) = (LltRegularization::default(), MemStack::new(&mut memory));
        let (side, params) = (Side::Upper, Spec::default());
        self.symbolic.factorize_numeric_llt(values, matrix, side, regularization, Par::Seq, stack, params).is_ok()
    }

    /// `x <- M^-1 x` with the factor of `M`, for so many columns `x` one after another.
    pub fn solve(&self, values: &[f64], x: &mut [f64], columns: usize) {
        let n = x.len() / columns;
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq));
        LltRef::new(&self.symbolic, values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, n, columns),
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }
}

/// The permutation of blocks, entry by entry.
fn spread(blocks: &[u32], d: usize) -> Vec<u32> {
    blocks.iter().flat_map(|&b| (0..d as u32).map(move |k| b * d as u32 + k)).collect()
}

fn upper_pattern(graph: &Graph, d: usize) -> SymbolicSparseColMat<u32> {
    let (n, size) = (graph.nodes(), d as u32);
    let (mut starts, mut rows) = (vec![0], Vec::with_capacity((graph.edges() + n) * d * d));
    for j in 0..n as u32 {
        for b in 0..size {
            let above = graph.ends(j as usize).iter().map(|end| end.neighbour).filter(|&i| i < j);
            rows.extend(above.flat_map(|i| (0..size).map(move |a| i * size + a)));
            rows.extend((0..=b).map(|a| j * size + a));
            starts.push(rows.len() as u32);
        }
    }
    SymbolicSparseColMat::new_checked(n * d, n * d, starts, None, rows)
}

/// The elimination order of the blocks and its inverse, unless the factorisation would be too expensive.
fn affordable_order(pattern: &SymbolicSparseColMat<u32>, d: usize, budget: Budget) -> Option<(Vec<u32>, Vec<u32>)> {
    let (n, size) = (pattern.ncols(), d as f64);
    let (mut order, mut place) = (vec![0; n], vec![0; n]);
    let mut memory = MemBuffer::new(amd::order_scratch::<u32>(n, pattern.compute_nnz()));
    let (control, stack) = (amd::Control::default(), MemStack::new(&mut memory));
    let cost = amd::order(&mut order, &mut place, pattern.as_ref(), control, stack).ok()?;
    // One division per entry of the factor, and the blocks of the diagonal themselves.
    let flops = (cost.n_mult_subs_ldl + cost.n_div + n as f64) * size.powi(3);
    let fill = (cost.n_div + n as f64) * size * size;
    (flops <= budget.flops && fill <= budget.fill).then_some((order, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::grid;

    /// Blocks `A_jj = (degree + 1) I + ones`, `A_ij = -I / 2 + skew`: the product with the solution gives the right-hand side.
    #[test]
    fn solves_a_block_system() {
        let (graph, d) = (grid(3, 4).unwrap(), 3);
        let n = graph.nodes();
        let block = |i: usize, j: usize, a: usize, b: usize| match i == j {
            true => 1.0 + if a == b { graph.degree(i) as f64 + 1.0 } else { 0.0 },
            false if a == b => -0.5,
            // The block of (j, i) is the transposed one.
            false => 0.1 * (a as f64 - b as f64) * if i < j { 1.0 } else { -1.0 },
        };
        let elimination = Elimination::plan(&graph, d, Budget { flops: 1e9, fill: 1e9 }).unwrap();
        let mut entries = Vec::new();
        for j in 0..n {
            for b in 0..d {
                for end in graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j) {
                    entries.extend((0..d).map(|a| block(end.neighbour as usize, j, a, b)));
                }
                entries.extend((0..=b).map(|a| block(j, j, a, b)));
            }
        }
        assert_eq!(entries.len(), elimination.entries());
        let x: Vec<f64> = (0..n * d).map(|k| (k as f64).sin()).collect();
        let mut rhs = vec![0.0; n * d];
        for i in 0..n {
            let near = graph.ends(i).iter().map(|end| end.neighbour as usize).chain([i]);
            for j in near {
                for (a, b) in (0..d * d).map(|k| (k / d, k % d)) {
                    rhs[i * d + a] += block(i, j, a, b) * x[j * d + b];
                }
            }
        }
        let mut values = Vec::new();
        assert!(elimination.factor(&entries, &mut values));
        elimination.solve(&values, &mut rhs, 1);
        assert!(rhs.iter().zip(&x).all(|(found, wanted)| (found - wanted).abs() < 1e-12));
        assert!(Elimination::plan(&graph, d, Budget { flops: 10.0, fill: 1e9 }).is_none());
    }
}
