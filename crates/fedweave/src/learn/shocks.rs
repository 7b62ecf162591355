//! Shared shocks: what nodes have in common at a time beyond what their models say.
//!
//! ```text
//! y_it = prediction_i(x_it) + u_it + e_it,      u a Gaussian process over nodes and times,   e ~ N(0, s2) of every row alone
//! ```
//!
//! A warm hour is warm everywhere, a polluted day at all stations of a region. The residuals of any predictor say how such
//! shocks spread over places (exponential in the distance, or `(kappa I + L)^-1` on a graph), over all nodes alike, and over
//! time; the shock of a row then follows from the residuals observed around it in place and time (kriging). This fills gaps and
//! predicts rows whose neighbours were observed; far from every observation the shock is predicted as zero.
//!
//! A predictor that is fitted to a row has already taken some of its shock, so residuals of fitted rows are small, and those of
//! rows held out are not what is at hand when new rows are predicted. [`Shocks::learn_on_folds`] learns how residuals of rows held
//! out follow from those that the model of their fold leaves at the rows it was fitted to, which is what prediction does
//! with the model of all rows. [`Shocks::learn`] needs no more than out-of-fold residuals; it serves where a predictor has many
//! rows for each of its parameters.
//!
//! All numbers are found by the likelihood of every residual given those that tell most about it (Vecchia's approximation), with
//! exact gradients. With [`Shocks::learn`], where rows follow a random order, it is the likelihood of all residuals where few rows
//! share a time and times are independent.

mod index;
mod kernel;
mod learn;
mod observed;
mod panels;
mod patch;
mod residuals;
mod space;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::Graph;
use crate::matrix::Matrix;

use kernel::{AT_ONCE, COMMON, Kernel, NEARBY, OWN, PARTS};
use panels::Panels;

pub use observed::{Observed, Shock};
pub use residuals::{FoldResiduals, Residuals};

/// What says which nodes are close.
#[derive(Debug, Clone, Copy)]
pub enum Geometry<'a> {
    /// Coordinates, a row per node. Nodes with a coordinate that is not a number have no place: they share only what all do.
    Positions(&'a Matrix, Metric),
    /// Neighbours of a graph are close, and their neighbours, less so.
    Graph(&'a Graph),
    /// Nothing: all nodes share a time alike.
    None,
}

/// How distances are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Straight lines, in the units of the coordinates.
    Euclidean,
    /// Great circles between latitudes and longitudes in degrees, in kilometres.
    GreatCircle,
}

/// What times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// Numbers whose differences mean something: shocks may last.
    Numbers,
    /// Codes of times, or of any other group that nodes share: different ones have nothing in common.
    Labels,
}

/// How to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct ShocksOptions {
    /// What times are.
    pub time: Time,
    /// Rows whose likelihood is maximised, at most; they are drawn from all, and each is given its neighbours among all.
    pub rows_max: usize,
    /// Neighbours that a row is given while learning.
    pub neighbours: usize,
}

impl Default for ShocksOptions {
    fn default() -> Self {
        ShocksOptions { time: Time::Labels, rows_max: 3000, neighbours: 30 }
    }
}

/// One part of the shocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its variance.
    pub variance: f64,
    /// Time in which it fades by a factor of e; `None` if it is over with its time.
    pub lasts: Option<f64>,
}

/// How far shocks that are shared by close nodes reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Distance over which they fade by a factor of e.
    Length(f64),
    /// `kappa` of `(kappa I + L)^-1`, as a share of the mean degree of the graph.
    Kappa(f64),
}

/// What was learnt about shocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shocks {
    /// Shocks that all nodes share.
    pub common: Option<Part>,
    /// Shocks that close nodes share; on a graph, the mean of their variances over the nodes.
    pub nearby: Option<Part>,
    /// Shocks of one node that outlast their time.
    pub own: Option<Part>,
    /// How far those of `nearby` reach.
    pub reach: Option<Reach>,
    /// Variance of what is of every row alone.
    pub s2: f64,
    /// What times are.
    pub time: Time,
    /// Log-likelihood of the residuals.
    pub log_likelihood: f64,
    /// The same if there were no shocks.
    pub log_likelihood_without: f64,
    /// Number of parameters that were learnt beyond the noise.
    pub parameters: usize,
}

impl Shocks {
    /// Learns from out-of-fold residuals. If shocks do not explain them better than chance would, there are none.
    ///
    /// Where a predictor has few rows for its many parameters, [`Shocks::learn_on_folds`] is the better choice: it allows for
    /// what the predictor has already taken from the rows around the one to be predicted.
    pub fn learn(residuals: &Residuals, geometry: &Geometry, options: &ShocksOptions) -> Result<Shocks> {
        residuals.check()?;
        learn::learn(Panels::in_random_order(residuals, options.time), geometry, options)
    }

    /// Learns how residuals of rows held out follow from those that the model of their fold has at the rows it was fitted to:
    /// what is done when new rows are predicted from the residuals of all rows.
    pub fn learn_on_folds(folds: &[FoldResiduals], geometry: &Geometry, options: &ShocksOptions) -> Result<Shocks> {
        folds.iter().try_for_each(FoldResiduals::check)?;
        learn::learn(Panels::of_folds(folds, options.time), geometry, options)
    }

    /// Prepares predictions from observed residuals: what the predictor leaves of the rows it was fitted to (after
    /// [`Shocks::learn_on_folds`]; after [`Shocks::learn`] their out-of-fold residuals), and of new rows that are known.
    pub fn observe(&self, observed: &Residuals, geometry: &Geometry) -> Result<Observed> {
        observed.check()?;
        Observed::new(self, observed, geometry)
    }

    /// The shocks of the rows held out of every fold, predicted from the rows that its model was fitted to; zero, with all
    /// their variance, for rows that were never held out.
    pub fn held_out(&self, folds: &[FoldResiduals], geometry: &Geometry) -> Result<Vec<Shock>> {
        let rows = folds.iter().map(|fold| fold.held_out.len()).max().unwrap_or(0);
        let mut shocks = vec![Shock { mean: 0.0, variance: self.su2() }; rows];
        for fold in folds {
            fold.check()?;
            let observed = self.observe(&fold.part(false), geometry)?;
            let held_out = fold.part(true);
            let places = (0..).zip(&fold.held_out).filter(|(_, out)| **out).map(|(row, _): (usize, _)| row);
            let found = observed.predict_rows(&held_out.node, &held_out.time)?;
            places.zip(found).for_each(|(row, shock)| shocks[row] = shock);
        }
        Ok(shocks)
    }

    /// Total variance of the shocks.
    pub fn su2(&self) -> f64 {
        [self.common, self.nearby, self.own].iter().flatten().map(|part| part.variance).sum()
    }

    /// True if there are none.
    pub fn is_none(&self) -> bool {
        self.common.is_none() && self.nearby.is_none() && self.own.is_none()
    }

    /// Twice the logarithm of the likelihood ratio against "no shocks".
    pub fn statistic(&self) -> f64 {
        2.0 * (self.log_likelihood - self.log_likelihood_without)
    }

    fn kernel(&self) -> Kernel {
        let mut kernel = Kernel { variance: [0.0; PARTS], fading: [AT_ONCE; PARTS], decay: None, noise: self.s2 };
        for (k, part) in [(COMMON, self.common), (NEARBY, self.nearby), (OWN, self.own)] {
            if let Some(part) = part {
                kernel.variance[k] = part.variance;
                kernel.fading[k] = part.lasts.map_or(AT_ONCE, |t| 1.0 / t);
            }
        }
        kernel.decay = match self.reach {
            Some(Reach::Length(length)) => Some(1.0 / length),
            Some(Reach::Kappa(_)) => None,
            None => Some(1.0),
        };
        kernel
    }

    fn kappa(&self) -> f64 {
        match self.reach {
            Some(Reach::Kappa(kappa)) => kappa,
            _ => 1.0,
        }
    }
}
