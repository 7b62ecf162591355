//! `L_i(w) + w' M_i w` with a positive semidefinite form per node: what a node minimises when its neighbours hold still and
//! the penalty is quadratic.

use crate::linalg::cholesky::{self, packed_len, row};
use crate::matrix::{axpy, dot};

use super::newton::{self, Shift};
use super::{Curvature, Loss, SecondOrder};

/// A loss and, for every node, the lower triangle of `2 M_i`.
pub(crate) struct WithForm<'l> {
    loss: &'l dyn Loss,
    second: &'l dyn SecondOrder,
    twice_form: Vec<f64>,
}

impl<'l> WithForm<'l> {
    /// `second` holds the Hessians of `loss`, `twice_form` the packed lower triangles of all nodes, one after another.
    pub fn new(loss: &'l dyn Loss, second: &'l dyn SecondOrder, twice_form: Vec<f64>) -> Self {
        assert_eq!(twice_form.len(), loss.nodes() * packed_len(loss.dim()), "a form per node");
        WithForm { loss, second, twice_form }
    }

    fn form(&self, node: usize) -> &[f64] {
        let len = packed_len(self.dim());
        &self.twice_form[node * len..(node + 1) * len]
    }

    fn trace(&self, hessian: &[f64]) -> f64 {
        (0..self.dim()).map(|j| row(hessian, j)[j]).sum()
    }

    fn own_len(&self, node: usize) -> usize {
        self.second.hessian_len(node)
    }
}

impl Loss for WithForm<'_> {
    fn nodes(&self) -> usize {
        self.loss.nodes()
    }

    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn has_rows(&self, node: usize) -> bool {
        self.loss.has_rows(node)
    }

    fn row_count(&self, node: usize) -> usize {
        self.loss.row_count(node)
    }

    fn work_len(&self) -> usize {
        let longest = (0..self.nodes()).map(|i| self.own_len(i)).max().unwrap_or(0);
        self.loss.work_len() + longest + 6 * self.dim() + 2 * packed_len(self.dim())
    }

    fn curvature(&self, node: usize) -> Curvature {
        let own = self.loss.curvature(node);
        Curvature { mu: own.mu, beta: own.beta + self.trace(self.form(node)) }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        let form = self.form(node);
        let half = |i: usize| w[i] * (dot(&row(form, i)[..i], &w[..i]) + 0.5 * row(form, i)[i] * w[i]);
        self.loss.value(node, w) + (0..w.len()).map(half).sum::<f64>()
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        self.loss.gradient(node, w, out);
        self.add_form_gradient(node, w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        self.loss.batch_gradient(node, batch, w, out);
        self.add_form_gradient(node, w, out);
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        let (b, work) = work.split_at_mut(w.len());
        b.iter_mut().zip(w.iter()).for_each(|(b, w)| *b = w / tau);
        let shift = Shift { shift: 1.0 / tau, damping: 0.0, constant: self.is_quadratic() };
        newton::minimise(self, node, shift, b, w, work);
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        let damping = newton::DAMPING * self.trace(self.form(node));
        newton::minimise(self, node, Shift { shift: 0.0, damping, constant: self.is_quadratic() }, v, z, work);
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for WithForm<'_> {
    fn is_constant(&self) -> bool {
        self.second.is_constant()
    }

    fn has_kinks(&self) -> bool {
        self.second.has_kinks()
    }

    fn hessian_len(&self, _node: usize) -> usize {
        packed_len(self.dim())
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        out.copy_from_slice(self.form(node));
        let (own, work) = work.split_at_mut(self.own_len(node));
        if self.has_rows(node) {
            self.second.hessian(node, w, own, work);
            self.second.add_hessian(node, own, out);
        }
    }

    fn hessian_product(&self, _node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        cholesky::symmetric_product(hessian, v, out);
    }

    fn add_hessian(&self, _node: usize, hessian: &[f64], sum: &mut [f64]) {
        axpy(1.0, hessian, sum);
    }

    fn factor_len(&self, _node: usize) -> usize {
        packed_len(self.dim())
    }

    fn factor(&self, _node: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        out.copy_from_slice(hessian);
        (0..self.dim()).for_each(|j| out[packed_len(j) + j] += shift);
        cholesky::factor(out, self.dim());
    }

    fn factor_solve(&self, _node: usize, _shift: f64, factor: &[f64], b: &mut [f64], _work: &mut [f64]) {
        cholesky::solve(factor, b);
    }
}

impl WithForm<'_> {
    fn add_form_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        let form = self.form(node);
        for i in 0..w.len() {
            let entries = row(form, i);
            out[i] += dot(entries, &w[..=i]);
            axpy(w[i], &entries[..i], &mut out[..i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws::check_loss;
    use crate::loss::{Family, LossOptions};
    use crate::matrix::Matrix;

    #[test]
    fn a_loss_with_a_form_is_a_loss() {
        let x = Matrix::from_rows(2, vec![1.0, -0.5, 0.3, 2.0, -1.0, 0.7, 0.2, 0.2]);
        for family in [Family::Squared, Family::Logistic, Family::Huber { delta: 0.5 }] {
            let data = Dataset::new(vec![0, 2, 4], x.clone(), vec![1.0, -1.0, 1.0, -1.0], vec![1.0; 4]).unwrap();
            let loss = family.build(data, &LossOptions::default()).unwrap();
            let loss = WithForm::new(&*loss, loss.second_order().unwrap(), vec![2.0, 0.5, 1.0, 1.0, -0.9, 1.0]);
            for seed in 0..200 {
                check_loss(&loss, seed).unwrap_or_else(|v| panic!("{family} seed {seed}: {v}"));
            }
        }
    }
}
