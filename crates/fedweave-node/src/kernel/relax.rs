//! FedRelax of a part: models travel, then every node minimises the objective over its own model while its neighbours hold
//! still. With the squared penalty that is one proximal step from the mean of the neighbours.

use fedweave::loss::Prepared;
use fedweave::matrix::norm2;
use fedweave::solve::{flows, mean_of_neighbours};
use fedweave::{Matrix, Problem};

use super::{Kernel, distance, or_infinite};

/// The models, own and heard of, and factors.
pub struct RelaxKernel {
    problem: Problem,
    own: Vec<u32>,
    tau: Vec<f64>,
    prepared: Prepared,
    w: Matrix,
    next: Matrix,
    work: Vec<f64>,
    residual: f64,
}

impl RelaxKernel {
    pub fn new(problem: Problem, own: Vec<u32>, w: Matrix) -> Self {
        let tau = |i: &u32| match problem.is_coupled(*i as usize) {
            true => 0.5 / (problem.lambda() * problem.graph().weighted_degree(*i as usize)),
            false => 0.0,
        };
        let tau: Vec<f64> = own.iter().map(tau).collect();
        let prepared = problem.loss().prepare(&own, &tau);
        let next = Matrix::zeros(own.len(), problem.dim());
        let work = vec![0.0; problem.loss().work_len() + 8 * problem.dim()];
        RelaxKernel { problem, own, tau, prepared, w, next, work, residual: f64::INFINITY }
    }
}

impl Kernel for RelaxKernel {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.w.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.w.row_mut(node)
    }

    fn complete(&mut self) {
        let problem = &self.problem;
        for (k, &i) in self.own.iter().enumerate() {
            mean_of_neighbours(problem, i as usize, &self.w, self.next.row_mut(k));
        }
        let rows = self.next.as_mut_slice();
        problem.loss().prox_rows(0, &self.own, &self.tau, &self.prepared, rows, &mut self.work);
        self.residual = 0.0;
        for (k, &i) in self.own.iter().enumerate() {
            let (old, new) = (self.w.row_mut(i as usize), self.next.row(k));
            if self.tau[k] > 0.0 {
                let moved = distance(old, new) / (self.tau[k] * (1.0 + norm2(new)));
                self.residual = self.residual.max(moved);
            }
            old.copy_from_slice(new);
        }
    }

    /// The largest `|w+ - w| / (tau_i (1 + |w+|))` of the last round.
    fn residual(&self) -> f64 {
        or_infinite(self.residual)
    }

    fn w(&self) -> &Matrix {
        &self.w
    }

    fn u(&self) -> Matrix {
        flows(&self.problem, &self.w)
    }
}
