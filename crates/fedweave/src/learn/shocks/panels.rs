//! The residuals that are learnt from: which rows are to be explained, and by which others.

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::index::Index;
use super::kernel::{FAR, Kernel, Layout};
use super::patch::{Patch, Work};
use super::space::Space;
use super::{FoldResiduals, Residuals, Time};
use crate::random::{Purpose, stream};

/// A gain counts if it is so many standard errors above zero.
const ERRORS: f64 = 2.0;

/// Rows under one model, and which of them may explain which.
struct Panel {
    index: Index,
    order: Order,
}

enum Order {
    /// Rows are explained by those that come before them: the product of all densities is a likelihood.
    Random(Vec<u32>),
    /// Rows that were held out are explained by those that the model was fitted to.
    HeldOut(Vec<bool>),
}

/// A row to be explained.
#[derive(Clone, Copy)]
struct Target {
    panel: u32,
    row: u32,
}

/// All residuals, in units of the deviation of those that are to be explained.
pub struct Panels {
    panels: Vec<Panel>,
    /// In random order.
    targets: Vec<Target>,
    /// That deviation, squared.
    pub unit: f64,
}

/// A target among its neighbours, and its own residual.
pub type Neighbourhood = (Patch, f64);

impl Panels {
    /// Out-of-fold residuals: every row is explained by its predecessors in a random order.
    pub fn in_random_order(residuals: &Residuals, clock: Time) -> Self {
        let index = Index::new(residuals, clock);
        // The order starts from sorted rows, so that it does not depend on that of the file.
        let mut order = index.by_time().to_vec();
        order.shuffle(&mut stream(0, Purpose::ShockOrder, 0));
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &row)| rank[row as usize] = k as u32);
        let targets = index.by_time().iter().map(|&row| Target { panel: 0, row }).collect();
        Self::new(vec![Panel { index, order: Order::Random(rank) }], targets)
    }

    /// Folds: rows held out are explained by the residuals that the model of their fold has at the rows it was fitted to.
    pub fn of_folds(folds: &[FoldResiduals], clock: Time) -> Self {
        let (mut panels, mut targets) = (Vec::new(), Vec::new());
        for (panel, fold) in (0..).zip(folds) {
            let index = Index::new(&fold.residuals, clock);
            let held_out = |row: &&u32| fold.held_out[**row as usize];
            targets.extend(index.by_time().iter().filter(held_out).map(|&row| Target { panel, row }));
            panels.push(Panel { index, order: Order::HeldOut(fold.held_out.clone()) });
        }
        Self::new(panels, targets)
    }

    fn new(mut panels: Vec<Panel>, mut targets: Vec<Target>) -> Self {
        let value = |t: &Target| panels[t.panel as usize].index.value(t.row);
        let unit = targets.iter().map(|t| value(t) * value(t)).sum::<f64>() / targets.len().max(1) as f64;
        if unit.is_normal() {
            panels.iter_mut().for_each(|panel| panel.index.divide(unit.sqrt()));
        }
        targets.shuffle(&mut stream(0, Purpose::ShockOrder, 1));
        Panels { panels, targets, unit }
    }

    /// Number of rows to be explained.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// The first `rows` targets with the `neighbours` rows that tell most about each.
    pub fn patches(&self, space: &Space, kernel: &Kernel, rows: usize, neighbours: usize) -> Vec<Neighbourhood> {
        let targets = &self.targets[..rows.min(self.targets.len())];
        targets.par_iter().map(|&t| self.patch(space, kernel, t, neighbours)).collect()
    }

    /// Minus the log-likelihood of every target, each with the `neighbours` rows that tell most about it.
    pub fn losses(&self, space: &Space, kernel: &Kernel, neighbours: usize) -> Vec<f64> {
        let one = |work: &mut Work, &target: &Target| {
            let (patch, value) = self.patch(space, kernel, target, neighbours);
            patch.loss(kernel, value, work)
        };
        self.targets.par_iter().map_init(Work::default, one).collect()
    }

    /// The same for the first `rows` targets if there are no shocks and residuals have variance 1.
    pub fn losses_without(&self, rows: usize) -> Vec<f64> {
        let loss = |value: f64| 0.5 * (std::f64::consts::TAU.ln() + value * value);
        self.targets.iter().take(rows).map(|t| loss(self.panels[t.panel as usize].index.value(t.row))).collect()
    }

    /// True if the first targets are explained better `after` than `before`, by more than `parameters` further numbers cost and
    /// by more than chance. Rows of one time err together, so chance is judged by how the gain varies between times.
    pub fn pays(&self, before: &[f64], after: &[f64], parameters: usize) -> bool {
        let gains: Vec<f64> = before.iter().zip(after).map(|(before, after)| before - after).collect();
        let total: f64 = gains.iter().sum();
        let cost = 0.5 * parameters as f64 * (gains.len() as f64).ln();
        let by_time = self.by_time(&gains);
        // Of a single time only the rows can be compared.
        let terms = if by_time.len() > 1 { by_time } else { gains };
        total > cost && total > ERRORS * deviation_of_sum(&terms)
    }

    /// A group for every target, by its time: with one time, by row.
    pub fn groups_of_times(&self, groups: usize) -> Vec<usize> {
        let mut times: Vec<f64> = self.targets.iter().map(|t| self.time(t)).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        if times.len() == 1 {
            return (0..self.targets.len()).map(|k| k % groups).collect();
        }
        let mut group: Vec<usize> = (0..times.len()).map(|k| k % groups).collect();
        group.shuffle(&mut stream(0, Purpose::ShockOrder, 2));
        self.targets.iter().map(|t| group[times.partition_point(|time| *time < self.time(t))]).collect()
    }

    /// Sums over the targets of every time.
    fn by_time(&self, terms: &[f64]) -> Vec<f64> {
        let mut timed: Vec<(f64, f64)> = self.targets.iter().map(|t| self.time(t)).zip(terms.iter().copied()).collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        timed.chunk_by(|a, b| a.0 == b.0).map(|rows| rows.iter().map(|row| row.1).sum()).collect()
    }

    fn time(&self, target: &Target) -> f64 {
        self.panels[target.panel as usize].index.place(target.row).time
    }

    fn patch(&self, space: &Space, kernel: &Kernel, Target { panel, row }: Target, neighbours: usize) -> (Patch, f64) {
        let Panel { index, order } = &self.panels[panel as usize];
        let allowed = |other: u32| match order {
            Order::Random(rank) => rank[other as usize] < rank[row as usize],
            Order::HeldOut(held_out) => !held_out[other as usize],
        };
        (index.patch(space, kernel, index.place(row), neighbours, allowed), index.value(row))
    }

    /// A tenth of random pairs of targets are closer than this.
    pub fn usual_distance(&self, space: &Space) -> f64 {
        let node = |t: &Target| self.panels[t.panel as usize].index.place(t.row).node;
        let pairs = self.targets.windows(2).map(|pair| space.near(node(&pair[0]), node(&pair[1])));
        let distances = pairs.filter(|d| *d > 0.0 && *d < FAR).collect();
        quantile(distances, 0.1)
    }

    /// Median difference between successive times.
    pub fn usual_step(&self) -> f64 {
        let mut times: Vec<f64> = self.targets.iter().map(|t| self.time(t)).collect();
        times.sort_by(f64::total_cmp);
        let steps = times.windows(2).map(|t| t[1] - t[0]).filter(|d| *d > 0.0).collect();
        quantile(steps, 0.5)
    }
}

/// Minus the log-likelihood of every patch.
pub fn losses(patches: &[&Neighbourhood], kernel: &Kernel) -> Vec<f64> {
    let one = |work: &mut Work, (patch, value): &&Neighbourhood| patch.loss(kernel, *value, work);
    patches.par_iter().map_init(Work::default, one).collect()
}

/// Minus the log-likelihood and its gradient, summed in the order of the patches.
pub fn loss_and_gradient(patches: &[&Neighbourhood], layout: &Layout, kernel: &Kernel) -> (f64, Vec<f64>) {
    let one = |work: &mut Work, (patch, value): &&Neighbourhood| {
        let mut gradient = vec![0.0; layout.len()];
        let loss = patch.loss_and_gradient(layout, kernel, *value, work, &mut gradient);
        (loss, gradient)
    };
    let terms: Vec<_> = patches.par_iter().map_init(Work::default, one).collect();
    terms.into_iter().fold((0.0, vec![0.0; layout.len()]), |(loss, mut sum), (l, g)| {
        sum.iter_mut().zip(&g).for_each(|(s, g)| *s += g);
        (loss + l, sum)
    })
}

/// Standard deviation of the sum of independent terms, from how they vary.
fn deviation_of_sum(terms: &[f64]) -> f64 {
    let n = terms.len() as f64;
    let mean = terms.iter().sum::<f64>() / n;
    (terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() * n / (n - 1.0).max(1.0)).sqrt()
}

/// A quantile of some numbers; 1 if there are none.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((share * values.len() as f64) as usize).copied().unwrap_or(1.0)
}
