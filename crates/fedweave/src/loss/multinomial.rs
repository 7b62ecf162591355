//! Multinomial logistic loss: `log sum_k exp(s_k) - s_y` with a score `s_k = x'w_k` per class. The parameters of a node are
//! the blocks `w_0, w_1, ...`, one per class, one after another; labels are class numbers `0, 1, ...`.

mod kernel;
mod majorised;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Row;
use crate::linalg::cholesky;
use crate::matrix::axpy;

use super::newton::{self, Shift};
use super::{Curvature, Loss, LossOptions, LossRows, Prepared, SecondOrder};

/// Softmax regression with `classes` classes.
#[derive(Debug, Clone)]
pub struct Multinomial {
    rows: LossRows,
    classes: usize,
}

/// So many classes need no memory of their own.
const FEW_CLASSES: usize = 32;

impl Multinomial {
    /// Checks the class numbers and builds the loss.
    pub fn new(classes: usize, data: Dataset, options: &LossOptions) -> Result<Self> {
        if classes < 2 {
            return Err(Error::Parameter { name: "number of classes", value: classes as f64, needs: "at least 2" });
        }
        let fits = |y: f64| y >= 0.0 && y.fract() == 0.0 && y < classes as f64;
        if let Some(row) = data.y().iter().position(|&y| !fits(y)) {
            let label = data.y()[row];
            return Err(Error::Label { row, label, loss: "multinomial", needs: "class numbers 0, 1, ..." });
        }
        Ok(Multinomial { rows: LossRows::new(data, options)?, classes })
    }

    fn features(&self) -> usize {
        self.rows.data.dim()
    }

    /// `w_k`.
    fn block<'w>(&self, w: &'w [f64], class: usize) -> &'w [f64] {
        &w[class * self.features()..(class + 1) * self.features()]
    }

    /// `probability <-` those of the classes; returns the loss of the row.
    fn predict(&self, x: Row, y: f64, w: &[f64], probability: &mut [f64]) -> f64 {
        probability.iter_mut().enumerate().for_each(|(k, p)| *p = x.dot(self.block(w, k)));
        let score = probability[y as usize];
        let top = probability.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for p in probability.iter_mut() {
            *p = (*p - top).exp();
            sum += *p;
        }
        probability.iter_mut().for_each(|p| *p /= sum);
        top + sum.ln() - score
    }

    /// Calls `f` with space for a number per class.
    fn with_classes<R>(&self, f: impl FnOnce(&mut [f64]) -> R) -> R {
        let mut few = [0.0; FEW_CLASSES];
        match self.classes <= FEW_CLASSES {
            true => f(&mut few[..self.classes]),
            false => f(&mut vec![0.0; self.classes]),
        }
    }

    /// `out <-` the gradient that these rows suggest; returns their loss.
    fn gradient_on<'r>(&self, rows: impl Iterator<Item = (Row<'r>, f64, f64)>, w: &[f64], out: &mut [f64]) -> f64 {
        let p = self.features();
        for k in 0..self.classes {
            self.rows.ridge_gradient(self.block(w, k), &mut out[k * p..(k + 1) * p]);
        }
        let mut fit = 0.0;
        self.with_classes(|probability| {
            for (x, y, a) in rows {
                fit += a * self.predict(x, y, w, probability);
                probability[y as usize] -= 1.0;
                for (slope, out) in probability.iter().zip(out.chunks_exact_mut(p)) {
                    x.add_to(a * slope, out);
                }
            }
        });
        fit
    }

    /// `sum <- sum + a (diag(p) - p p') (x) x x'`, the lower triangle row after row, for probabilities `p` of a row `x`.
    fn add_row(&self, x: Row, a: f64, probability: &[f64], sum: &mut [f64]) {
        let p = self.features();
        x.for_each(|j, value| {
            for k in 0..self.classes {
                let (i, start) = (k * p + j, cholesky::packed_len(k * p + j));
                for l in 0..=k {
                    let same = f64::from(u8::from(k == l));
                    let curvature = a * probability[k] * (same - probability[l]) * value;
                    let end = (p * (l + 1)).min(i + 1);
                    x.first(end - p * l).add_to(curvature, &mut sum[start + p * l..start + end]);
                }
            }
        });
    }

    fn add_ridge(&self, sum: &mut [f64]) {
        for i in 0..self.dim() {
            sum[cholesky::packed_len(i) + i] += self.rows.twice_ridge[i % self.features()];
        }
    }

    fn damping(&self, node: usize) -> f64 {
        newton::DAMPING * self.rows.iter(node).map(|(x, _, a)| a * x.square(self.features())).sum::<f64>()
    }

    fn ridge_value(&self, w: &[f64]) -> f64 {
        (0..self.classes).map(|k| self.rows.ridge_value(self.block(w, k))).sum()
    }
}

impl Loss for Multinomial {
    fn nodes(&self) -> usize {
        self.rows.data.nodes()
    }

    fn dim(&self) -> usize {
        self.classes * self.features()
    }

    fn has_rows(&self, node: usize) -> bool {
        self.rows.has_rows(node)
    }

    fn row_count(&self, node: usize) -> usize {
        self.rows.data.rows(node).len()
    }

    fn work_len(&self) -> usize {
        let longest = (0..self.nodes()).map(|i| self.hessian_len(i) + self.factor_len(i)).max().unwrap_or(0);
        6 * self.dim() + 2 * self.classes * (1 + self.rows.rows_max()) + longest
    }

    fn cost(&self) -> usize {
        8 * self.dim() * (self.rows.data.len() / self.nodes().max(1))
    }

    /// The Hessian of the log-partition function has eigenvalues between 0 and 1/2.
    fn curvature(&self, node: usize) -> Curvature {
        if !self.has_rows(node) {
            return Curvature { mu: 0.0, beta: 0.0 };
        }
        let (mu, ridge_high) = self.rows.twice_ridge_extremes();
        Curvature { mu, beta: 0.5 * self.rows.gram_extremes(node).1 + ridge_high }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        if !self.has_rows(node) {
            return 0.0;
        }
        let fit: f64 = self.with_classes(|probability| {
            self.rows.iter(node).map(|(x, y, a)| a * self.predict(x, y, w, probability)).sum()
        });
        fit + self.ridge_value(w)
    }

    fn value_and_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        if !self.has_rows(node) {
            out.fill(0.0);
            return 0.0;
        }
        self.gradient_on(self.rows.iter(node), w, out) + self.ridge_value(w)
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        if !self.has_rows(node) {
            return out.fill(0.0);
        }
        self.gradient_on(self.rows.iter(node), w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true => _ = self.gradient_on(self.rows.batch(node, batch), w, out),
            false => out.fill(0.0),
        }
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let (b, work) = work.split_at_mut(w.len());
        b.iter_mut().zip(w.iter()).for_each(|(b, w)| *b = w / tau);
        newton::minimise(self, node, Shift { shift: 1.0 / tau, damping: 0.0, constant: false }, b, w, work);
    }

    fn prepare_majorised(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        self.majorisers(nodes, tau)
    }

    fn majorised_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        prepared: &Prepared,
        old: &[f64],
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        let d = self.dim();
        let (gradient, work) = work.split_at_mut(d);
        for (k, (row, old)) in rows.chunks_exact_mut(d).zip(old.chunks_exact(d)).enumerate() {
            let (place, node) = (start + k, nodes[k] as usize);
            let factor = &prepared.factors[prepared.offsets[place]..prepared.offsets[place + 1]];
            if factor.is_empty() {
                continue;
            }
            let shift = 1.0 / tau[place];
            self.gradient(node, old, gradient);
            gradient.iter_mut().zip(old).zip(row.iter()).for_each(|((g, o), v)| *g += shift * (o - v));
            self.solve_majorised(node, shift, factor, gradient, work);
            row.iter_mut().zip(old).zip(gradient.iter()).for_each(|((w, o), g)| *w = o - g);
        }
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        if self.has_rows(node) {
            let shift = Shift { shift: 0.0, damping: self.damping(node), constant: false };
            newton::minimise(self, node, shift, v, z, work);
        }
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for Multinomial {
    fn hessian_len(&self, node: usize) -> usize {
        match self.is_wide(node) {
            true => self.probabilities_len(node),
            false => self.factor_len(node),
        }
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        if self.is_wide(node) {
            return self.all_probabilities(node, w, out);
        }
        out.fill(0.0);
        for (x, y, a) in self.rows.iter(node) {
            let probability = &mut work[..self.classes];
            self.predict(x, y, w, probability);
            self.add_row(x, a, probability, out);
        }
        self.add_ridge(out);
    }

    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true if self.is_wide(node) => self.product_by_rows(node, hessian, v, out),
            true => cholesky::symmetric_product(hessian, v, out),
            false => out.fill(0.0),
        }
    }

    fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        if !self.is_wide(node) {
            return axpy(1.0, hessian, sum);
        }
        for ((x, _, a), probability) in self.rows.iter(node).zip(hessian.chunks_exact(self.classes)) {
            self.add_row(x, a, probability, sum);
        }
        self.add_ridge(sum);
    }

    fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        match self.is_wide(node) {
            true => self.add_diagonal_by_rows(node, hessian, sum),
            false if self.has_rows(node) => {
                sum.iter_mut().enumerate().for_each(|(i, s)| *s += hessian[cholesky::packed_len(i) + i]);
            }
            false => {}
        }
    }

    fn factor_len(&self, node: usize) -> usize {
        match self.has_rows(node) {
            true if self.is_wide(node) => self.kernel_len(node) + self.probabilities_len(node),
            true => cholesky::packed_len(self.dim()),
            false => 0,
        }
    }

    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        if self.is_wide(node) {
            return self.factor_kernel(node, hessian, shift, out);
        }
        if self.has_rows(node) {
            out.copy_from_slice(hessian);
            (0..self.dim()).for_each(|i| out[cholesky::packed_len(i) + i] += shift);
            cholesky::factor(out, self.dim());
        }
    }

    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        if self.is_wide(node) {
            return self.solve_kernel(node, shift, factor, b, work);
        }
        if self.has_rows(node) {
            cholesky::solve(factor, b);
        } else {
            b.iter_mut().for_each(|b| *b /= shift);
        }
    }
}
