//! Multinomial logistic loss: `log sum_k exp(s_k) - s_y` with a score `s_k = x'w_k` per class. The parameters of a node are
//! the blocks `w_0, w_1, ...`, one per class, one after another; labels are class numbers `0, 1, ...`.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::cholesky;
use crate::matrix::{axpy, dot};

use super::newton::{self, Shift};
use super::{Curvature, Loss, LossOptions, LossRows, SecondOrder};

/// Softmax regression with `classes` classes.
#[derive(Debug, Clone)]
pub struct Multinomial {
    rows: LossRows,
    classes: usize,
}

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

    /// Log of the sum of the exponentials of the scores.
    fn log_partition(&self, x: &[f64], w: &[f64]) -> f64 {
        let score = |k| dot(x, self.block(w, k));
        let top = (0..self.classes).map(score).fold(f64::NEG_INFINITY, f64::max);
        top + (0..self.classes).map(|k| (score(k) - top).exp()).sum::<f64>().ln()
    }

    fn gradient_on<'r>(&self, rows: impl Iterator<Item = (&'r [f64], f64, f64)>, w: &[f64], out: &mut [f64]) {
        let p = self.features();
        for k in 0..self.classes {
            self.rows.ridge_gradient(self.block(w, k), &mut out[k * p..(k + 1) * p]);
        }
        for (x, y, a) in rows {
            let top = self.log_partition(x, w);
            for k in 0..self.classes {
                let probability = (dot(x, self.block(w, k)) - top).exp();
                let hit = f64::from(u8::from(k == y as usize));
                axpy(a * (probability - hit), x, &mut out[k * p..(k + 1) * p]);
            }
        }
    }

    fn damping(&self, node: usize) -> f64 {
        newton::DAMPING * self.rows.iter(node).map(|(x, _, a)| a * dot(x, x)).sum::<f64>()
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
        6 * self.dim() + self.classes + 2 * cholesky::packed_len(self.dim())
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
        let pointwise = |x: &[f64], y: f64| self.log_partition(x, w) - dot(x, self.block(w, y as usize));
        let fit: f64 = self.rows.iter(node).map(|(x, y, a)| a * pointwise(x, y)).sum();
        fit + (0..self.classes).map(|k| self.rows.ridge_value(self.block(w, k))).sum::<f64>()
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        if !self.has_rows(node) {
            return out.fill(0.0);
        }
        self.gradient_on(self.rows.iter(node), w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true => self.gradient_on(self.rows.batch(node, batch), w, out),
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
        self.factor_len(node)
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let p = self.features();
        out.fill(0.0);
        for (x, _, a) in self.rows.iter(node) {
            let top = self.log_partition(x, w);
            let probability = &mut work[..self.classes];
            for (k, pr) in probability.iter_mut().enumerate() {
                *pr = (dot(x, self.block(w, k)) - top).exp();
            }
            for i in 0..self.dim() {
                let (k, start) = (i / p, cholesky::packed_len(i));
                for l in 0..=k {
                    let same = f64::from(u8::from(k == l));
                    let curvature = a * probability[k] * (same - probability[l]) * x[i % p];
                    let end = (p * (l + 1)).min(i + 1);
                    axpy(curvature, &x[..end - p * l], &mut out[start + p * l..start + end]);
                }
            }
        }
        for i in 0..self.dim() {
            out[cholesky::packed_len(i) + i] += 2.0 * self.rows.ridge[i % p];
        }
    }

    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true => cholesky::symmetric_product(hessian, v, out),
            false => out.fill(0.0),
        }
    }

    fn add_hessian(&self, _node: usize, hessian: &[f64], sum: &mut [f64]) {
        axpy(1.0, hessian, sum);
    }

    fn factor_len(&self, node: usize) -> usize {
        if self.has_rows(node) { cholesky::packed_len(self.dim()) } else { 0 }
    }

    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        if self.has_rows(node) {
            out.copy_from_slice(hessian);
            (0..self.dim()).for_each(|i| out[cholesky::packed_len(i) + i] += shift);
            cholesky::factor(out, self.dim());
        }
    }

    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], _work: &mut [f64]) {
        if self.has_rows(node) {
            cholesky::solve(factor, b);
        } else {
            b.iter_mut().for_each(|b| *b /= shift);
        }
    }
}
