//! The learnt coupling as a problem of this crate, with everything that comes with one: solvers, certificates, federation.

use super::dense::spectral;
use super::moments::row_shares;
use super::{Coupling, CouplingOptions, check};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::loss::{Family, Loss, LossOptions, NodeWeight};
use crate::matrix::Matrix;

impl Coupling {
    /// What problems of this coupling have in common, but for a change of the rows: losses in which every row counts the same,
    /// weights `rho A_e` on the edges and `1 - rho` to a hub, which is the last node, and what both terms are multiplied with: one
    /// over the mean number of rows of a node. With the quadratic penalty `s2 D^-1` the optimum are the models given the rows.
    pub(super) fn parts(
        &self,
        graph: &Graph,
        data: &Dataset,
        change: impl Fn(Dataset) -> Dataset,
    ) -> Result<(Box<dyn Loss>, Graph, f64)> {
        check(graph, data, &CouplingOptions::default())?;
        let counts = (0..data.nodes()).map(|i| row_shares(data.weights(i)).0).filter(|m| *m > 0.0);
        let (nodes, rows) = counts.fold((0.0, 0.0), |(n, sum), m| (n + 1.0, sum + m));
        let unit = nodes / f64::max(rows, 1.0);
        let options = LossOptions { node_weight: NodeWeight::Unit(unit), ..Default::default() };
        let loss = self.family.build(change(self.shared_rows(data)?).with_hub(), &options)?;
        Ok((loss, graph.with_hub(1.0 - self.rho)?, unit))
    }

    /// What `D^-1` is multiplied with.
    pub(super) fn noise_scale(&self) -> f64 {
        if self.family == Family::Squared { self.s2 } else { 0.5 }
    }

    /// `s2 D^-1`, or `D^-1 / 2` where the loss is the negative logarithm of a likelihood.
    pub fn penalty_matrix(&self) -> Matrix {
        let d = self.mu.len();
        let noise = self.noise_scale();
        let scale: Vec<f64> = (0..d).map(|j| self.covariance.row(j)[j].sqrt()).collect();
        let correlation: Vec<f64> =
            (0..d * d).map(|k| self.covariance.as_slice()[k] / (scale[k / d] * scale[k % d])).collect();
        let inverse = spectral(&correlation, d, |e| 1.0 / e.max(1e-12));
        let entry = |k: usize| {
            let mean = 0.5 * (inverse[k] + inverse[(k % d) * d + k / d]);
            noise * mean / (scale[k / d] * scale[k % d])
        };
        Matrix::from_rows(d, (0..d * d).map(entry).collect())
    }

    /// The rows with weights of mean 1 at every node, less where it is noisier.
    pub fn shared_rows(&self, data: &Dataset) -> Result<Dataset> {
        let offsets = [0].into_iter().chain((0..data.nodes()).map(|i| data.rows(i).end)).collect();
        let x = (0..data.nodes()).flat_map(|i| data.features(i)).copied().collect();
        let shares = |i: usize| {
            let share = row_shares(data.weights(i)).1 * self.s2 / self.noise(i);
            data.weights(i).iter().map(move |w| w * share)
        };
        let weight = (0..data.nodes()).flat_map(shares).collect();
        Dataset::new(offsets, Matrix::from_rows(data.dim(), x), data.y().to_vec(), weight)
    }
}
