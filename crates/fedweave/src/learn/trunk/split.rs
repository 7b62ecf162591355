//! The best split of a leaf: a pure function of its histograms.
//!
//! With `G` and `H` the sums of slopes and curvatures of a side, a split reduces the loss, to second order, by half of
//! `G_l^2 / (H_l + l2) + G_r^2 / (H_r + l2) - G^2 / (H + l2)`.
//!
//! Categories are put in the order of their smoothed ratios `G_c / H_c`, in which the best of all their divisions in two is a
//! cut (Fisher 1958). With many small categories the order follows the noise, and cuts look better than they are: ratios are
//! smoothed, and both sides of such a split pay a larger `l2`.

use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::fixed::Grids;
use super::histogram::{Cell, Histograms, Sums};
use super::loss::TrunkLoss;

/// What splits are chosen by: the same at all parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SplitRule {
    /// The loss.
    pub loss: TrunkLoss,
    /// The grids of all sums.
    pub grids: Grids,
    /// Least weight of a side.
    pub weight_min: f64,
    /// Added to the curvature of a leaf.
    pub l2: f64,
    /// Curvature with which the ratio of a category is drawn to that of the leaf.
    pub category_smoothing: f64,
    /// Added to `l2` on both sides of a split of categories.
    pub category_l2: f64,
}

/// A split of a leaf in two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// What goes left.
    pub cut: Cut,
    /// Twice the fall of the loss.
    pub gain: f64,
    /// Sums over the rows on the left.
    pub left: Cell,
    /// Sums over the rows on the right.
    pub right: Cell,
}

/// What goes left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cut {
    /// Values in bins up to this one.
    Bin {
        /// The feature.
        feature: usize,
        /// The last bin on the left.
        bin: u16,
    },
    /// These categories, in order. They have at most half of the weight: what was never seen goes right, with the majority.
    Categories(Vec<u16>),
}

/// Gains below this share of the loss that a leaf could lose at all are rounding.
const GAIN_MIN: f64 = 1e-12;

impl SplitRule {
    /// The step of a leaf, before the learning rate.
    pub fn step(&self, cell: Cell) -> f64 {
        self.loss.step(cell.sums(&self.grids), self.l2)
    }

    /// True if a leaf may be large enough for two sides.
    pub fn divisible(&self, cell: Cell) -> bool {
        self.sums(cell).weight >= 2.0 * self.weight_min
    }

    /// The best split over the columns that take part; the first of equals.
    pub fn best_split(&self, histograms: &Histograms, bins: &Bins, columns: &[bool]) -> Option<Split> {
        let total = bins.range(0).map(|i| histograms.cells[i]).fold(Cell::default(), |a, b| a + b);
        let mut best = None;
        for column in (0..bins.columns()).filter(|&column| columns[column]) {
            let cells = &histograms.cells[bins.range(column)];
            if column < bins.features() {
                self.best_bin(column, cells, total, &mut best);
            } else {
                self.best_categories(cells, total, &mut best);
            }
        }
        best
    }

    fn best_bin(&self, feature: usize, cells: &[Cell], total: Cell, best: &mut Option<Split>) {
        let base = self.gain_to_beat(total);
        let mut least = best.as_ref().map_or(0.0, |split| split.gain);
        let (mut left, mut found) = (Cell::default(), None);
        for (bin, cell) in cells[..cells.len() - 1].iter().enumerate() {
            left += *cell;
            if cell.weight == 0 {
                continue;
            }
            let Some(gain) = self.gain(left, total - left, self.l2) else { continue };
            if gain - base > least {
                (least, found) = (gain - base, Some((bin as u16, left)));
            }
        }
        if let Some((bin, left)) = found {
            *best = Some(Split { cut: Cut::Bin { feature, bin }, gain: least, left, right: total - left });
        }
    }

    fn best_categories(&self, cells: &[Cell], total: Cell, best: &mut Option<Split>) {
        let base = self.gain_to_beat(total);
        let mut least = best.as_ref().map_or(0.0, |split| split.gain);
        let order = self.order(cells, total);
        let (mut left, mut found) = (Cell::default(), None);
        for (position, category) in order.iter().enumerate() {
            left += cells[*category as usize];
            let Some(gain) = self.gain(left, total - left, self.l2 + self.category_l2) else { continue };
            if gain - base > least {
                (least, found) = (gain - base, Some((position + 1, left)));
            }
        }
        if let Some((count, first)) = found {
            let rest = total - first;
            let swap = first.weight > rest.weight;
            let (left, right) = if swap { (rest, first) } else { (first, rest) };
            let mut categories = if swap { order[count..].to_vec() } else { order[..count].to_vec() };
            categories.sort_unstable();
            *best = Some(Split { cut: Cut::Categories(categories), gain: least, left, right });
        }
    }

    /// Categories with rows, by their smoothed ratio of slope to curvature.
    fn order(&self, cells: &[Cell], total: Cell) -> Vec<u16> {
        let whole = self.sums(total);
        let prior = self.category_smoothing * whole.gradient / whole.hessian.max(f64::MIN_POSITIVE);
        let mut order: Vec<(f64, u16)> = (0..cells.len())
            .filter(|&c| cells[c].weight > 0)
            .map(|c| {
                let Sums { gradient, hessian, .. } = self.sums(cells[c]);
                ((gradient + prior) / (hessian + self.category_smoothing).max(f64::MIN_POSITIVE), c as u16)
            })
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order.into_iter().map(|(_, category)| category).collect()
    }

    /// What both sides together gain; `None` if one is too small.
    #[inline]
    fn gain(&self, left: Cell, right: Cell, l2: f64) -> Option<f64> {
        let (left, right) = (self.sums(left), self.sums(right));
        let large = left.weight >= self.weight_min && right.weight >= self.weight_min;
        let curved = left.hessian > 0.0 && right.hessian > 0.0;
        (large && curved).then(|| self.loss.gain(left, l2) + self.loss.gain(right, l2))
    }

    /// The gain without a split, and what rounding may add.
    fn gain_to_beat(&self, total: Cell) -> f64 {
        let sums = self.sums(total);
        if sums.hessian > 0.0 { self.loss.gain(sums, self.l2) * (1.0 + GAIN_MIN) } else { 0.0 }
    }

    #[inline]
    fn sums(&self, cell: Cell) -> Sums {
        cell.sums(&self.grids)
    }
}
