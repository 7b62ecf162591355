//! A common trunk: gradient boosted trees on the rows of all nodes together, for what all nodes share.
//!
//! ```text
//! score(x, c) = start + sum_t tree_t(x, c)
//! ```
//!
//! Each tree takes a damped Newton step on the loss: it is grown leaf by leaf, the leaf that gains most first, and a leaf with
//! slopes `G` and curvatures `H` adds `-rate G / (H + l2)`. The node of a row is a category `c`, which splits can divide in two.
//!
//! Trees are grown from histograms alone, sums over bins of features in exact integer arithmetic ([`fixed`]): a federation
//! that adds up the histograms of its parts grows the same trees, and so does any number of threads. [`Growth`] decides
//! without rows, [`Share`] holds rows without deciding.
//!
//! ```
//! use fedweave::Matrix;
//! use fedweave::learn::trunk::{Trunk, TrunkLoss, TrunkOptions, TrunkRows};
//!
//! let x = Matrix::from_rows(1, (0..40).map(f64::from).collect());
//! let y: Vec<f64> = (0..40).map(|i| if i < 20 { 1.0 } else { 3.0 }).collect();
//! let rows = TrunkRows { x: x.view(), category: None, y: &y, weight: &[1.0; 40] };
//! let options = TrunkOptions { rounds: 300, l2: 0.0, ..Default::default() };
//! let trunk = Trunk::fit(&rows, TrunkLoss::Squared, &options)?;
//! assert!((trunk.score(&[5.0], None) - 1.0).abs() < 1e-3);
//! assert!((trunk.score(&[35.0], None) - 3.0).abs() < 1e-3);
//! # Ok::<(), fedweave::Error>(())
//! ```

mod bins;
mod boost;
mod cross_fit;
pub mod fixed;
mod forest;
mod growth;
mod histogram;
mod loss;
mod rows;
mod share;
mod split;
#[cfg(test)]
mod tests;
mod tree;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use bins::Bins;
pub use cross_fit::{CrossFit, GoOn, Tried, cross_fit, cross_fit_while};
pub use forest::cross_fit_forest;
pub use growth::{Growth, Order};
pub use histogram::{Cell, Histograms, Sums};
pub use loss::TrunkLoss;
pub use rows::TrunkRows;
pub use share::{BinnedRows, Share};
pub use split::{Cut, Split, SplitRule};
pub use tree::{TrunkNode, TrunkTree};

/// How a trunk is grown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrunkOptions {
    /// Number of trees; the most there may be where the number is chosen by [`cross_fit`].
    pub rounds: usize,
    /// Share of every step that is taken.
    pub learning_rate: f64,
    /// Most leaves of a tree.
    pub leaves: usize,
    /// Least weight of the rows of a leaf: their number, where all weigh 1.
    pub rows_min: f64,
    /// Added to the curvature of a leaf; in rows, where the loss is squared.
    pub l2: f64,
    /// Share of the columns that each tree may split, drawn anew for every tree.
    pub columns: f64,
    /// Most bins of a feature.
    pub bins_max: usize,
    /// Curvature with which the ratio of a category is drawn to that of its leaf before categories are put in order.
    pub category_smoothing: f64,
    /// How many times the gain that a division of categories has by chance is taken off: 1 where categories are many and
    /// small, 0 where what looks like noise within categories is none.
    pub category_caution: f64,
    /// Seed of the columns drawn.
    pub seed: u64,
}

impl Default for TrunkOptions {
    fn default() -> Self {
        TrunkOptions {
            rounds: 1500,
            learning_rate: 0.05,
            leaves: 12,
            rows_min: 5.0,
            l2: 1.0,
            columns: 1.0,
            bins_max: 255,
            category_smoothing: 10.0,
            category_caution: 1.0,
            seed: 0,
        }
    }
}

impl TrunkOptions {
    /// What [`cross_fit`] should choose from where nothing is known about the rows: small and larger trees, on all columns
    /// and on half of them, held back by caution with categories or else by larger leaves. Each is best on some table, by a
    /// few percent and more: without caution where nodes differ in a trend, half of the columns where features say the same
    /// in different words.
    pub fn candidates() -> Vec<TrunkOptions> {
        let mut candidates = Vec::new();
        for leaves in [4, 12] {
            for (category_caution, rows_min) in [(1.0, 5.0), (0.0, 20.0)] {
                for columns in [1.0, 0.5] {
                    candidates.push(TrunkOptions { leaves, rows_min, category_caution, columns, ..Default::default() });
                }
            }
        }
        candidates
    }

    fn check(&self) -> Result<()> {
        let positive = "positive and finite";
        let rules = [
            ("learning rate", self.learning_rate, self.learning_rate > 0.0, positive),
            ("leaves", self.leaves as f64, self.leaves >= 2, "at least 2"),
            ("rows of a leaf", self.rows_min, self.rows_min >= 0.0, "zero or positive"),
            ("l2", self.l2, self.l2 >= 0.0, "zero or positive"),
            ("share of columns", self.columns, self.columns > 0.0 && self.columns <= 1.0, "above 0 and at most 1"),
            ("bins", self.bins_max as f64, (2..=bins::BINS_MOST).contains(&self.bins_max), "2 to 65536"),
            ("smoothing of categories", self.category_smoothing, self.category_smoothing >= 0.0, "zero or positive"),
            ("caution with categories", self.category_caution, self.category_caution >= 0.0, "zero or positive"),
        ];
        match rules.into_iter().find(|(_, value, fits, _)| !fits || !value.is_finite()) {
            Some((name, value, _, needs)) => Err(Error::Parameter { name, value, needs }),
            None => Ok(()),
        }
    }
}

/// A grown trunk: plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trunk {
    /// What it was grown for.
    pub loss: TrunkLoss,
    /// Number of numeric features.
    pub features: usize,
    /// The score before the first tree.
    pub start: f64,
    /// The trees, learning rate included.
    pub trees: Vec<TrunkTree>,
}

impl Trunk {
    /// Grows a trunk on all rows.
    pub fn fit(rows: &TrunkRows, loss: TrunkLoss, options: &TrunkOptions) -> Result<Self> {
        rows.check(loss)?;
        options.check()?;
        let bins = Bins::new(rows.x, rows.weight, rows.categories(), options.bins_max);
        Ok(boost::fit(&[*rows], &bins, loss, options))
    }

    /// Grows a trunk on rows in parts, as a federation does: the trees are those of all rows together, whatever the parts.
    pub fn fit_parts(parts: &[TrunkRows], bins: &Bins, loss: TrunkLoss, options: &TrunkOptions) -> Result<Self> {
        parts.iter().try_for_each(|rows| rows.check(loss))?;
        parts.iter().try_for_each(|rows| rows.check_bins(bins))?;
        options.check()?;
        Ok(boost::fit(parts, bins, loss, options))
    }

    /// The score of a row on the scale of the link: a number, log-odds of +1, or the logarithm of an expected count. A row
    /// without category, or of one never seen, follows the majority. Panics if the row is too short.
    pub fn score(&self, x: &[f64], category: Option<u32>) -> f64 {
        self.trees.iter().fold(self.start, |score, tree| score + tree.score(x, category))
    }

    /// What is wrong with a trunk that was read, if anything.
    pub fn check(&self) -> std::result::Result<(), &'static str> {
        if !self.start.is_finite() {
            return Err("the first score of the trunk is not finite");
        }
        self.trees.iter().try_for_each(|tree| tree.check(self.features))
    }
}
