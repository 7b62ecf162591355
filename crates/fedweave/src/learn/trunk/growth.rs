//! Growing a tree, leaf by leaf, from histograms that someone else sums up.
//!
//! [`Growth`] decides and sees no rows; whoever holds rows ([`Share`](super::share::Share)) carries out its [`Order`]s and answers with histograms.
//! One machine holds one share; a federation adds up the answers of its parts, and grows the same tree, bit for bit.

use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::histogram::{Cell, Histograms};
use super::split::{Cut, Split, SplitRule};
use super::tree::{TrunkNode, TrunkTree};

/// Divide a leaf: its left side keeps the number, the right side is leaf `right`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The leaf to divide.
    pub leaf: usize,
    /// The number of its right side.
    pub right: usize,
    /// How.
    pub cut: Cut,
    /// The leaf whose histograms are asked for: the lighter of the two, or none if neither will be divided further.
    pub wanted: Option<usize>,
}

/// A tree that grows.
#[derive(Debug)]
pub struct Growth<'a> {
    rule: &'a SplitRule,
    bins: &'a Bins,
    columns: &'a [bool],
    leaves_max: usize,
    leaves: Vec<Leaf>,
    nodes: Vec<TrunkNode>,
    waiting: Option<Order>,
}

#[derive(Debug)]
struct Leaf {
    node: usize,
    total: Cell,
    offset: f64,
    histograms: Histograms,
    split: Option<Split>,
}

impl<'a> Growth<'a> {
    /// A tree with one leaf, which has these histograms. Only columns marked in `columns` are split.
    pub fn new(rule: &'a SplitRule, bins: &'a Bins, columns: &'a [bool], leaves_max: usize, root: Histograms) -> Self {
        let total = root.total(bins);
        let mut growth =
            Growth { rule, bins, columns, leaves_max, leaves: Vec::new(), nodes: Vec::new(), waiting: None };
        growth.nodes.push(TrunkNode::Leaf { value: 0.0 });
        growth.leaves.push(Leaf { node: 0, total, offset: 0.0, histograms: root, split: None });
        growth.look(0);
        growth
    }

    /// What to do next: divide the leaf whose split gains most, the first of equals. `None` when the tree is grown.
    pub fn order(&mut self) -> Option<Order> {
        if self.leaves.len() >= self.leaves_max {
            return None;
        }
        let gain = |leaf: &Leaf| leaf.split.as_ref().map_or(0.0, |split| split.gain);
        let mut best = 0;
        for leaf in 1..self.leaves.len() {
            if gain(&self.leaves[leaf]) > gain(&self.leaves[best]) {
                best = leaf;
            }
        }
        let split = self.leaves[best].split.take()?;
        let order = self.divide(best, split);
        self.waiting = order.wanted.is_some().then(|| order.clone());
        Some(order)
    }

    /// The histograms that the last order asked for, summed over all shares.
    pub fn receive(&mut self, histograms: Histograms) {
        let Some(Order { leaf, right, wanted, .. }) = self.waiting.take() else { return };
        let mut other = std::mem::take(&mut self.leaves[leaf].histograms);
        other.subtract(&histograms);
        let (own, rest) = if wanted == Some(leaf) { (leaf, right) } else { (right, leaf) };
        self.leaves[own].histograms = histograms;
        self.leaves[rest].histograms = other;
        self.look(leaf);
        self.look(right);
    }

    /// The values of the leaves, in the order of their numbers, and the tree.
    pub fn finish(mut self, learning_rate: f64) -> (Vec<f64>, TrunkTree) {
        let values: Vec<f64> =
            self.leaves.iter().map(|leaf| learning_rate * (self.rule.step(leaf.total) - leaf.offset)).collect();
        for (leaf, value) in self.leaves.iter().zip(&values) {
            self.nodes[leaf.node] = TrunkNode::Leaf { value: *value };
        }
        (values, TrunkTree { nodes: self.nodes })
    }

    fn look(&mut self, leaf: usize) {
        let Leaf { total, histograms, .. } = &self.leaves[leaf];
        if self.rule.divisible(*total) {
            self.leaves[leaf].split = self.rule.best_split(histograms, self.bins, self.columns);
        }
    }

    fn divide(&mut self, leaf: usize, split: Split) -> Order {
        let (right, left_node, right_node) = (self.leaves.len(), self.nodes.len(), self.nodes.len() + 1);
        self.nodes[self.leaves[leaf].node] = self.node(&split.cut, left_node, right_node);
        self.nodes.extend([TrunkNode::Leaf { value: 0.0 }, TrunkNode::Leaf { value: 0.0 }]);
        let base = self.rule.step(self.leaves[leaf].total);
        let before = self.leaves[leaf].offset;
        let offset = |side| before + (1.0 - split.belief) * (self.rule.step(side) - base);
        let (left_offset, right_offset) = (offset(split.left), offset(split.right));
        self.leaves[leaf].offset = left_offset;
        self.leaves[leaf].node = left_node;
        self.leaves[leaf].total = split.left;
        self.leaves.push(Leaf {
            node: right_node,
            total: split.right,
            offset: right_offset,
            histograms: Histograms::default(),
            split: None,
        });
        let last = self.leaves.len() >= self.leaves_max;
        let further = self.rule.divisible(split.left) || self.rule.divisible(split.right);
        let lighter = if split.left.weight <= split.right.weight { leaf } else { right };
        Order { leaf, right, cut: split.cut, wanted: (further && !last).then_some(lighter) }
    }

    fn node(&self, cut: &Cut, left: usize, right: usize) -> TrunkNode {
        match cut {
            Cut::Bin { feature, bin } => {
                let threshold = self.bins.edge(*feature, *bin);
                TrunkNode::Threshold { feature: *feature, threshold, left, right }
            }
            Cut::Categories(categories) => {
                let categories = categories.iter().map(|c| u32::from(*c)).collect();
                TrunkNode::Categories { categories, left, right }
            }
        }
    }
}
