//! Decision trees by recursive splitting (CART), for weighted rows and any number of outputs.
//!
//! A node with rows of weight `c_r` and targets `y_r` predicts their weighted mean. Its split `x_j <= threshold` is the one
//! that reduces `sum_r c_r |y_r - mean|^2` most: the variance for regression, and for classes the Gini impurity. Thresholds
//! are midpoints between neighbouring values, as in scikit-learn; of splits that are equally good (up to rounding) the one
//! of the first column and the smallest threshold is taken, where scikit-learn draws one.

mod grow;
mod sort;
mod split;
mod work;

use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::options::{Limit, MaxFeatures, ModelOptions, count, not_negative, share};
use super::sample::Sample;
use super::{FitError, Task};
use crate::matrix::Rows;
use crate::random::{Purpose, stream};
use crate::trust::explain::paths::Parts;

pub(crate) use grow::midpoint;
pub(super) use work::TreeWork;

/// Options of `tree`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TreeOptions {
    /// Most splits on the way to a leaf; unlimited by default.
    pub max_depth: Limit,
    /// Fewest rows of a node that is split.
    pub min_samples_split: usize,
    /// Fewest rows of a leaf. Rows are counted, whatever their weight.
    pub min_samples_leaf: usize,
    /// Least weight of a leaf, as a share of the total weight.
    pub min_weight_leaf: f64,
    /// Least reduction of impurity by a split, weighted by the node's share of the total weight.
    pub min_impurity_decrease: f64,
    /// Features looked at per split, drawn anew for every split.
    pub max_features: MaxFeatures,
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions {
            max_depth: Limit(None),
            min_samples_split: 2,
            min_samples_leaf: 1,
            min_weight_leaf: 0.0,
            min_impurity_decrease: 0.0,
            max_features: MaxFeatures::All,
        }
    }
}

impl ModelOptions for TreeOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        vec![
            ("max-depth", self.max_depth.to_string()),
            ("min-samples-split", self.min_samples_split.to_string()),
            ("min-samples-leaf", self.min_samples_leaf.to_string()),
            ("min-weight-leaf", self.min_weight_leaf.to_string()),
            ("min-impurity-decrease", self.min_impurity_decrease.to_string()),
            ("max-features", self.max_features.to_string()),
        ]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "max-depth" => self.max_depth = Limit::parse(value)?,
            "min-samples-split" => self.min_samples_split = count(value, 2)?,
            "min-samples-leaf" => self.min_samples_leaf = count(value, 1)?,
            "min-weight-leaf" => self.min_weight_leaf = share(value, 0.5)?,
            "min-impurity-decrease" => self.min_impurity_decrease = not_negative(value)?,
            _ => self.max_features = MaxFeatures::parse(value)?,
        }
        Ok(())
    }
}

/// A node of a tree; its first child, for `x_feature <= threshold`, is the next node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The feature that is compared; [`LEAF`] where there is nothing to compare.
    pub feature: u32,
    /// The other child.
    pub second: u32,
    /// The largest value that goes to the first child.
    pub threshold: f64,
}

/// Marks leaves in place of a feature.
pub const LEAF: u32 = u32::MAX;

/// The shape of a tree and what its nodes predict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tree {
    /// Parents before children.
    pub nodes: Vec<Node>,
    /// Predictions, a row per node.
    pub values: Vec<f64>,
}

impl Tree {
    /// The leaf a row falls into.
    #[inline]
    pub(super) fn leaf(&self, x: &[f64]) -> usize {
        let mut at = 0;
        while self.nodes[at].feature != LEAF {
            let node = &self.nodes[at];
            at = if x[node.feature as usize] <= node.threshold { at + 1 } else { node.second as usize };
        }
        at
    }

    /// The prediction for a row.
    #[inline]
    pub(super) fn value(&self, x: &[f64], outputs: usize) -> &[f64] {
        let leaf = self.leaf(x);
        &self.values[leaf * outputs..(leaf + 1) * outputs]
    }

    /// What every feature adds to an output on the way of a row from the root to its leaf.
    pub(crate) fn path(&self, x: &[f64], outputs: usize, output: usize) -> Parts {
        let value = |at: usize| self.values[at * outputs + output];
        let (mut at, mut features) = (0, vec![0.0; x.len()]);
        while self.nodes[at].feature != LEAF {
            let (node, before) = (&self.nodes[at], value(at));
            at = if x[node.feature as usize] <= node.threshold { at + 1 } else { node.second as usize };
            features[node.feature as usize] += value(at) - before;
        }
        Parts { base: value(0), features }
    }

    /// Children come after their parents and exist, features exist, numbers are finite.
    pub(super) fn check(&self, features: usize, outputs: usize) -> Result<(), &'static str> {
        let nodes = self.nodes.len();
        if nodes == 0 || nodes.checked_mul(outputs) != Some(self.values.len()) {
            return Err("its numbers of nodes and values do not agree");
        }
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.feature != LEAF) {
            let second = node.second as usize;
            if second <= at + 1 || second >= nodes || node.feature as usize >= features {
                return Err("a split names a child or a feature that does not exist");
            }
        }
        let finite = self.nodes.iter().all(|n| n.threshold.is_finite()) && self.values.iter().all(|v| v.is_finite());
        if finite { Ok(()) } else { Err("a number is not finite") }
    }
}

/// A fitted tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeFit {
    /// What is predicted.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// Splits and predictions.
    pub tree: Tree,
}

pub(super) fn fit(options: &TreeOptions, sample: &Sample, seed: u64, work: &mut TreeWork) -> Result<TreeFit, FitError> {
    work.sort(sample.x);
    work.all_rows(sample.weight);
    work.targets(sample.y, sample.task == Task::Regression);
    let mut tree = Tree::default();
    work.grow(options, sample.x, &mut stream(seed, Purpose::Trees, 0), &mut tree);
    Ok(TreeFit { task: sample.task, features: sample.features(), tree })
}

impl State for TreeFit {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let outputs = self.task.outputs();
        for (r, out) in out.chunks_exact_mut(outputs).enumerate() {
            out.copy_from_slice(self.tree.value(x.row(r), outputs));
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.tree.check(self.features, self.task.outputs())
    }
}
