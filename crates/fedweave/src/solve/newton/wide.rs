//! Losses of fused nodes with many features: Hessians stay as they are at each member, and no part has a matrix of its own.

use super::terms::{Members, Terms};
use crate::linalg::cholesky::packed_len;
use crate::loss::{Loss, SecondOrder};
use crate::matrix::axpy;

/// With fewer features than this, matrices of parts are cheap whatever the data.
const FEATURES_MIN: usize = 256;

/// `w -> sum_{i in part} L_i(w)` without a matrix per part.
pub struct Wide<'a> {
    loss: &'a dyn Loss,
    second: &'a dyn SecondOrder,
    members: &'a Members,
}

/// True if the matrices of all parts would be larger than the rows they are made of.
pub fn is_wide(loss: &dyn Loss, members: &Members) -> bool {
    let entries = || (0..loss.nodes()).map(|i| loss.row_count(i)).sum::<usize>() * loss.dim();
    loss.dim() >= FEATURES_MIN && members.parts() * packed_len(loss.dim()) > entries()
}

impl<'a> Wide<'a> {
    /// Panics if the loss has no Hessians.
    pub fn new(loss: &'a dyn Loss, members: &'a Members) -> Self {
        let second = loss.second_order().expect("nodes are fused for losses with Hessians");
        Wide { loss, second, members }
    }

    /// The members of a part, each with its piece of the Hessian.
    fn pieces<'h>(&self, place: usize, hessian: &'h [f64]) -> impl Iterator<Item = (usize, &'h [f64])> {
        let mut rest = hessian;
        self.members.of_part(place).iter().map(move |&i| {
            let (own, others) = rest.split_at(self.second.hessian_len(i as usize));
            rest = others;
            (i as usize, own)
        })
    }

    fn alone(&self, place: usize) -> Option<usize> {
        let members = self.members.of_part(place);
        (members.len() == 1).then(|| members[0] as usize)
    }
}

impl Terms for Wide<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn work_len(&self) -> usize {
        self.loss.work_len()
    }

    fn cost(&self) -> usize {
        self.loss.cost() * self.loss.nodes() / self.members.parts().max(1)
    }

    fn is_quadratic(&self) -> bool {
        self.second.is_constant()
    }

    fn value_and_gradient(&self, place: usize, w: &[f64], out: &mut [f64]) -> f64 {
        let (mut value, mut own) = (0.0, vec![0.0; w.len()]);
        out.fill(0.0);
        for &i in self.members.of_part(place) {
            value += self.loss.value_and_gradient(i as usize, w, &mut own);
            axpy(1.0, &own, out);
        }
        value
    }

    fn hessian_len(&self, place: usize) -> usize {
        self.members.of_part(place).iter().map(|&i| self.second.hessian_len(i as usize)).sum()
    }

    fn hessian(&self, place: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        let mut rest = out;
        for &i in self.members.of_part(place) {
            let (own, others) = rest.split_at_mut(self.second.hessian_len(i as usize));
            self.second.hessian(i as usize, w, own, work);
            rest = others;
        }
    }

    fn hessian_product(&self, place: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        let mut own = vec![0.0; v.len()];
        out.fill(0.0);
        for (i, piece) in self.pieces(place, hessian) {
            self.second.hessian_product(i, piece, v, &mut own);
            axpy(1.0, &own, out);
        }
    }

    fn add_hessian(&self, place: usize, hessian: &[f64], sum: &mut [f64]) {
        self.pieces(place, hessian).for_each(|(i, piece)| self.second.add_hessian(i, piece, sum));
    }

    fn add_hessian_diagonal(&self, place: usize, hessian: &[f64], sum: &mut [f64]) {
        self.pieces(place, hessian).for_each(|(i, piece)| self.second.add_hessian_diagonal(i, piece, sum));
    }

    /// Several members are preconditioned by their common diagonal.
    fn factors_are_exact(&self) -> bool {
        false
    }

    fn factor_len(&self, place: usize) -> usize {
        self.alone(place).map_or(self.dim(), |i| self.second.factor_len(i))
    }

    fn factor(&self, place: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]) {
        match self.alone(place) {
            Some(i) => self.second.factor(i, hessian, shift, out, work),
            None => {
                out.fill(shift);
                self.add_hessian_diagonal(place, hessian, out);
            }
        }
    }

    fn factor_solve(&self, place: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        match self.alone(place) {
            Some(i) => self.second.factor_solve(i, shift, factor, b, work),
            None => b.iter_mut().zip(factor).for_each(|(b, f)| *b /= f),
        }
    }
}
