//! Gradient descent of a part: models travel, then every node steps against its gradient and the pull of its neighbours.

use fedweave::matrix::norm2;
use fedweave::solve::{add_pull, flows};
use fedweave::{Matrix, Problem};

use super::{Kernel, or_infinite};

/// The models, own and heard of.
pub struct DescentKernel {
    problem: Problem,
    own: Vec<u32>,
    w: Matrix,
    next: Matrix,
    step: f64,
    gradient: Vec<f64>,
    work: Vec<f64>,
    residual: f64,
}

impl DescentKernel {
    pub fn new(problem: Problem, own: Vec<u32>, w: Matrix, step: f64) -> Self {
        let d = problem.dim();
        let (next, gradient, work) = (Matrix::zeros(own.len(), d), vec![0.0; d], vec![0.0; 5 * d]);
        DescentKernel { problem, own, w, next, step, gradient, work, residual: f64::INFINITY }
    }
}

impl Kernel for DescentKernel {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.w.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.w.row_mut(node)
    }

    fn complete(&mut self) {
        let (problem, w, gradient) = (&self.problem, &self.w, &mut self.gradient);
        self.residual = 0.0;
        for (k, i) in self.own.iter().map(|i| *i as usize).enumerate() {
            problem.loss().gradient(i, w.row(i), gradient);
            let local = norm2(gradient);
            add_pull(problem, i, w.row(i), |_, end| w.row(end.neighbour as usize), gradient, &mut self.work);
            self.residual = self.residual.max(norm2(gradient) / (1.0 + local));
            let old = w.row(i).iter().zip(gradient.iter());
            self.next.row_mut(k).iter_mut().zip(old).for_each(|(next, (w, g))| *next = w - self.step * g);
        }
        for (k, &i) in self.own.iter().enumerate() {
            self.w.row_mut(i as usize).copy_from_slice(self.next.row(k));
        }
    }

    /// The largest gradient of the objective before the last step, relative to that of the node's own loss.
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
