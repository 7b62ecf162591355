//! One fitted predictor, as plain data: a trunk that all nodes share, a linear model of every node, shared shocks, or some of
//! them together.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::learn::shocks::{Geometry, Observed, Residuals, Shocks};
use crate::learn::trunk::Trunk;
use crate::matrix::{Matrix, dot};

/// What the linear model of a node is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeafInput {
    /// The features. A trunk, if there is one, predicts what the linear models leave.
    Features,
    /// The score of the trunk, and an intercept.
    Trunk,
    /// The features, and the score of the trunk before the intercept.
    Both,
}

/// A linear model at every node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leaves {
    /// What it is fed with.
    pub input: LeafInput,
    /// Number of parameters of a node.
    pub dim: usize,
    /// The parameters, node after node.
    pub w: Vec<f64>,
}

impl Leaves {
    /// Models, a row per node; rows beyond the last node (a hub) are left out.
    pub fn new(input: LeafInput, w: &Matrix, nodes: usize) -> Leaves {
        Leaves { input, dim: w.cols(), w: w.as_slice()[..nodes * w.cols()].to_vec() }
    }

    /// The model of a node.
    pub fn model(&self, node: usize) -> &[f64] {
        &self.w[node * self.dim..(node + 1) * self.dim]
    }

    fn score(&self, node: usize, x: &[f64], trunk: f64) -> f64 {
        let w = self.model(node);
        match self.input {
            LeafInput::Features => dot(x, w) + trunk,
            LeafInput::Trunk => trunk * w[0] + w[1],
            LeafInput::Both => {
                let features = x.len() - 1;
                dot(&x[..features], &w[..features]) + trunk * w[features] + w[features + 1]
            }
        }
    }
}

/// Shared shocks, and the residuals they are predicted from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberShocks {
    /// What was learnt about them.
    pub shocks: Shocks,
    /// Residuals of the training rows that they are predicted from.
    pub residuals: Residuals,
}

/// A predictor of all nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its share of the prediction.
    pub share: f64,
    /// Boosted trees on all rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trunk: Option<Trunk>,
    /// A linear model at every node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leaves: Option<Leaves>,
    /// What nodes share at a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shocks: Option<MemberShocks>,
}

impl Member {
    /// A predictor without anything.
    pub fn new(name: impl Into<String>) -> Member {
        Member { name: name.into(), share: 1.0, trunk: None, leaves: None, shocks: None }
    }

    /// The score of a row without shocks. `x` are scaled features with the intercept, `described` the same without it but with
    /// the attributes of the node.
    pub fn score(&self, node: usize, x: &[f64], described: &[f64]) -> f64 {
        let trunk = self.trunk.as_ref().map_or(0.0, |trunk| trunk.score(described, Some(node as u32)));
        self.leaves.as_ref().map_or(trunk, |leaves| leaves.score(node, x, trunk))
    }

    /// Prepares predictions of shocks; `more` are residuals of rows observed since.
    pub fn observe(&self, more: Option<&Residuals>, geometry: &Geometry) -> Result<Option<Observed>> {
        let Some(MemberShocks { shocks, residuals }) = &self.shocks else { return Ok(None) };
        let mut all = residuals.clone();
        if let Some(more) = more {
            all.node.extend(&more.node);
            all.time.extend(&more.time);
            all.value.extend(&more.value);
        }
        shocks.observe(&all, geometry).map(Some)
    }
}

/// Features of a row for a trunk: those of the row without the intercept, then the attributes of its node.
pub fn described(x: &[f64], intercept: bool, attributes: Option<&[f64]>) -> Vec<f64> {
    let features = &x[..x.len() - usize::from(intercept)];
    features.iter().chain(attributes.into_iter().flatten()).copied().collect()
}
