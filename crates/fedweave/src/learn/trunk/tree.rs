//! Trees as plain data.

use serde::{Deserialize, Serialize};

/// A grown tree; node 0 is its root.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrunkTree {
    /// Nodes; children come after their parents.
    pub nodes: Vec<TrunkNode>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrunkNode {
    /// A leaf.
    Leaf {
        /// What it adds to the score, learning rate included.
        value: f64,
    },
    /// Rows with `x_feature <= threshold` go left.
    Threshold {
        /// The feature.
        feature: usize,
        /// The threshold.
        threshold: f64,
        /// The node on the left.
        left: usize,
        /// The node on the right.
        right: usize,
    },
    /// Rows of these categories go left; all others, and rows without a category, go right.
    Categories {
        /// Categories in order.
        categories: Vec<u32>,
        /// The node on the left.
        left: usize,
        /// The node on the right.
        right: usize,
    },
}

impl TrunkTree {
    /// What the tree adds to the score of a row.
    pub fn score(&self, x: &[f64], category: Option<u32>) -> f64 {
        let mut at = 0;
        loop {
            at = match &self.nodes[at] {
                TrunkNode::Leaf { value } => return *value,
                TrunkNode::Threshold { feature, threshold, left, right } => {
                    if x[*feature] <= *threshold {
                        *left
                    } else {
                        *right
                    }
                }
                TrunkNode::Categories { categories, left, right } => match category {
                    Some(category) if categories.binary_search(&category).is_ok() => *left,
                    _ => *right,
                },
            }
        }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, TrunkNode::Leaf { .. })).count()
    }

    /// What is wrong with a tree that was read, if anything.
    pub(super) fn check(&self, features: usize) -> Result<(), &'static str> {
        let below = |at: usize, child: usize| at < child && child < self.nodes.len();
        let sound = |(at, node): (usize, &TrunkNode)| match node {
            TrunkNode::Leaf { value } => value.is_finite(),
            TrunkNode::Threshold { feature, threshold, left, right } => {
                *feature < features && threshold.is_finite() && below(at, *left) && below(at, *right)
            }
            TrunkNode::Categories { categories, left, right } => {
                categories.is_sorted() && below(at, *left) && below(at, *right)
            }
        };
        match !self.nodes.is_empty() && self.nodes.iter().enumerate().all(sound) {
            true => Ok(()),
            false => Err("a tree of the trunk is not well formed"),
        }
    }
}
