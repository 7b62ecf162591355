//! What candidates are given: the rows, the graph, and what else is known about nodes and times.

use rayon::prelude::*;

use super::cost::Cost;
use super::member::{Member, described};
use crate::dataset::Dataset;
use crate::graph::Graph;
use crate::loss::Family;
use crate::matrix::Matrix;
use crate::solve::{Record, Watch};

/// Sees what solvers do, several at a time, and may stop them.
pub type Watcher<'a> = dyn Fn(&Record) -> Watch + Sync + 'a;

/// Labelled rows and what is known about them.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Who is near whom.
    pub graph: &'a Graph,
    /// Scaled features, a column of ones last if there is an intercept.
    pub data: &'a Dataset,
    /// The loss.
    pub family: Family,
    /// What candidates are judged by.
    pub cost: Cost,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
    /// The group of every row, where whole groups are held out together.
    pub groups: Option<&'a [u32]>,
    /// Numbers that describe nodes, such as their position: a row per node.
    pub attributes: Option<&'a Matrix>,
}

impl Rows<'_> {
    /// What predictors say of the rows, without shocks: `of_row` names the one that is asked, NaN where there is none.
    pub fn predict<'m>(&self, of_row: impl Fn(usize) -> Option<&'m Member> + Sync) -> Vec<f64> {
        let predict = |node: usize, row: usize| {
            let Some(member) = of_row(row) else { return f64::NAN };
            let x = self.data.x(row);
            // Only trees look at it.
            let seen = match member.trunk {
                Some(_) => described(x, self.intercept, self.attributes.map(|a| a.row(node))),
                None => Vec::new(),
            };
            self.cost.respond(member.score(node, x, &seen))
        };
        let of_node = |node: usize| self.data.rows(node).map(|row| predict(node, row)).collect::<Vec<f64>>();
        (0..self.data.nodes()).into_par_iter().flat_map_iter(of_node).collect()
    }

    /// Mean error over nodes of predictions for all rows (NaN: none).
    pub fn error(&self, predictions: &[f64]) -> f64 {
        self.cost.errors(self.data, predictions).mean().unwrap_or(f64::INFINITY)
    }

    /// How much each row counts where every node counts the same; 0 for rows without a prediction.
    pub fn node_weights(&self, predictions: &[f64]) -> Vec<f64> {
        let judged = |i: usize| self.data.rows(i).filter(|&r| !predictions[r].is_nan());
        let nodes = (0..self.data.nodes()).filter(|&i| judged(i).next().is_some()).count().max(1) as f64;
        let mut weight = vec![0.0; predictions.len()];
        for node in 0..self.data.nodes() {
            let start = self.data.rows(node).start;
            let total: f64 = judged(node).map(|r| self.data.weights(node)[r - start]).sum();
            if total > 0.0 {
                judged(node).for_each(|r| weight[r] = self.data.weights(node)[r - start] / (total * nodes));
            }
        }
        weight
    }
}
