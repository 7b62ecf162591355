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
//! Residuals must come from rows that the predictor was not fitted to (out of fold), with folds that imitate the rows to be
//! predicted: residuals of fitted rows are too small and too little alike.
//!
//! All numbers are found by the likelihood of every residual given its nearest predecessors in a random order (Vecchia's
//! approximation, exact where few rows share a time and times are independent), with exact gradients.

mod index;
mod kernel;
mod learn;
mod observed;
mod patch;
mod space;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::Matrix;

use kernel::{AT_ONCE, COMMON, Kernel, NEARBY, OWN, PARTS};

pub use observed::{Observed, Shock};

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

/// What rows were observed beyond what the models predict, one entry per row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Residuals {
    /// Node of every row.
    pub node: Vec<u32>,
    /// Time of every row.
    pub time: Vec<f64>,
    /// Label less prediction.
    pub value: Vec<f64>,
}

impl Residuals {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.value.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    fn check(&self) -> Result<()> {
        for (what, found) in [("nodes of the residuals", self.node.len()), ("times of the residuals", self.time.len())]
        {
            if found != self.len() {
                return Err(Error::Size { what, expected: self.len(), found });
            }
        }
        for (what, numbers) in [("time", &self.time), ("residual", &self.value)] {
            if let Some(row) = numbers.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { row, what: what.into() });
            }
        }
        Ok(())
    }
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
    pub fn learn(residuals: &Residuals, geometry: &Geometry, options: &ShocksOptions) -> Result<Shocks> {
        residuals.check()?;
        learn::learn(residuals, geometry, options)
    }

    /// Prepares predictions from the residuals that are observed.
    pub fn observe(&self, observed: &Residuals, geometry: &Geometry) -> Result<Observed> {
        observed.check()?;
        Observed::new(self, observed, geometry)
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

impl fmt::Display for Shocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return write!(f, "no shared shocks: rows are alone with their errors (variance {:.4})", self.s2);
        }
        let all = self.su2() + self.s2;
        write!(f, "shared shocks explain {:.0} % of the variance of the residuals:", 100.0 * self.su2() / all)?;
        let named =
            [("all nodes share", self.common), ("close nodes share", self.nearby), ("nodes have alone", self.own)];
        for (k, (who, part)) in named.into_iter().filter_map(|(who, part)| Some((who, part?))).enumerate() {
            let comma = if k > 0 { "," } else { "" };
            write!(f, "{comma} {who} {:.0} %", 100.0 * part.variance / all)?;
            match (who, self.reach) {
                ("close nodes share", Some(Reach::Length(length))) => write!(f, " (reach {length:.4})")?,
                ("close nodes share", Some(Reach::Kappa(kappa))) => write!(f, " (kappa {kappa:.3})")?,
                _ => {}
            }
            if let Some(time) = part.lasts {
                write!(f, " fading over {time:.3} in time")?;
            }
        }
        write!(f, "; likelihood ratio {:.1} with {} parameters", self.statistic(), self.parameters)
    }
}
