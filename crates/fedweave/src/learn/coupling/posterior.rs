//! The models given the rows, and how well they are known.

use std::sync::Arc;

use super::choose::UNSOLVED;
use super::dense::semi_cholesky;
use super::moments::Moments;
use super::network::Network;
use super::regions::fitting;
use super::system::Root;
use super::{Coupling, CouplingOptions, Prepared, check};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::matrix::{Matrix, dot};

/// Mean and covariance of the models of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// The models, a row per node: the optimum of [`Coupling::problem`].
    pub w: Matrix,
    /// The common mean.
    pub mu: Vec<f64>,
    /// Covariance of the common mean, `d x d`.
    pub mu_covariance: Matrix,
    /// Covariance `C_ii` of the model of each node, `d x d` in a row. The common mean is as uncertain as the rows leave it.
    pub covariance: Matrix,
    /// Covariance `C_ij` of the models of the two nodes of each edge, in the order of the graph; none where `rho = 0` or
    /// where regions were looked at.
    pub edge_covariance: Matrix,
    /// Variance of the noise of a row, for every node.
    pub noise: Vec<f64>,
    /// False if the factor of the graph did not fit, and edges between regions were left out: then the solution of the
    /// problem is the better model, and the covariances are approximations.
    pub exact: bool,
}

impl Posterior {
    /// Variance of a prediction `x'w_i`, without the noise of the row itself.
    pub fn variance(&self, node: usize, x: &[f64]) -> f64 {
        let (c, d) = (self.covariance.row(node), x.len());
        let sum: f64 = (0..d).map(|j| x[j] * dot(&c[j * d..(j + 1) * d], x)).sum();
        sum.max(0.0)
    }

    /// Variance of a new row of a squared loss: `x' C_ii x` and the noise of the node.
    pub fn row_variance(&self, node: usize, x: &[f64]) -> f64 {
        self.variance(node, x) + self.noise[node]
    }
}

impl Coupling {
    /// Variance of the noise of a row of a node.
    pub fn noise(&self, node: usize) -> f64 {
        self.s2 * self.node_noise.as_ref().map_or(1.0, |v| v[node])
    }

    /// The models given the rows of `data`, which may be other rows than those the coupling was learnt from.
    pub fn posterior(&self, graph: &Graph, data: &Dataset) -> Result<Posterior> {
        check(graph, data, &CouplingOptions::default())?;
        self.posterior_on(&fitting(graph, data.dim()), graph, data)
    }

    /// The same on a [`fitting`] network.
    pub(super) fn posterior_on(
        &self,
        (network, whole): &(Arc<Network>, bool),
        graph: &Graph,
        data: &Dataset,
    ) -> Result<Posterior> {
        let prepared =
            Prepared::on(network, data, self.family, self.intercept)?.weighted(self.node_noise.as_deref())?;
        let exact = *whole || self.rho == 0.0;
        let task = prepared.task(self.likelihood, false);
        let (moments, plan) = (task.moments, task.network.plan(data.dim()));
        let (root, kappa) = self.relative_root(moments, task.network).ok_or(UNSOLVED)?;
        let mut at = task.at(&plan, &root, kappa).ok_or(UNSOLVED)?;
        at.s2 = self.s2 / moments.variance_unit();
        at.system.invert();
        let (n, d) = (data.nodes(), data.dim());
        let restored = |c: Vec<f64>| moments.restore_covariance(&c);
        let edges = if kappa > 0.0 && exact { graph.edges() } else { 0 };
        let mean_covariance = at.mean_covariance.iter().map(|c| c * at.s2).collect();
        Ok(Posterior {
            w: Matrix::from_rows(d, (0..n).flat_map(|i| moments.restore(&at.model(i))).collect()),
            mu: moments.restore(&at.mu),
            mu_covariance: Matrix::from_rows(d, restored(mean_covariance)),
            covariance: Matrix::from_rows(d * d, (0..n).flat_map(|i| restored(at.covariance(i, i))).collect()),
            edge_covariance: Matrix::from_rows(
                d * d,
                (0..edges).flat_map(|e| restored(at.covariance(graph.nodes_of(e).0, graph.nodes_of(e).1))).collect(),
            ),
            noise: (0..n).map(|i| self.noise(i)).collect(),
            exact,
        })
    }

    /// `Lambda` and `kappa` for these rows and this graph.
    pub(super) fn relative_root(&self, moments: &Moments, network: &Network) -> Option<(Root, f64)> {
        let (d, kappa) = (moments.d, network.kappa(self.rho));
        let factor = network.covariance_factor(&network.precision(kappa)?) * self.s2 / moments.variance_unit();
        let relative: Vec<f64> =
            moments.scaled_covariance(self.covariance.as_slice()).iter().map(|c| c / factor).collect();
        Some((Root { d, p: d, entries: semi_cholesky(&relative, d) }, kappa))
    }
}
