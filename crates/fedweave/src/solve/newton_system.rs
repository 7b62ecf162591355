//! The Laplacian-type system `(H + D' C D) x = r`: `H` the Hessians of the losses, one block per node, `C` one matrix per
//! edge. It is what a Newton step of the dual (and of a smooth penalty's primal) amounts to.
//!
//! Solved by conjugate gradients, preconditioned by the diagonal blocks `H_i + c_i I`.

use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::{arena, for_blocks, for_pieces, ordered_sum};
use crate::problem::Problem;
use crate::scratch::Scratch;

/// The operator at a primal point `w` and a dual point `y = u + sigma D w` before projection.
pub struct NewtonSystem<'a> {
    problem: &'a Problem,
    w: &'a Matrix,
    y: &'a Matrix,
    sigma: f64,
    /// `c_i`, the total stiffness of the edges at a node.
    shift: Vec<f64>,
    offsets: Vec<usize>,
    factors: Vec<f64>,
    scratch: Scratch,
}

impl<'a> NewtonSystem<'a> {
    /// Computes the preconditioner.
    pub fn new(problem: &'a Problem, w: &'a Matrix, y: &'a Matrix, sigma: f64) -> Self {
        let loss = problem.loss();
        let scratch = Scratch::new(loss.work_len().max(4 * problem.dim()) + 2 * problem.dim());
        let shift: Vec<f64> =
            (0..problem.nodes()).map(|i| sigma * (problem.graph().degree(i) as f64).max(1.0)).collect();
        let (offsets, mut factors) = arena(problem.nodes(), |node| loss.factor_len(node));
        for_pieces(&offsets, &mut factors, |node, piece| {
            loss.factor(node, w.row(node), shift[node], piece, &mut scratch.lock());
        });
        NewtonSystem { problem, w, y, sigma, shift, offsets, factors, scratch }
    }

    /// `flow <- C D x`, with `C = sigma J` and `J` the Jacobian of the projection at `y`.
    pub fn flow(&self, x: &Matrix, flow: &mut Matrix) {
        let (problem, d) = (self.problem, self.problem.dim());
        for_blocks(flow.as_mut_slice(), d, |start, rows| {
            let mut work = self.scratch.lock();
            for (k, row) in rows.chunks_exact_mut(d).enumerate() {
                let edge = start + k;
                let (i, j) = problem.graph().nodes_of(edge);
                for ((r, a), b) in row.iter_mut().zip(x.row(i)).zip(x.row(j)) {
                    *r = self.sigma * (a - b);
                }
                problem.penalty().jacobian(
                    edge,
                    problem.edge_weights()[edge],
                    self.sigma,
                    self.y.row(edge),
                    row,
                    &mut work,
                );
            }
        });
    }

    /// `out <- (H + D' C D) x`; `flow` is scratch.
    fn apply(&self, x: &Matrix, flow: &mut Matrix, out: &mut Matrix) {
        self.flow(x, flow);
        let (problem, d) = (self.problem, self.problem.dim());
        for_blocks(out.as_mut_slice(), d, |start, rows| {
            let mut work = self.scratch.lock();
            for (k, row) in rows.chunks_exact_mut(d).enumerate() {
                let node = start + k;
                problem.divergence(flow, node, row);
                let curved = &mut work[..d];
                problem.loss().hessian_product(node, self.w.row(node), x.row(node), curved);
                axpy(1.0, curved, row);
            }
        });
    }

    fn precondition(&self, r: &Matrix, out: &mut Matrix) {
        let d = self.problem.dim();
        out.as_mut_slice().copy_from_slice(r.as_slice());
        for_blocks(out.as_mut_slice(), d, |start, rows| {
            let mut work = self.scratch.lock();
            for (k, row) in rows.chunks_exact_mut(d).enumerate() {
                let node = start + k;
                let factor = &self.factors[self.offsets[node]..self.offsets[node + 1]];
                self.problem.loss().factor_solve(node, self.shift[node], factor, row, &mut work);
            }
        });
    }

    /// Solves for `x` until the norm of the residual is `residual_max` (or rounding), or `steps_max` steps are done.
    pub fn solve(&self, rhs: &Matrix, residual_max: f64, steps_max: usize) -> Matrix {
        let (n, d) = (rhs.rows(), rhs.cols());
        let inner = |a: &Matrix, b: &Matrix| ordered_sum(n, d, |i| dot(a.row(i), b.row(i)));
        let mut x = Matrix::zeros(n, d);
        let (mut r, mut z, mut applied) = (rhs.clone(), Matrix::zeros(n, d), Matrix::zeros(n, d));
        let mut flow = Matrix::zeros(self.problem.graph().edges(), d);
        let goal = residual_max.max(1e-15 * inner(rhs, rhs).sqrt());
        self.precondition(&r, &mut z);
        let (mut p, mut rz) = (z.clone(), inner(&r, &z));
        for _ in 0..steps_max {
            if inner(&r, &r).sqrt() <= goal {
                break;
            }
            self.apply(&p, &mut flow, &mut applied);
            let curvature = inner(&p, &applied);
            if !(curvature > 0.0 && rz.is_finite()) {
                break;
            }
            let step = rz / curvature;
            axpy(step, p.as_slice(), x.as_mut_slice());
            axpy(-step, applied.as_slice(), r.as_mut_slice());
            self.precondition(&r, &mut z);
            let next = inner(&r, &z);
            let beta = next / rz;
            rz = next;
            p.as_mut_slice().iter_mut().zip(z.as_slice()).for_each(|(p, z)| *p = z + beta * *p);
        }
        x
    }
}
