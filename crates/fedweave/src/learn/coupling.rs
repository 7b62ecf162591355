//! Learnt coupling: how alike the models of the nodes are, learnt from all rows at once.
//!
//! ```text
//! y_i = X_i w_i + noise(s2),     w ~ N(1 (x) mu, [ ((1 - rho) I + rho L) (x) D^-1 ]^-1)
//!
//! <=> minimise  sum_i |y_i - X_i w_i|^2 + s2 ( rho sum_e A_e |w_i - w_j|^2_{D^-1} + (1 - rho) sum_i |w_i - mu|^2_{D^-1} )
//! ```
//!
//! `D` says how much each coefficient varies between nodes (not at all: it is shared by all), `rho` how much of that is
//! shared with neighbours rather than with the average of all nodes (`rho = 0` is the mixed-effects model), `s2` how noisy
//! rows are. All are found by the marginal likelihood of the rows; the models then are the optimum of a problem of this
//! crate, with a quadratic penalty and a hub ([`Coupling::problem`]), and come with their uncertainty
//! ([`Coupling::posterior`]).

mod average;
mod blend;
mod bounded;
mod choose;
mod dense;
mod evidence;
mod field;
mod fit;
mod folds;
mod likelihood;
pub(super) mod minimise;
mod moments;
mod network;
mod noise;
mod posterior;
mod problem;
mod profile;
mod regions;
mod relearn;
mod rows;
mod search;
pub mod shared;
mod slopes;
mod stack;
mod structure;
mod system;
#[cfg(test)]
mod tests;
mod whitening;

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::Family;
use crate::matrix::Matrix;

use fit::Task;
use moments::Moments;
use network::Network;
use rows::ModeRows;

pub use blend::{Blend, Member, blend};
pub use bounded::{Form, FormChoice, FormScore, choose_form};
pub use choose::{Candidate, Learnt, learn};
pub(crate) use evidence::erfc;
pub use evidence::{GraphTest, Interval, chi_squared_quantile, rho_interval};
pub use field::{Field, Kernel};
pub use folds::{Fold, FoldScore, Judge, choose_on_folds, score_on_folds};
pub use likelihood::Likelihood;
pub use noise::Noise;
pub(crate) use noise::ln_gamma;
pub use posterior::Posterior;
pub use search::{Found, Strengths, Tried, has_likelihood, search};
pub use structure::Structure;
pub use whitening::Whitening;

/// What to learn, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CouplingOptions {
    /// The loss: squared (exactly), logistic or Poisson (by Laplace's approximation of the likelihood); others by [`search`].
    pub family: Family,
    /// Structures of `D` to choose from; those that make no sense for the features are left out.
    pub structures: Vec<Structure>,
    /// How strong the graph is.
    pub rho: Rho,
    /// What is maximised.
    pub likelihood: Likelihood,
    /// True if a weak prior keeps the share of the graph off the ends of its range, where the likelihood of few nodes often
    /// has its maximum although values inside are nearly as likely. Without, all estimates are those of the likelihood.
    pub prior: bool,
    /// Whether nodes may be noisier than others.
    pub noise: Noise,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
}

impl Default for CouplingOptions {
    fn default() -> Self {
        CouplingOptions {
            family: Family::Squared,
            structures: vec![Structure::Intercept, Structure::Diagonal, Structure::Full],
            rho: Rho::Learnt,
            likelihood: Likelihood::default(),
            prior: true,
            noise: Noise::default(),
            intercept: true,
        }
    }
}

/// How the share of the graph is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rho {
    /// By the likelihood.
    Learnt,
    /// Given, from 0 to below 1.
    Fixed(f64),
}

/// What was learnt, in the units of the features and the target as given.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupling {
    /// The loss.
    pub family: Family,
    /// The structure of `D`.
    pub structure: Structure,
    /// The common mean of the models.
    pub mu: Vec<f64>,
    /// `D`, positive definite: a coefficient that is shared by all has a variance too small to matter.
    pub covariance: Matrix,
    /// Coefficients that vary; the others are shared by all nodes. In scaled features, where the intercept belongs to a
    /// row of average features.
    pub varies: Vec<bool>,
    /// Share of the graph, from 0 (only the common mean) to below 1.
    pub rho: f64,
    /// Variance of the noise of a row; 1 where the loss is not squared.
    pub s2: f64,
    /// Factors on `s2`, one per node, where some are noisier than others.
    pub node_noise: Option<Vec<f64>>,
    /// `log p(y)` of all rows at these values.
    pub log_likelihood: f64,
    /// What was maximised.
    pub likelihood: Likelihood,
    /// True if a prior of the share of the graph took part.
    pub prior: bool,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
}

/// Rows and graph in the form in which they are learnt from.
struct Prepared {
    moments: Moments,
    network: Arc<Network>,
    mode_rows: Option<ModeRows>,
}

impl Prepared {
    fn new(graph: &Graph, data: &Dataset, family: Family, intercept: bool) -> Result<Self> {
        Self::on(&Arc::new(Network::new(graph)), data, family, intercept)
    }

    /// The same with a network that is known already.
    fn on(network: &Arc<Network>, data: &Dataset, family: Family, intercept: bool) -> Result<Self> {
        let network = network.clone();
        Ok(match family {
            Family::Squared => Prepared { moments: Moments::new(data, intercept), network, mode_rows: None },
            _ => {
                let rows = ModeRows::new(data, family, intercept)?;
                Prepared { moments: rows.moments().clone(), network, mode_rows: Some(rows) }
            }
        })
    }

    /// The rows divided by the deviation of their noise.
    fn weighted(mut self, noise: Option<&[f64]>) -> Result<Self> {
        if let Some(noise) = noise {
            if noise.len() != self.moments.nodes() {
                let (expected, found) = (self.moments.nodes(), noise.len());
                return Err(Error::Size { what: "nodes with a noise of their own", expected, found });
            }
            self.moments = self.moments.weighted(noise);
        }
        Ok(self)
    }

    fn task(&self, likelihood: Likelihood, prior: bool) -> Task<'_> {
        let Prepared { moments, network, mode_rows } = self;
        Task { network, moments, likelihood, prior, mode_rows: mode_rows.as_ref() }
    }
}

fn check(graph: &Graph, data: &Dataset, options: &CouplingOptions) -> Result<()> {
    if graph.nodes() != data.nodes() {
        return Err(Error::Size { what: "nodes of the dataset", expected: graph.nodes(), found: data.nodes() });
    }
    if data.dim() == 0 {
        return Err(Error::Size { what: "features", expected: 1, found: 0 });
    }
    if data.is_empty() {
        return Err(Error::Size { what: "rows to learn the coupling from", expected: 1, found: 0 });
    }
    if let Rho::Fixed(rho) = options.rho
        && !(0.0..1.0).contains(&rho)
    {
        return Err(Error::Parameter { name: "rho", value: rho, needs: "at least 0 and below 1" });
    }
    Ok(())
}
