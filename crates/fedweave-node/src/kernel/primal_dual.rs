//! The primal-dual method of a part: nodes update, rows of `2 w+ - w` travel, edges update. The flow on an edge between
//! two parts is computed at both ends from the same numbers, so both have the same bits; it never travels.

use fedweave::matrix::norm2;
use fedweave::solve::PrimalDual;
use fedweave::{Matrix, Problem};

use super::{Kernel, distance, or_infinite};

/// The method, and the flows before the last round.
pub struct PrimalDualKernel {
    method: PrimalDual<Box<Problem>>,
    own: Vec<u32>,
    before: Matrix,
    relaxation: f64,
}

impl PrimalDualKernel {
    pub fn new(problem: Problem, own: Vec<u32>, w: &Matrix, u: &Matrix, step_ratio: f64, relaxation: f64) -> Self {
        let method = PrimalDual::in_order(Box::new(problem), w, u, step_ratio, relaxation);
        PrimalDualKernel { method, own, before: u.clone(), relaxation }
    }
}

impl Kernel for PrimalDualKernel {
    fn begin(&mut self) {
        self.method.update_nodes();
    }

    fn outgoing(&self, node: usize) -> &[f64] {
        self.method.placed_over().row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.method.placed_over_mut().row_mut(node)
    }

    fn complete(&mut self) {
        self.before.copy_from(self.method.placed_u());
        self.method.update_edges();
    }

    /// The largest of `|w+ - w| / (tau_i (1 + |(D'u)_i|))` and `|u+ - u| / (sigma (1 + |w_i|))`: both vanish exactly at a
    /// solution.
    fn residual(&self) -> f64 {
        let (w, u, over, tau) =
            (self.method.placed_w(), self.method.placed_u(), self.method.placed_over(), self.method.placed_tau());
        let problem = self.method.problem();
        let (mut flow, mut largest) = (vec![0.0; w.cols()], 0.0f64);
        // `over - w = (2 - rho) (w+ - w)` and `u - before = rho (u+ - u)`.
        let (primal, dual) = (1.0 / (2.0 - self.relaxation), 1.0 / (self.relaxation * self.method.sigma()));
        for i in self.own.iter().map(|i| *i as usize).filter(|&i| problem.is_coupled(i)) {
            problem.divergence(u, i, &mut flow);
            largest = largest.max(primal * distance(over.row(i), w.row(i)) / (tau[i] * (1.0 + norm2(&flow))));
            for end in problem.graph().ends(i) {
                let e = end.edge as usize;
                largest = largest.max(dual * distance(u.row(e), self.before.row(e)) / (1.0 + norm2(w.row(i))));
            }
        }
        or_infinite(largest)
    }

    fn w(&self) -> &Matrix {
        self.method.placed_w()
    }

    fn u(&self) -> Matrix {
        self.method.placed_u().clone()
    }
}
