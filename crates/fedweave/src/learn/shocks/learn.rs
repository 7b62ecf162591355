//! Learning: parts are added one after another as long as the likelihood gains more than their parameters cost.

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::index::Index;
use super::kernel::{AT_ONCE, COMMON, Kernel, Layout, NEARBY, OWN, PARTS};
use super::patch::{Patch, Work};
use super::space::Space;
use super::{Geometry, Part, Reach, Residuals, Shocks, ShocksOptions, Time};
use crate::error::Result;
use crate::learn::coupling::minimise::{Search, minimise};
use crate::random::{Purpose, stream};

/// With fewer residuals nothing is learnt.
const ROWS_MIN: usize = 20;
/// Residuals from which the reach over a graph is chosen.
const ROWS_ROUGH: usize = 800;
/// `kappa` that are tried, as shares of the mean degree.
const KAPPAS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Deviation of the logarithms of all parameters around their start, a weak prior: what the residuals do not speak about stays put.
const PRIOR: f64 = 5.0;
/// Logarithms of parameters are sought at most so far from their start.
const RANGE: f64 = 14.0;
/// Evaluations of the likelihood for one choice of neighbours.
const EVALUATIONS: usize = 40;

/// See [`Shocks::learn`].
pub fn learn(residuals: &Residuals, geometry: &Geometry, options: &ShocksOptions) -> Result<Shocks> {
    let n = residuals.len() as f64;
    let s2 = residuals.value.iter().map(|r| r * r).sum::<f64>() / n.max(1.0);
    let without = -0.5 * n * ((std::f64::consts::TAU * s2).ln() + 1.0);
    if residuals.len() < ROWS_MIN || !(s2.is_normal() && without.is_finite()) {
        return Ok(none(s2, 0.0, options.time));
    }
    let learner = Learner::new(residuals, s2.sqrt(), geometry, options);
    let (space, kappa) = learner.space()?;
    let fit = learner.climb(&space);
    let with = -learner.total_loss(&space, &fit.kernel) - 0.5 * n * s2.ln();
    let gain = with - without;
    if gain <= 0.5 * (fit.layout.len() - 1) as f64 * n.ln() {
        return Ok(none(s2, without, options.time));
    }
    let mut shocks = learner.shocks(&fit, s2, kappa);
    (shocks.log_likelihood, shocks.log_likelihood_without) = (with, without);
    Ok(shocks)
}

fn none(s2: f64, log_likelihood: f64, time: Time) -> Shocks {
    Shocks {
        common: None,
        nearby: None,
        own: None,
        reach: None,
        s2,
        time,
        log_likelihood,
        log_likelihood_without: log_likelihood,
        parameters: 0,
    }
}

/// Residuals in units of their deviation, and which of them are learnt from.
struct Learner<'a> {
    index: Index,
    geometry: &'a Geometry<'a>,
    options: &'a ShocksOptions,
    /// Place of every row in the random order.
    rank: Vec<u32>,
    targets: Vec<u32>,
    /// Usual time between two successive times.
    step: f64,
}

/// A kernel and how well it does.
#[derive(Debug, Clone)]
struct Fit {
    layout: Layout,
    kernel: Kernel,
    /// Minus the log-likelihood of the targets, with half the logarithm of their number for every parameter.
    criterion: f64,
}

impl<'a> Learner<'a> {
    fn new(residuals: &Residuals, unit: f64, geometry: &'a Geometry<'a>, options: &'a ShocksOptions) -> Self {
        let scaled = residuals.value.iter().map(|v| v / unit).collect();
        let index = Index::new(&Residuals { value: scaled, ..residuals.clone() }, options.time);
        // The order starts from sorted rows, so that it does not depend on that of the file.
        let mut order = index.by_time().to_vec();
        order.shuffle(&mut stream(0, Purpose::ShockOrder, 0));
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &row)| rank[row as usize] = k as u32);
        order.shuffle(&mut stream(0, Purpose::ShockOrder, 1));
        order.truncate(options.rows_max.max(ROWS_MIN));
        let step = usual_step(&index);
        Learner { index, geometry, options, rank, targets: order, step }
    }

    /// Where nodes are; for a graph, with the `kappa` under which the residuals are most likely.
    fn space(&self) -> Result<(Space, f64)> {
        if !matches!(self.geometry, Geometry::Graph(_)) {
            return Ok((Space::new(self.geometry, 1.0)?, 1.0));
        }
        let targets = &self.targets[..self.targets.len().min(ROWS_ROUGH)];
        let mut scores = Vec::with_capacity(KAPPAS.len());
        for kappa in KAPPAS {
            scores.push(self.first(&Space::new(self.geometry, kappa)?, targets).criterion);
        }
        let kappa = lowest(&KAPPAS.map(f64::ln), &scores).exp();
        Ok((Space::new(self.geometry, kappa)?, kappa))
    }

    /// The first part alone, then with others, as long as they pay.
    fn climb(&self, space: &Space) -> Fit {
        let mut best = self.first(space, &self.targets);
        for part in [OWN, COMMON] {
            // At one time a part of one node alone cannot be told from noise.
            if best.layout.present[part] || (part == OWN && !best.layout.lasting) {
                continue;
            }
            let (mut layout, mut kernel) = (best.layout, best.kernel);
            layout.present[part] = true;
            kernel.variance[part] = 0.3 * kernel.noise.max(0.1);
            kernel.noise = 0.7 * kernel.noise.max(1e-3);
            kernel.fading[part] = kernel.fading[self.main_part()];
            let longer = self.settle(space, layout, kernel, &self.targets);
            if longer.criterion < best.criterion {
                best = longer;
            }
        }
        best
    }

    fn main_part(&self) -> usize {
        if matches!(self.geometry, Geometry::None) { COMMON } else { NEARBY }
    }

    /// One part: over with its time or, where times are numbers, lasting.
    fn first(&self, space: &Space, targets: &[u32]) -> Fit {
        let part = self.main_part();
        let mut layout = Layout {
            present: [false; PARTS],
            lasting: false,
            length: matches!(self.geometry, Geometry::Positions(..)),
        };
        layout.present[part] = true;
        let decay = layout.length.then(|| 1.0 / self.usual_distance(space));
        let mut start = Kernel { variance: [0.0; PARTS], fading: [AT_ONCE; PARTS], decay, noise: 0.5 };
        start.variance[part] = 0.5;
        let at_once = self.settle(space, layout, start, targets);
        if self.options.time == Time::Labels {
            return at_once;
        }
        layout.lasting = true;
        start.fading[part] = 1.0 / (4.0 * self.step);
        let lasting = self.settle(space, layout, start, targets);
        if lasting.criterion < at_once.criterion { lasting } else { at_once }
    }

    /// Finds the most likely kernel, twice: the neighbours of the first kernel may not be those of the second.
    fn settle(&self, space: &Space, layout: Layout, start: Kernel, targets: &[u32]) -> Fit {
        let rough = self.fit(&self.patches(space, &start, targets), layout, start);
        self.fit(&self.patches(space, &rough.kernel, targets), layout, rough.kernel)
    }

    fn patches(&self, space: &Space, kernel: &Kernel, targets: &[u32]) -> Vec<(Patch, f64)> {
        let one = |&row: &u32| {
            let before = |other: u32| self.rank[other as usize] < self.rank[row as usize];
            let at = self.index.place(row);
            (self.index.patch(space, kernel, at, self.options.neighbours, before), self.index.value(row))
        };
        targets.par_iter().map(one).collect()
    }

    fn fit(&self, patches: &[(Patch, f64)], layout: Layout, start: Kernel) -> Fit {
        let (center, size) = (layout.parameters(&start), layout.len());
        let evaluate = |theta: &[f64]| {
            let away: Vec<f64> = theta.iter().zip(&center).map(|(t, c)| t - c).collect();
            if away.iter().any(|a| a.abs() > RANGE) {
                return None;
            }
            let (loss, mut gradient) = loss_and_gradient(patches, &layout, &layout.kernel(theta, &start));
            gradient.iter_mut().zip(&away).for_each(|(g, a)| *g += a / (PRIOR * PRIOR));
            Some((loss + 0.5 * away.iter().map(|a| a * a).sum::<f64>() / (PRIOR * PRIOR), gradient))
        };
        let curvature = vec![0.2 * patches.len() as f64; size];
        let search = Search { gain_min: 0.02, evaluations_max: EVALUATIONS, curvature, reach: vec![1.5; size] };
        let found = minimise(&search, center.clone(), evaluate);
        let (theta, loss) = found.map_or((center.clone(), f64::INFINITY), |point| (point.x, point.value));
        let criterion = loss + 0.5 * size as f64 * (patches.len() as f64).ln();
        Fit { layout, kernel: layout.kernel(&theta, &start), criterion }
    }

    /// Minus the log-likelihood of all residuals, in their own unit.
    fn total_loss(&self, space: &Space, kernel: &Kernel) -> f64 {
        let one = |work: &mut Work, &row: &u32| {
            let before = |other: u32| self.rank[other as usize] < self.rank[row as usize];
            let patch = self.index.patch(space, kernel, self.index.place(row), self.options.neighbours, before);
            patch.loss(kernel, self.index.value(row), work)
        };
        let losses: Vec<f64> = self.index.by_time().par_iter().map_init(Work::default, one).collect();
        losses.iter().sum()
    }

    /// A tenth of pairs of targets are closer than this.
    fn usual_distance(&self, space: &Space) -> f64 {
        let nodes: Vec<u32> = self.targets.iter().map(|&row| self.index.place(row).node).collect();
        let far = super::kernel::FAR;
        let pairs = nodes.iter().zip(nodes.iter().skip(1)).map(|(&a, &b)| space.near(a, b));
        let mut distances: Vec<f64> = pairs.filter(|d| *d > 0.0 && *d < far).collect();
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 10).copied().unwrap_or(1.0)
    }

    fn shocks(&self, fit: &Fit, unit: f64, kappa: f64) -> Shocks {
        let Fit { layout, kernel, .. } = fit;
        let part = |k: usize| {
            let lasts = layout.lasting.then(|| 1.0 / kernel.fading[k]);
            layout.present[k].then_some(Part { variance: unit * kernel.variance[k], lasts })
        };
        let reach =
            layout.present[NEARBY].then(|| kernel.decay.map_or(Reach::Kappa(kappa), |d| Reach::Length(1.0 / d)));
        Shocks {
            common: part(COMMON),
            nearby: part(NEARBY),
            own: part(OWN),
            reach,
            parameters: layout.len() - 1,
            ..none(unit * kernel.noise, 0.0, self.options.time)
        }
    }
}

/// Minus the log-likelihood and its gradient, summed in the order of the patches.
fn loss_and_gradient(patches: &[(Patch, f64)], layout: &Layout, kernel: &Kernel) -> (f64, Vec<f64>) {
    let one = |work: &mut Work, (patch, value): &(Patch, f64)| {
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

/// Median difference between successive times.
fn usual_step(index: &Index) -> f64 {
    let times: Vec<f64> = index.by_time().iter().map(|&row| index.place(row).time).collect();
    let mut steps: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).filter(|d| *d > 0.0).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.0)
}

/// Where the parabola through the lowest score and its neighbours has its minimum.
fn lowest(x: &[f64], score: &[f64]) -> f64 {
    let best = (0..x.len()).min_by(|&a, &b| score[a].total_cmp(&score[b])).unwrap_or(0);
    if best == 0 || best + 1 == x.len() {
        return x[best];
    }
    let (before, after) = (score[best - 1] - score[best], score[best + 1] - score[best]);
    let (left, right) = (x[best] - x[best - 1], x[best + 1] - x[best]);
    let curvature = before / left + after / right;
    let shift = 0.5 * (before / left * right - after / right * left) / curvature;
    if shift.is_finite() { x[best] + shift.clamp(-left, right) } else { x[best] }
}
