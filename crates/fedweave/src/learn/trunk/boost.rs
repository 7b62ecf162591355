//! Round after round: the state of a trunk that is being grown on shares.

use rand::RngExt;

use super::bins::Bins;
use super::fixed::{Extent, Grids};
use super::growth::Growth;
use super::histogram::{Cell, Histograms};
use super::rows::TrunkRows;
use super::share::{BinnedRows, Share};
use super::split::SplitRule;
use super::{Trunk, TrunkLoss, TrunkOptions};
use crate::random::{Purpose, stream};

/// A trunk of all parts together.
pub fn fit(parts: &[TrunkRows], bins: &Bins, loss: TrunkLoss, options: &TrunkOptions) -> Trunk {
    let binned: Vec<BinnedRows> = parts.iter().map(|rows| BinnedRows::new(rows, bins)).collect();
    let lists = binned.iter().map(|rows| ((0..rows.labels.len() as u32).collect(), Vec::new())).collect();
    let mut boost = Boost::new(&binned, lists, bins, loss, options);
    (0..options.rounds).for_each(|_| boost.round());
    boost.trunk
}

/// A trunk so far, and the shares it grows on.
pub struct Boost<'a> {
    pub trunk: Trunk,
    pub shares: Vec<Share<'a>>,
    bins: &'a Bins,
    rule: SplitRule,
    options: &'a TrunkOptions,
}

impl<'a> Boost<'a> {
    /// The best constant score of the rows that trees are grown on; `lists` holds, for every part, those and the rows that are only scored.
    pub fn new(
        parts: &'a [BinnedRows<'a>],
        lists: Vec<(Vec<u32>, Vec<u32>)>,
        bins: &'a Bins,
        loss: TrunkLoss,
        options: &'a TrunkOptions,
    ) -> Self {
        let pairs = || parts.iter().zip(&lists);
        let extent = pairs().map(|(rows, lists)| rows.extent(&lists.0)).fold(Extent::NONE, Extent::join);
        let grids = Grids::new(loss, &extent);
        let labels = pairs()
            .map(|(rows, lists)| rows.labels(&lists.0, extent.label_min, &grids))
            .fold(Cell::default(), |a, b| a + b);
        let labels = labels.sums(&grids);
        let mean = if labels.weight > 0.0 { extent.label_min + labels.gradient / labels.weight } else { 0.0 };
        let start = loss.start(mean, labels.weight);
        let rule = SplitRule {
            loss,
            grids,
            weight_min: options.rows_min,
            l2: options.l2,
            category_smoothing: options.category_smoothing,
            category_caution: options.category_caution,
        };
        let share = |(rows, (grown_on, scored))| Share::new(rows, bins, loss, grids, start, grown_on, scored);
        let shares = parts.iter().zip(lists).map(share).collect();
        Boost {
            trunk: Trunk { loss, features: bins.features(), start, trees: Vec::new() },
            shares,
            bins,
            rule,
            options,
        }
    }

    /// Grows one more tree.
    pub fn round(&mut self) {
        let columns = draw_columns(self.options, self.bins.columns(), self.trunk.trees.len());
        let root = total(self.shares.iter_mut().map(|share| Some(share.begin())));
        let mut growth = Growth::new(&self.rule, self.bins, &columns, self.options.leaves, root.unwrap_or_default());
        while let Some(order) = growth.order() {
            if let Some(histograms) = total(self.shares.iter_mut().map(|share| share.obey(&order))) {
                growth.receive(histograms);
            }
        }
        let (values, tree) = growth.finish(self.options.learning_rate);
        self.shares.iter_mut().for_each(|share| share.finish(&values));
        self.trunk.trees.push(tree);
    }
}

/// The sum over the shares.
fn total(histograms: impl Iterator<Item = Option<Histograms>>) -> Option<Histograms> {
    histograms.fold(None, |sum: Option<Histograms>, next| match (sum, next) {
        (Some(mut sum), Some(next)) => {
            sum.add(&next);
            Some(sum)
        }
        (sum, next) => sum.or(next),
    })
}

/// The columns a tree may split: at least one.
fn draw_columns(options: &TrunkOptions, columns: usize, round: usize) -> Vec<bool> {
    let wanted = ((options.columns * columns as f64).round() as usize).clamp(1, columns);
    let mut order: Vec<usize> = (0..columns).collect();
    let mut taken = vec![wanted == columns; columns];
    if wanted < columns {
        let mut rng = stream(options.seed, Purpose::Trees, round);
        for i in 0..wanted {
            order.swap(i, rng.random_range(i..columns));
            taken[order[i]] = true;
        }
    }
    taken
}
