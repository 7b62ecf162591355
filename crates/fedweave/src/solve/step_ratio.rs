//! The ratio of primal to dual steps, adapted by balancing how far the two variables travel.
//!
//! The method contracts the norm `sum_i degree_i |dw_i|^2 / eta + 2 eta sum_e |du_e|^2`. Its two terms are equal for
//! `eta = sqrt(sum degree |dw|^2 / (2 sum |du|^2))`, with the differences to the solution; the way travelled since the last
//! change stands in for them. It is a heuristic: changes happen at growing intervals, so that
//! between them the method is that of a fixed ratio for longer and longer.

use super::PrimalDual;
use crate::matrix::Matrix;
use crate::parallel::ordered_sum;
use crate::problem::Problem;

pub struct StepRatio {
    w: Matrix,
    u: Matrix,
    next: usize,
}

const FIRST_CHANGE: usize = 10;
/// A change by less than this factor is not worth new factors.
const WORTHWHILE: f64 = 1.2;

impl StepRatio {
    pub fn new(_problem: &Problem, method: &PrimalDual) -> Self {
        StepRatio { w: method.w.clone(), u: method.u.clone(), next: FIRST_CHANGE }
    }

    /// To be called after every iteration.
    pub fn after(&mut self, iteration: usize, problem: &Problem, method: &mut PrimalDual) {
        if iteration < self.next {
            return;
        }
        self.next = iteration + (iteration / 2).max(FIRST_CHANGE);
        let graph = problem.graph();
        let distance2 = |a: &Matrix, b: &Matrix, i: usize| -> f64 {
            a.row(i).iter().zip(b.row(i)).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let primal =
            ordered_sum(graph.nodes(), problem.dim(), |i| graph.degree(i) as f64 * distance2(&self.w, &method.w, i));
        let dual = ordered_sum(graph.edges(), problem.dim(), |e| distance2(&self.u, &method.u, e));
        let wanted = (primal / (2.0 * dual)).sqrt();
        if wanted > 0.0 && wanted.is_finite() {
            // Half way, on a logarithmic scale.
            let eta = (method.step_ratio() * wanted).sqrt();
            let factor = eta / method.step_ratio();
            if !(1.0 / WORTHWHILE..=WORTHWHILE).contains(&factor) {
                method.set_step_ratio(eta);
            }
        }
        self.w.as_mut_slice().copy_from_slice(method.w.as_slice());
        self.u.as_mut_slice().copy_from_slice(method.u.as_slice());
    }
}
