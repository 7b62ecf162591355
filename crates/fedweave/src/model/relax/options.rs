//! How nodes update.

use crate::error::{Error, Result};
use crate::solve::{JudgedOn, Order};

/// Rounds if nobody says how many, as in the paper.
pub const ROUNDS: usize = 5;

/// Options of FedRelax on predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelaxOptions {
    /// Strength of the coupling, the paper's `alpha`.
    pub lambda: f64,
    /// All nodes at once (the paper's), or one after another. Default together.
    pub order: Order,
    /// On whose public rows nodes are compared. Default the neighbours', as in the paper.
    pub judged_on: JudgedOn,
    /// What a row weighs. Default by means.
    pub weighting: Weighting,
    /// Standard normal rows, labelled by the node's own current model, that join every fit; 0 for none (the default), 100 in
    /// the paper.
    pub distil: usize,
    /// The models before the first round. Default local.
    pub start: RelaxStart,
    /// Everything random follows from it.
    pub seed: u64,
}

impl Default for RelaxOptions {
    fn default() -> Self {
        RelaxOptions {
            lambda: 0.0,
            order: Order::Together,
            judged_on: JudgedOn::Neighbours,
            weighting: Weighting::Means,
            distil: 0,
            start: RelaxStart::Local,
            seed: 0,
        }
    }
}

/// What a row weighs in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// Own rows `1 / m_i`, public rows `lambda A_ij / |P_j|`: the terms of `F`.
    #[default]
    Means,
    /// Own rows 1, public rows `lambda A_ij`, as in the paper's experiments with trees.
    Plain,
}

/// The models before the first round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelaxStart {
    /// Fitted to the node's own rows.
    #[default]
    Local,
    /// Not fitted: predictions are 0, or all classes alike.
    Blank,
}

impl RelaxOptions {
    /// Orders by name, the default first.
    pub const ORDERS: [(&'static str, Order); 2] = [("together", Order::Together), ("in-turn", Order::InTurn)];
    /// Public rows to be judged on by name, the default first.
    pub const JUDGED_ON: [(&'static str, JudgedOn); 2] =
        [("neighbours", JudgedOn::Neighbours), ("both", JudgedOn::Both)];
    /// Weightings by name, the default first.
    pub const WEIGHTINGS: [(&'static str, Weighting); 2] = [("means", Weighting::Means), ("plain", Weighting::Plain)];

    pub(super) fn check(&self) -> Result<()> {
        match self.lambda >= 0.0 && self.lambda.is_finite() {
            true => Ok(()),
            false => {
                Err(Error::Parameter { name: "lambda", value: self.lambda, needs: "zero or positive, and finite" })
            }
        }
    }

    /// Total weight of the own rows of a node.
    pub fn own_weight(&self, rows: usize) -> f64 {
        match self.weighting {
            Weighting::Means => 1.0,
            Weighting::Plain => rows as f64,
        }
    }

    /// Weight of one public row of an edge.
    pub fn row_weight(&self, edge: f64, rows: usize) -> f64 {
        match self.weighting {
            Weighting::Means => self.lambda * edge / rows.max(1) as f64,
            Weighting::Plain => self.lambda * edge,
        }
    }
}
