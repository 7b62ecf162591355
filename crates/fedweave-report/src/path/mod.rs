//! A path: the same network fitted along a grid of lambda.

mod branches;
mod charts;
pub(crate) mod colours;
mod order;
mod tree;
pub(crate) mod view;

use serde::{Deserialize, Serialize};

/// The same network fitted along a grid of lambda, from models of their own towards one model for all.
///
/// Clusters need not merge only: for general weights a cluster may split as lambda grows, and nothing here assumes
/// otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Path {
    /// The points, in increasing lambda; at least one.
    pub points: Vec<PathPoint>,
    /// The point whose models the rest of the report is about, an index into `points`.
    pub chosen: usize,
}

/// What came out at one lambda of a path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathPoint {
    /// The strength of the coupling, at least 0.
    pub lambda: f64,
    /// The value of the objective at the models found there.
    pub objective: f64,
    /// A proven upper bound on `objective - minimum`; `None`: there is no certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_gap: Option<f64>,
    /// The number of clusters.
    pub clusters: usize,
    /// The error on the rows fitted to.
    pub train: f64,
    /// The error on the rows held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// The cluster of every node, in the order of [`Report::nodes`](crate::Report::nodes): numbers below `clusters`,
    /// 0 for the largest.
    pub membership: Vec<u32>,
}

impl PathPoint {
    /// The number of nodes of every cluster.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.clusters];
        self.membership.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        sizes
    }
}
