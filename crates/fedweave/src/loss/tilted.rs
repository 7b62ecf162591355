//! `L_i(w) + b_i'w` with a vector per node: what is left of a random choice that was made before the rows were looked at.

use super::second_order::SecondOrder;
use super::{Curvature, Loss, Prepared};
use crate::matrix::{Matrix, axpy, dot};

/// A loss and a linear term per node.
pub struct Tilted {
    loss: Box<dyn Loss>,
    tilt: Matrix,
}

impl Tilted {
    /// `tilt` holds a row per node. For losses without kinks.
    pub fn new(loss: Box<dyn Loss>, tilt: Matrix) -> Self {
        assert_eq!((tilt.rows(), tilt.cols()), (loss.nodes(), loss.dim()), "a vector per node");
        assert!(loss.has_hessian(), "a loss without kinks");
        Tilted { loss, tilt }
    }

    fn shift_rows(&self, start: usize, nodes: &[u32], tau: &[f64], rows: &mut [f64]) {
        for (k, row) in rows.chunks_exact_mut(self.dim()).enumerate() {
            axpy(-tau[start + k], self.tilt.row(nodes[k] as usize), row);
        }
    }
}

impl Loss for Tilted {
    fn nodes(&self) -> usize {
        self.loss.nodes()
    }

    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn row_count(&self, node: usize) -> usize {
        self.loss.row_count(node)
    }

    fn has_rows(&self, node: usize) -> bool {
        self.loss.has_rows(node)
    }

    fn work_len(&self) -> usize {
        self.loss.work_len() + 2 * self.dim()
    }

    fn cost(&self) -> usize {
        self.loss.cost()
    }

    fn curvature(&self, node: usize) -> Curvature {
        self.loss.curvature(node)
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        self.loss.value(node, w) + dot(self.tilt.row(node), w)
    }

    fn error(&self, node: usize, w: &[f64]) -> f64 {
        self.loss.error(node, w)
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        self.loss.gradient(node, w, out);
        axpy(1.0, self.tilt.row(node), out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        self.loss.batch_gradient(node, batch, w, out);
        axpy(1.0, self.tilt.row(node), out);
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        axpy(-tau, self.tilt.row(node), w);
        self.loss.prox(node, tau, w, work);
    }

    fn prepare(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        self.loss.prepare(nodes, tau)
    }

    fn prox_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        prepared: &Prepared,
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        self.shift_rows(start, nodes, tau, rows);
        self.loss.prox_rows(start, nodes, tau, prepared, rows, work);
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        self.loss.second_order()
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        let (less, work) = work.split_at_mut(v.len());
        less.iter_mut().zip(v).zip(self.tilt.row(node)).for_each(|((less, v), b)| *less = v - b);
        self.loss.minimise_tilted(node, less, z, work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws::check_loss;
    use crate::loss::{Family, LossOptions};

    #[test]
    fn a_tilted_loss_is_a_loss() {
        let x = Matrix::from_rows(2, vec![1.0, -0.5, 0.3, 2.0, -1.0, 0.7, 0.2, 0.2]);
        for family in [Family::Squared, Family::Logistic, Family::Huber { delta: 0.5 }] {
            let data = Dataset::new(vec![0, 2, 4], x.clone(), vec![1.0, -1.0, 1.0, -1.0], vec![1.0; 4]).unwrap();
            let options = LossOptions { ridge: 0.3, ..LossOptions::default() };
            let tilt = Matrix::from_rows(2, vec![0.4, -1.0, 0.1, 0.7]);
            let loss = Tilted::new(family.build(data, &options).unwrap(), tilt);
            for seed in 0..200 {
                check_loss(&loss, seed).unwrap_or_else(|v| panic!("{family} seed {seed}: {v}"));
            }
        }
    }
}
