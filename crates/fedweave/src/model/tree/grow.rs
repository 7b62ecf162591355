//! Growing a tree, depth first. Every feature keeps the rows of a node sorted in one range of its own; a split cuts all
//! these ranges in two and keeps their order, so that nothing is sorted again.

use rand::{Rng, RngExt};

use super::split::{Sides, SplitCut, scan};
use super::work::TreeWork;
use super::{LEAF, Node, Tree, TreeOptions};
use crate::matrix::Rows;
use crate::unroll::by_dim;

/// A node that is not grown yet.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    start: usize,
    end: usize,
    depth: usize,
    /// The node whose second child this is.
    second_of: Option<usize>,
}

/// Variances below this are zero up to rounding; targets are of size one.
const PURE: f64 = 1e-15;

impl TreeWork {
    /// Grows a tree on the rows, weights and targets given before. `tree` is overwritten.
    pub fn grow(&mut self, options: &TreeOptions, x: Rows, rng: &mut impl Rng, tree: &mut Tree) {
        tree.nodes.clear();
        tree.values.clear();
        self.columns.clear();
        self.columns.extend(0..x.cols() as u32);
        let rows = self.entries.len() / x.cols();
        let whole = self.sum(0..rows).1;
        self.stack.clear();
        self.stack.push(Pending { start: 0, end: rows, depth: 0, second_of: None });
        while let Some(pending) = self.stack.pop() {
            let (at, square) = self.open(pending, tree);
            if self.is_pure(square) {
                continue;
            }
            if let Some(cut) = self.choose(options, pending, rows, whole, rng) {
                self.divide(options, pending, cut, rows, at, x, tree);
            }
        }
    }

    /// Appends a leaf for some rows; also returns their sum of squares.
    fn open(&mut self, pending: Pending, tree: &mut Tree) -> (usize, f64) {
        let at = tree.nodes.len();
        if let Some(parent) = pending.second_of {
            tree.nodes[parent].second = at as u32;
        }
        tree.nodes.push(Node { feature: LEAF, second: 0, threshold: 0.0 });
        let square = self.sum(pending.start..pending.end).0;
        let weight = self.total[0];
        let values = self.total[1..].iter().zip(&self.centre);
        tree.values.extend(values.map(|(s, c)| c + self.scale * (s / weight)));
        (at, square)
    }

    /// Sums of the statistics over some rows go to `total`; returns the sums of squares and of weights.
    fn sum(&mut self, range: std::ops::Range<usize>) -> (f64, f64) {
        self.total.fill(0.0);
        let (width, mut square) = (self.total.len(), 0.0);
        for entry in &self.entries[range] {
            let row = *entry as u32 as usize;
            let stat = &self.stats[row * width..(row + 1) * width];
            self.total.iter_mut().zip(stat).for_each(|(t, s)| *t += s);
            square += self.squares[row];
        }
        (square, self.total[0])
    }

    /// The best cut of a node, or none where the options make it a leaf. `total` holds its sums.
    fn choose(
        &mut self,
        options: &TreeOptions,
        node: Pending,
        rows: usize,
        whole: f64,
        rng: &mut impl Rng,
    ) -> Option<SplitCut> {
        let (len, least) = (node.end - node.start, options.min_weight_leaf * whole);
        let too_deep = options.max_depth.0.is_some_and(|depth| node.depth >= depth);
        let too_few = len < options.min_samples_split.max(2 * options.min_samples_leaf);
        if too_deep || too_few || self.total[0] < 2.0 * least {
            return None;
        }
        let sides = Sides { rows: options.min_samples_leaf, weight: least };
        let cut = self.search(options, node, rows, sides, rng);
        let decrease = cut.gain() / self.total[0] / whole * self.scale * self.scale;
        (cut.found() && decrease + f64::EPSILON >= options.min_impurity_decrease).then_some(cut)
    }

    /// Whether the targets of the node whose sums are in `total` do not vary.
    fn is_pure(&self, square: f64) -> bool {
        let weight = self.total[0];
        let mean = self.total[1..].iter().map(|s| (s / weight).powi(2)).sum::<f64>();
        square / weight - mean <= PURE
    }

    /// Looks at the features in order, or at as many as asked for in an order drawn for this node; more, if those have
    /// only one value here.
    fn search(
        &mut self,
        options: &TreeOptions,
        node: Pending,
        rows: usize,
        sides: Sides,
        rng: &mut impl Rng,
    ) -> SplitCut {
        let d = self.columns.len();
        let wanted = options.max_features.of(d);
        let (mut best, mut constant) = (SplitCut::NONE, 0);
        for looked in 0..d {
            if looked >= wanted && looked > constant {
                break;
            }
            if wanted < d {
                self.columns.swap(looked, rng.random_range(looked..d));
            }
            let feature = self.columns[looked] as usize;
            let entries = &self.entries[feature * rows + node.start..feature * rows + node.end];
            if entries[0] >> 32 == entries[entries.len() - 1] >> 32 {
                constant += 1;
                continue;
            }
            let (stats, total, left) = (&self.stats, &self.total, &mut self.left);
            by_dim!(total.len() - 1, scan(entries, feature, stats, total, sides, left, &mut best));
        }
        best
    }

    /// Turns the leaf `at` into a split and puts its children on the stack.
    #[allow(clippy::too_many_arguments, reason = "one call, from the loop")]
    fn divide(
        &mut self,
        options: &TreeOptions,
        node: Pending,
        cut: SplitCut,
        rows: usize,
        at: usize,
        x: Rows,
        tree: &mut Tree,
    ) {
        let sorted = &self.entries[cut.feature * rows + node.start..cut.feature * rows + node.end];
        let value = |i: usize| x.row(sorted[i] as u32 as usize)[cut.feature];
        tree.nodes[at].feature = cut.feature as u32;
        tree.nodes[at].threshold = midpoint(value(cut.len - 1), value(cut.len));
        for (i, entry) in sorted.iter().enumerate() {
            self.first[*entry as u32 as usize] = u8::from(i < cut.len);
        }
        // Leaves need no order: their rows are read from the first column.
        let last = options.max_depth.0.is_some_and(|depth| node.depth + 1 >= depth);
        for feature in 0..if last { 1 } else { x.cols() } {
            if feature != cut.feature {
                self.partition(feature * rows + node.start..feature * rows + node.end, feature == 0);
            }
        }
        let middle = node.start + cut.len;
        let depth = node.depth + 1;
        self.stack.push(Pending { start: middle, end: node.end, depth, second_of: Some(at) });
        self.stack.push(Pending { start: node.start, end: middle, depth, second_of: None });
    }

    /// Rows of the first child before those of the second, each in their order. A feature with one value in this node is
    /// never cut again: only the first column, from which rows are read, must be in order then.
    fn partition(&mut self, range: std::ops::Range<usize>, always: bool) {
        let entries = &mut self.entries[range];
        if !always && entries[0] >> 32 == entries[entries.len() - 1] >> 32 {
            return;
        }
        let (mut kept, mut moved) = (0, 0);
        for i in 0..entries.len() {
            let entry = entries[i];
            let first = usize::from(self.first[entry as u32 as usize]);
            entries[kept] = entry;
            self.temp[moved] = entry;
            kept += first;
            moved += 1 - first;
        }
        entries[kept..].copy_from_slice(&self.temp[..moved]);
    }
}

/// Between two values; never the upper one, also if they are neighbours among the floats.
pub(crate) fn midpoint(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    if middle >= high || middle < low { low } else { middle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midpoints_separate() {
        let next = f64::from_bits(1.0f64.to_bits() + 1);
        for (low, high) in [(1.0, next), (-f64::MAX, f64::MAX), (0.0, f64::MIN_POSITIVE), (5e-324, 1e-323), (-1.0, 3.0)]
        {
            let middle = midpoint(low, high);
            assert!(low <= middle && middle < high, "{low} {middle} {high}");
        }
        assert_eq!(midpoint(-1.0, 3.0), 1.0);
    }
}
