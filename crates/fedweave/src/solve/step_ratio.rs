//! The ratio of primal to dual steps, adapted by balancing how far the two variables travel.
//!
//! The method contracts the norm `sum_i degree_i |dw_i|^2 / eta + 2 eta sum_e |du_e|^2`. Its two terms are equal for
//! `eta = sqrt(sum degree |dw|^2 / (2 sum |du|^2))`, with the differences to the solution; the way travelled since the last
//! change stands in for them. It is a heuristic: changes happen at growing intervals, so that between them the method is
//! that of a fixed ratio for longer and longer.

use std::borrow::Borrow;

use super::PrimalDual;
use super::primal_dual::Snapshot;
use crate::problem::Problem;

pub struct StepRatio {
    last: Snapshot,
    next: usize,
    worthwhile: f64,
}

const FIRST_CHANGE: usize = 10;
/// A change by less than this factor is not worth new factors ...
pub const WORTHWHILE: f64 = 1.2;
/// ... where the ratio is one that served a similar problem well, this one.
pub const WORTHWHILE_WARM: f64 = 1.5;

impl StepRatio {
    pub fn new(method: &PrimalDual<impl Borrow<Problem> + Sync>, worthwhile: f64) -> Self {
        StepRatio { last: method.snapshot(), next: FIRST_CHANGE, worthwhile }
    }

    /// To be called after every iteration.
    pub fn after(&mut self, iteration: usize, method: &mut PrimalDual<impl Borrow<Problem> + Sync>) {
        if iteration < self.next {
            return;
        }
        self.next = iteration + (iteration / 2).max(FIRST_CHANGE);
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
