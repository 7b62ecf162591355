//! `mean_r a_r |w - x_r|^2`: the loss of convex clustering, where a node's datum is a point and its model a position.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::features::Row;
use crate::linalg::cholesky::packed_len;
use crate::matrix::axpy;

use super::{Curvature, Loss, LossOptions, LossRows, Prepared, SecondOrder};
use crate::parallel::{arena, for_pieces};

/// Squared distance to the node's points. Labels are ignored.
#[derive(Debug, Clone)]
pub struct Point {
    rows: LossRows,
}

impl Point {
    /// Builds the loss.
    pub fn new(data: Dataset, options: &LossOptions) -> Result<Self> {
        // A model is as long as a row: nothing is saved by keeping less.
        Ok(Point { rows: LossRows::new(data.with_whole_rows(), options)? })
    }

    /// `sum_r a_r` of a node.
    fn mass(&self, node: usize) -> f64 {
        self.rows.iter(node).map(|(_, _, a)| a).sum()
    }

    fn gradient_on<'r>(&self, rows: impl Iterator<Item = (Row<'r>, f64, f64)>, w: &[f64], out: &mut [f64]) {
        self.rows.ridge_gradient(w, out);
        for (x, _, a) in rows {
            axpy(2.0 * a, w, out);
            x.add_to(-2.0 * a, out);
        }
    }

    /// Half the curvature of coordinate `j`.
    fn half_curvature(&self, node: usize, j: usize) -> f64 {
        if self.has_rows(node) { self.mass(node) + self.rows.ridge[j] } else { 0.0 }
    }

    /// `z_j <- (b_j + 2 sum_r a_r x_rj) / (2 (mass + ridge_j) + shift)`.
    fn minimise_shifted(&self, node: usize, shift: f64, b: impl Fn(usize) -> f64, z: &mut [f64]) {
        for (j, z) in z.iter_mut().enumerate() {
            let pull: f64 = self.rows.iter(node).map(|(x, _, a)| 2.0 * a * x.at(j)).sum();
            *z = (b(j) + pull) / (2.0 * self.half_curvature(node, j) + shift);
        }
    }
}

impl Loss for Point {
    fn nodes(&self) -> usize {
        self.rows.data.nodes()
    }

    fn dim(&self) -> usize {
        self.rows.data.dim()
    }

    fn has_rows(&self, node: usize) -> bool {
        self.rows.has_rows(node)
    }

    fn row_count(&self, node: usize) -> usize {
        self.rows.data.rows(node).len()
    }

    fn work_len(&self) -> usize {
        4 * self.dim()
    }

    fn curvature(&self, node: usize) -> Curvature {
        let all = (0..self.dim()).map(|j| 2.0 * self.half_curvature(node, j));
        let (mu, beta) = all.fold((f64::INFINITY, 0.0f64), |(low, high), c| (low.min(c), high.max(c)));
        Curvature { mu, beta }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        if !self.has_rows(node) {
            return 0.0;
        }
        let distance2 = |x: Row| x.stored().iter().zip(w).map(|(x, w)| (w - x) * (w - x)).sum::<f64>();
        self.rows.iter(node).map(|(x, _, a)| a * distance2(x)).sum::<f64>() + self.rows.ridge_value(w)
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
        let b = &mut work[..w.len()];
        b.copy_from_slice(w);
        self.minimise_shifted(node, 1.0 / tau, |j| b[j] / tau, w);
    }

    /// For every place and coordinate: what the step adds, and what it multiplies with.
    fn prepare(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        let d = self.dim();
        let coupled = |p: usize| tau[p] > 0.0 && self.has_rows(nodes[p] as usize);
        let (offsets, mut factors) = arena(nodes.len(), |p| if coupled(p) { 2 * d } else { 0 });
        for_pieces(&offsets, &mut factors, |p, piece| {
            if !piece.is_empty() {
                let (pull, scale) = piece.split_at_mut(d);
                for j in 0..d {
                    let (node, shift) = (nodes[p] as usize, 1.0 / tau[p]);
                    let stiffness = 2.0 * self.half_curvature(node, j) + shift;
                    pull[j] = self.rows.iter(node).map(|(x, _, a)| 2.0 * a * x.at(j)).sum::<f64>() / stiffness;
                    scale[j] = shift / stiffness;
                }
            }
        });
        Prepared { offsets, factors }
    }

    fn prox_rows(
        &self,
        start: usize,
        _nodes: &[u32],
        _tau: &[f64],
        prepared: &Prepared,
        rows: &mut [f64],
        _work: &mut [f64],
    ) {
        let d = self.dim();
        for (k, row) in rows.chunks_exact_mut(d).enumerate() {
            let piece = &prepared.factors[prepared.offsets[start + k]..prepared.offsets[start + k + 1]];
            if !piece.is_empty() {
                let (pull, scale) = piece.split_at(d);
                row.iter_mut().zip(pull).zip(scale).for_each(|((w, p), s)| *w = p + s * *w);
            }
        }
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], _work: &mut [f64]) {
        if self.has_rows(node) {
            self.minimise_shifted(node, 0.0, |j| v[j], z);
        }
    }

    fn bregman(&self, node: usize, w: &[f64], z: &[f64], _gradient_z: &[f64]) -> f64 {
        (0..w.len()).map(|j| self.half_curvature(node, j) * (w[j] - z[j]).powi(2)).sum()
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for Point {
    fn is_constant(&self) -> bool {
        true
    }

    /// The Hessian is diagonal.
    fn hessian_len(&self, _node: usize) -> usize {
        self.dim()
    }

    fn hessian(&self, node: usize, _w: &[f64], out: &mut [f64], _work: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(j, h)| *h = 2.0 * self.half_curvature(node, j));
    }

    fn hessian_product(&self, _node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(hessian).zip(v).for_each(|((o, h), v)| *o = h * v);
    }

    fn add_hessian(&self, _node: usize, hessian: &[f64], sum: &mut [f64]) {
        hessian.iter().enumerate().for_each(|(j, h)| sum[packed_len(j) + j] += h);
    }

    fn add_hessian_diagonal(&self, _node: usize, hessian: &[f64], sum: &mut [f64]) {
        axpy(1.0, hessian, sum);
    }

    fn factor_len(&self, _node: usize) -> usize {
        self.dim()
    }

    /// The reciprocals of the shifted diagonal.
    fn factor(&self, _node: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        out.iter_mut().zip(hessian).for_each(|(f, h)| *f = 1.0 / (h + shift));
    }

    fn factor_solve(&self, _node: usize, _shift: f64, factor: &[f64], b: &mut [f64], _work: &mut [f64]) {
        b.iter_mut().zip(factor).for_each(|(b, f)| *b *= f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn the_minimum_is_the_mean_of_the_points() {
        let x = Matrix::from_rows(2, vec![0.0, 0.0, 2.0, 4.0]);
        let data = Dataset::new(vec![0, 2], x, vec![0.0; 2], vec![1.0; 2]).unwrap();
        let loss = Point::new(data, &LossOptions::default()).unwrap();
        let mut z = [9.0, 9.0];
        loss.minimise_tilted(0, &[0.0, 0.0], &mut z, &mut [0.0; 8]);
        assert_eq!((z, loss.value(0, &z)), ([1.0, 2.0], 5.0));
    }
}
