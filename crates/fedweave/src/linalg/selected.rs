//! The entries of the inverse of a sparse matrix where its Cholesky factor has entries, without the rest of the inverse
//! (Takahashi's equations, panel by panel).
//!
//! With `M = L L'`, `Z = M^-1`, the columns `J` of a panel and the rows `I` below it:
//!
//! ```text
//! Y = L_IJ L_JJ^-1,     Z_IJ = -Z_II Y,     Z_JJ = (L_JJ L_JJ')^-1 - Y' Z_IJ
//! ```
//!
//! `Z_II` belongs to later panels: the rows `I` of a panel are among the columns and rows of the panels of its columns.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::sparse::linalg::cholesky::SymbolicCholeskyRaw;
use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::sparse::Elimination;

/// The selected inverse: the numbers, in the layout of the factor.
#[derive(Default)]
pub struct Selected {
    values: Vec<f64>,
    /// Panel of every column.
    panel_of: Vec<u32>,
}

/// Columns and rows of a panel.
struct Panel<'a> {
    start: usize,
    cols: usize,
    below: &'a [u32],
    values: std::ops::Range<usize>,
}

impl<'a> Panel<'a> {
    fn of(symbolic: &'a SymbolicSupernodalCholesky<u32>, s: usize) -> Self {
        let (start, end) = (symbolic.supernode_begin()[s] as usize, symbolic.supernode_end()[s] as usize);
        let at = symbolic.col_ptr_for_val();
        let values = at[s] as usize..at[s + 1] as usize;
        Panel { start, cols: end - start, below: symbolic.supernode(s).pattern(), values }
    }

    fn rows(&self) -> usize {
        self.cols + self.below.len()
    }

    /// Position of a row in the panel.
    fn place(&self, row: usize) -> usize {
        match row < self.start + self.cols {
            true => row - self.start,
            false => self.cols + self.below.partition_point(|r| (*r as usize) < row),
        }
    }
}

impl Elimination {
    fn panels(&self) -> &SymbolicSupernodalCholesky<u32> {
        match self.symbolic.raw() {
            SymbolicCholeskyRaw::Supernodal(symbolic) => symbolic,
            SymbolicCholeskyRaw::Simplicial(_) => unreachable!("planned with panels"),
        }
    }

    /// `log |M|` from the factor of `M`.
    pub fn log_determinant(&self, factor: &[f64]) -> f64 {
        let symbolic = self.panels();
        let mut sum = 0.0;
        for s in 0..symbolic.n_supernodes() {
            let panel = Panel::of(symbolic, s);
            let l = &factor[panel.values.clone()];
            sum += (0..panel.cols).map(|j| l[j * panel.rows() + j].ln()).sum::<f64>();
        }
        2.0 * sum
    }

    /// The selected inverse of `M` from its factor.
    pub fn selected_inverse(&self, factor: &[f64], out: &mut Selected) {
        let symbolic = self.panels();
        if out.panel_of.len() != symbolic.nrows() {
            out.panel_of = vec![0; symbolic.nrows()];
            for s in 0..symbolic.n_supernodes() {
                let panel = Panel::of(symbolic, s);
                out.panel_of[panel.start..panel.start + panel.cols].fill(s as u32);
            }
        }
        out.values.resize(factor.len(), 0.0);
        let (mut y, mut inner) = (Mat::zeros(0, 0), Mat::zeros(0, 0));
        for s in (0..symbolic.n_supernodes()).rev() {
            let panel = Panel::of(symbolic, s);
            let l = MatRef::from_column_major_slice(&factor[panel.values.clone()], panel.rows(), panel.cols);
            let (top, bottom) = l.split_at_row(panel.cols);
            y.resize_with(panel.cols, panel.below.len(), |_, _| 0.0);
            y.copy_from(bottom.transpose());
            // Y' = L_JJ^-T L_IJ'.
            solve_upper_triangular_in_place(top.transpose(), y.as_mut(), Par::Seq);
            inner.resize_with(panel.below.len(), panel.below.len(), |_, _| 0.0);
            out.gather(symbolic, &panel, inner.as_mut());
            let z = &mut out.values[panel.values.clone()];
            invert_panel(
                top,
                y.as_ref(),
                inner.as_ref(),
                MatMut::from_column_major_slice_mut(z, panel.rows(), panel.cols),
            );
        }
    }

    /// `out <- (M^-1)_ij`, the block of nodes `i` and `j` (the same, or neighbours), `d x d` row after row.
    pub fn inverse_block(&self, inverse: &Selected, d: usize, i: usize, j: usize, out: &mut [f64]) {
        let symbolic = self.panels();
        let place = self.symbolic.perm().expect("an order of our own").arrays().1;
        let (row, col) = (place[i * d] as usize, place[j * d] as usize);
        // The panel of the one that is eliminated first has the entries of both.
        let (later, sooner) = (row.max(col), row.min(col));
        let panel = Panel::of(symbolic, inverse.panel_of[sooner] as usize);
        let z = &inverse.values[panel.values.clone()];
        let (first, start) = (panel.place(later), sooner - panel.start);
        for (a, b) in (0..d * d).map(|k| (k / d, k % d)) {
            let (r, c) = if row >= col { (a, b) } else { (b, a) };
            out[a * d + b] = z[(start + c) * panel.rows() + first + r];
        }
    }
}

/// Fills the panel of the inverse.
fn invert_panel(top: MatRef<f64>, y: MatRef<f64>, inner: MatRef<f64>, z: MatMut<f64>) {
    let cols = top.ncols();
    let (mut own, mut below) = z.split_at_row_mut(cols);
    matmul(below.as_mut(), Accum::Replace, inner, y.transpose(), -1.0, Par::Seq);
    own.fill(0.0);
    (0..cols).for_each(|j| own[(j, j)] = 1.0);
    solve_lower_triangular_in_place(top, own.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(top.transpose(), own.as_mut(), Par::Seq);
    matmul(own.as_mut(), Accum::Add, y, below.as_ref(), -1.0, Par::Seq);
}

impl Selected {
    /// `Z_II` of the rows below a panel, from the panels that come later.
    fn gather(&self, symbolic: &SymbolicSupernodalCholesky<u32>, panel: &Panel, mut inner: MatMut<f64>) {
        let below = panel.below;
        let (mut from, mut places) = (0, Vec::with_capacity(below.len()));
        while from < below.len() {
            let owner = Panel::of(symbolic, self.panel_of[below[from] as usize] as usize);
            let end = owner.start + owner.cols;
            let to = from + below[from..].partition_point(|r| (*r as usize) < end);
            places.clear();
            places.extend(below[from..to].iter().map(|r| *r as usize - owner.start));
            // Both lists of rows are sorted: one pass finds the places of one in the other.
            let mut at = 0;
            for row in &below[to..] {
                while owner.below[at] < *row {
                    at += 1;
                }
                places.push(owner.cols + at);
            }
            let z = &self.values[owner.values.clone()];
            for k in from..to {
                let column = &z[(below[k] as usize - owner.start) * owner.rows()..][..owner.rows()];
                for i in k..below.len() {
                    let value = column[places[i - from]];
                    inner[(i, k)] = value;
                    inner[(k, i)] = value;
                }
            }
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::graph::generate::grid;
    use crate::linalg::sparse::Budget;

    /// The blocks and the determinant of a dense inverse, on a grid with a chord and on a graph without edges.
    #[test]
    fn blocks_are_those_of_the_dense_inverse() {
        let mut edges: Vec<_> = (0..grid(4, 5).unwrap().edges()).map(|e| grid(4, 5).unwrap().nodes_of(e)).collect();
        edges.extend([(0, 19), (3, 16)]);
        let edges: Vec<_> = edges.into_iter().map(|(i, j)| (i, j, 1.0)).collect();
        for (graph, d) in [
            (Graph::new(21, &edges).unwrap(), 3),
            (Graph::new(21, &edges).unwrap(), 1),
            (Graph::new(4, &[]).unwrap(), 2),
        ] {
            check(&graph, d);
        }
    }

    fn check(graph: &Graph, d: usize) {
        let n = graph.nodes();
        let mut dense = Mat::<f64>::zeros(n * d, n * d);
        for (i, a, b) in (0..n * d * d).map(|k| (k / (d * d), k / d % d, k % d)) {
            dense[(i * d + a, i * d + b)] = if a == b { graph.degree(i) as f64 + 1.0 + 0.1 * a as f64 } else { 0.2 };
        }
        for e in 0..graph.edges() {
            let (i, j) = graph.nodes_of(e);
            for a in 0..d {
                for b in 0..d {
                    let value = if a == b { -0.7 } else { 0.05 * (a as f64 - b as f64) };
                    dense[(i * d + a, j * d + b)] = value;
                    dense[(j * d + b, i * d + a)] = value;
                }
            }
        }
        let mut entries = Vec::new();
        for j in 0..n {
            for b in 0..d {
                for end in graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j) {
                    entries.extend((0..d).map(|a| dense[(end.neighbour as usize * d + a, j * d + b)]));
                }
                entries.extend((0..=b).map(|a| dense[(j * d + a, j * d + b)]));
            }
        }
        let elimination = Elimination::plan_panels(graph, d, Budget { flops: 1e12, fill: 1e12 }).unwrap();
        let (mut factor, mut inverse) = (Vec::new(), Selected::default());
        assert!(elimination.factor(&entries, &mut factor));
        elimination.selected_inverse(&factor, &mut inverse);
        let llt = dense.llt(faer::Side::Lower).unwrap();
        use faer::linalg::solvers::DenseSolveCore;
        let expected = llt.inverse();
        let log_det: f64 = (0..n * d).map(|k| 2.0 * llt.L()[(k, k)].ln()).sum();
        assert!((elimination.log_determinant(&factor) - log_det).abs() < 1e-10);
        let pairs = (0..n).map(|i| (i, i)).chain((0..graph.edges()).map(|e| graph.nodes_of(e)));
        let mut block = vec![0.0; d * d];
        for (i, j) in pairs.flat_map(|(i, j)| [(i, j), (j, i)]) {
            elimination.inverse_block(&inverse, d, i, j, &mut block);
            for (k, value) in block.iter().enumerate() {
                assert!((value - expected[(i * d + k / d, j * d + k % d)]).abs() < 1e-12, "{i} {j} {k}");
            }
        }
    }
}
