//! The ratio of primal to dual steps, adapted by balancing how far the two variables travel.
//!
//! The method contracts the norm `sum_i degree_i |dw_i|^2 / eta + 2 eta sum_e |du_e|^2`. Its two terms are equal for
//! `eta = sqrt(sum degree |dw|^2 / (2 sum |du|^2))`, with the differences to the solution; the way travelled since the last
//! change stands in for them. It is a heuristic: changes happen at growing intervals, so that between them the method is
//! that of a fixed ratio for longer and longer.

use std::borrow::Borrow;

use super::{PrimalDual, Snapshot};
use crate::problem::Problem;
use crate::solve::tuning::FIRST_RATIO_ITERATION;

pub struct StepRatio {
    last: Snapshot,
    next: usize,
    worthwhile: f64,
}

impl StepRatio {
    pub fn new(method: &PrimalDual<impl Borrow<Problem> + Sync>, worthwhile: f64) -> Self {
        StepRatio { last: method.snapshot(), next: FIRST_RATIO_ITERATION, worthwhile }
    }

    /// To be called after every iteration.
    pub fn after(&mut self, iteration: usize, method: &mut PrimalDual<impl Borrow<Problem> + Sync>) {
        if iteration < self.next {
            return;
        }
        self.next = iteration + (iteration / 2).max(FIRST_RATIO_ITERATION);
        let (primal, dual) = method.travelled(&self.last);
        let wanted = (primal / (2.0 * dual)).sqrt();
        if wanted > 0.0 && wanted.is_finite() {
            // Half way, on a logarithmic scale.
            let eta = (method.step_ratio() * wanted).sqrt();
            let factor = eta / method.step_ratio();
            if !(1.0 / self.worthwhile..=self.worthwhile).contains(&factor) {
                method.set_step_ratio(eta);
            }
        }
        self.last = method.snapshot();
    }
}
