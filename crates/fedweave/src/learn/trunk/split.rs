//! The best split of a leaf: a pure function of its histograms.
//!
//! With `G` and `H` the sums of slopes and curvatures of a side, a split reduces the loss, to second order, by half of
//! `G_l^2 / (H_l + l2) + G_r^2 / (H_r + l2) - G^2 / (H + l2)`.
//!
//! Categories are put in the order of their smoothed ratios `G_c / H_c`, in which the best of all their divisions in two is
//! a cut (Fisher 1958). With many small categories the order follows the noise, and a cut gains a lot by chance alone: of `m`
//! categories that do not differ, the sum of `G_c^2 / H_c` exceeds `G^2 / H` by `(m - 1) noise`, and a cut of many normal
//! numbers at their mean takes `2 / pi` of it. So much is taken off the gain, and the steps of the two sides are drawn
//! together by the same share.

use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_2_PI;

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
    /// How many times the gain by chance is taken off where categories are divided.
    pub category_caution: f64,
}

/// A split of a leaf in two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// What goes left.
    pub cut: Cut,
    /// Twice the fall of the loss, less what is due to chance.
    pub gain: f64,
    /// Share of the difference between the sides that is not due to chance.
    pub belief: f64,
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

/// Gains below this share of the gain of a leaf as a whole are rounding.
const GAIN_MIN: f64 = 1e-12;

/// The noise within categories is estimated as if so many rows more had the spread of all rows: categories of one row say
/// nothing about it.
const ROWS_OF_PRIOR: f64 = 5.0;

impl SplitRule {
    /// The step of a leaf, before the learning rate.
    pub fn step(&self, cell: Cell) -> f64 {
        self.loss.step(self.sums(cell), self.l2)
    }

    /// True if a leaf may be large enough for two sides.
    pub fn divisible(&self, cell: Cell) -> bool {
        cell.weight > 1 && self.sums(cell).weight >= 2.0 * self.weight_min
    }

    /// The best split over the columns that take part; the first of equals.
    pub fn best_split(&self, histograms: &Histograms, bins: &Bins, columns: &[bool]) -> Option<Split> {
        let total = histograms.total(bins);
        let mut best = None;
        for column in (0..bins.columns()).filter(|&column| columns[column]) {
            let cells = &histograms.cells[bins.range(column)];
            if column < bins.features() {
                self.best_bin(column, cells, total, &mut best);
            } else {
                let luck = self.category_caution * self.gain_by_chance(cells, total, histograms.squares);
                self.best_categories(cells, total, luck, &mut best);
            }
        }
        best
    }

    fn best_bin(&self, feature: usize, cells: &[Cell], total: Cell, best: &mut Option<Split>) {
        let base = self.gain_to_beat(total);
        let mut least = best.as_ref().map_or(base, |split| split.gain + base);
        let weight_min = self.grids.weight.of(self.weight_min).max(1);
        let (mut left, mut found) = (Cell::default(), None);
        for (bin, cell) in cells[..cells.len() - 1].iter().enumerate() {
            left += *cell;
            if cell.weight == 0 || left.weight < weight_min {
                continue;
            }
            if total.weight - left.weight < weight_min {
                break;
            }
            let gain = self.gain(left, total - left);
            if gain > least {
                (least, found) = (gain, Some((bin as u16, left)));
            }
        }
        if let Some((bin, left)) = found {
            let (cut, right) = (Cut::Bin { feature, bin }, total - left);
            *best = Some(Split { cut, gain: least - base, belief: 1.0, left, right });
        }
    }

    fn best_categories(&self, cells: &[Cell], total: Cell, luck: f64, best: &mut Option<Split>) {
        let base = self.gain_to_beat(total) + luck;
        let mut least = best.as_ref().map_or(base, |split| split.gain + base);
        let weight_min = self.grids.weight.of(self.weight_min).max(1);
        let order = self.order(cells, total);
        let (mut left, mut found) = (Cell::default(), None);
        for (position, category) in order.iter().enumerate() {
            left += cells[*category as usize];
            if left.weight < weight_min || total.weight - left.weight < weight_min {
                continue;
            }
            let gain = self.gain(left, total - left);
            if gain > least {
                (least, found) = (gain, Some((position + 1, left)));
            }
        }
        if let Some((count, first)) = found {
            *best = Some(divide(order, count, first, total - first, least - base, luck));
        }
    }

    /// Categories with rows, by their smoothed ratio of slope to curvature.
    fn order(&self, cells: &[Cell], total: Cell) -> Vec<u16> {
        let whole = self.sums(total);
        let prior = self.category_smoothing * whole.gradient / positive(whole.hessian);
        let mut order: Vec<(f64, u16)> = (0..cells.len())
            .filter(|&c| cells[c].weight > 0)
            .map(|c| {
                let Sums { gradient, hessian, .. } = self.sums(cells[c]);
                ((gradient + prior) / positive(hessian + self.category_smoothing), c as u16)
            })
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order.into_iter().map(|(_, category)| category).collect()
    }

    /// What the best division of categories gains where they do not differ: see above. The noise is that of rows around
    /// the mean of their category.
    fn gain_by_chance(&self, cells: &[Cell], total: Cell, squares: i64) -> f64 {
        let (whole, squares) = (self.sums(total), self.grids.square.number(squares));
        let (mut count, mut between) = (0.0, 0.0);
        for cell in cells.iter().filter(|cell| cell.weight > 0) {
            let sums = self.sums(*cell);
            count += 1.0;
            between += sums.gradient * sums.gradient / positive(sums.weight);
        }
        let spread = (squares - whole.gradient * whole.gradient / positive(whole.weight)).max(0.0);
        let within = (squares - between).max(0.0) + ROWS_OF_PRIOR * spread / positive(whole.weight);
        let noise = within / ((whole.weight - count).max(0.0) + ROWS_OF_PRIOR);
        FRAC_2_PI * (count - 1.0f64).max(0.0) * noise * whole.weight / positive(whole.hessian)
    }

    /// What both sides together gain, with one division.
    #[inline]
    fn gain(&self, left: Cell, right: Cell) -> f64 {
        let grids = &self.grids;
        let (a, b) = (grids.gradient.number(left.gradient), grids.gradient.number(right.gradient));
        let p = positive(grids.hessian.number(left.hessian) + self.l2);
        let q = positive(grids.hessian.number(right.hessian) + self.l2);
        (a * a * q + b * b * p) / (p * q)
    }

    /// The gain without a split, and what rounding may add.
    fn gain_to_beat(&self, total: Cell) -> f64 {
        let Sums { gradient, hessian, .. } = self.sums(total);
        gradient * gradient / positive(hessian + self.l2) * (1.0 + GAIN_MIN)
    }

    #[inline]
    fn sums(&self, cell: Cell) -> Sums {
        cell.sums(&self.grids)
    }
}

/// The first `count` categories of an order against the others; the lighter side is on the left.
fn divide(mut order: Vec<u16>, count: usize, first: Cell, rest: Cell, gain: f64, luck: f64) -> Split {
    let swap = first.weight > rest.weight;
    let (left, right) = if swap { (rest, first) } else { (first, rest) };
    let mut categories = if swap { order.split_off(count) } else { order[..count].to_vec() };
    categories.sort_unstable();
    Split { cut: Cut::Categories(categories), gain, belief: gain / (gain + luck), left, right }
}

/// Never zero, to divide by.
#[inline]
fn positive(x: f64) -> f64 {
    x.max(1e-150)
}
