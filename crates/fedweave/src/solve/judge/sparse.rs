//! Exact zeros: methods that end near a sparse model are rounded to it.

use super::Judge;
use crate::matrix::Matrix;

/// Parameters up to these shares of the largest are tried as zeros, the largest share first.
const SMALL: [f64; 7] = [1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];
/// The objective may rise by this share of what the tolerance allows.
const WORTH: f64 = 0.1;

impl Judge<'_> {
    /// With a lasso: small parameters become zero where that costs next to nothing.
    pub(super) fn round_to_zero(&mut self) {
        let Some(strength) = self.problem.loss().lasso() else { return };
        let Some(w) = &self.w else { return };
        let largest = w.as_slice().iter().fold(0.0f64, |m, w| m.max(w.abs()));
        let allowed = self.objective + WORTH * self.allowed();
        let fits = |objective: f64| objective <= allowed && objective - self.lower <= self.allowed().max(0.0);
        let proved = self.gap().is_some_and(|gap| gap <= self.allowed());
        let rounded = |share: &f64| {
            let mut w = w.clone();
            for row in w.as_mut_slice().chunks_exact_mut(strength.len()) {
                let small = |(w, l): &(&mut f64, &f64)| **l > 0.0 && w.abs() <= share * largest;
                row.iter_mut().zip(strength).filter(small).for_each(|(w, _)| *w = 0.0);
            }
            let objective = self.problem.objective(&w);
            (objective <= allowed && (fits(objective) || !proved)).then_some((w, objective))
        };
        if let Some((w, objective)) = SMALL.iter().find_map(rounded) {
            self.set_best(w, objective);
        }
    }

    fn set_best(&mut self, w: Matrix, objective: f64) {
        (self.w, self.objective, self.kkt_of_best) = (Some(w), objective, false);
    }
}
