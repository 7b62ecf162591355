//! Learning: parts are added one after another as long as the likelihood gains more than their parameters cost.

use super::kernel::{AT_ONCE, COMMON, Kernel, Layout, NEARBY, OWN, PARTS};
use super::panels::{Neighbourhood, Panels, loss_and_gradient, losses};
use super::space::Space;
use super::{Geometry, Part, Reach, Shocks, ShocksOptions, Time};
use crate::error::Result;
use crate::learn::coupling::minimise::{Search, minimise};

/// With fewer residuals nothing is learnt.
const ROWS_MIN: usize = 20;
/// Residuals from which the reach over a graph is chosen.
const ROWS_ROUGH: usize = 800;
/// `kappa` that are tried, as shares of the mean degree.
const KAPPAS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Deviation of the logarithms of all parameters around their start, a weak prior: what the residuals do not speak about stays
/// put.
const PRIOR: f64 = 5.0;
/// Logarithms of parameters are sought at most so far from their start.
const RANGE: f64 = 14.0;
/// Groups of times, of which each is explained by what was learnt from the others.
const GROUPS: usize = 5;
/// Evaluations of the likelihood for one choice of neighbours.
const EVALUATIONS: usize = 40;

/// See [`Shocks::learn`].
pub fn learn(panels: Panels, geometry: &Geometry, options: &ShocksOptions) -> Result<Shocks> {
    let (n, s2) = (panels.len() as f64, panels.unit);
    let without = -0.5 * n * ((std::f64::consts::TAU * s2).ln() + 1.0);
    if panels.len() < ROWS_MIN || !(s2.is_normal() && without.is_finite()) {
        return Ok(none(s2, 0.0, options.time));
    }
    let learner = Learner { step: panels.usual_step(), panels, geometry, options };
    let (space, kappa) = learner.space()?;
    let fit = learner.climb(&space);
    let panels = &learner.panels;
    let (before, after) = (panels.losses_without(usize::MAX), panels.losses(&space, &fit.kernel, options.neighbours));
    let parameters = fit.layout.len() - 1;
    if parameters == 0 || !panels.pays(&before, &after, parameters) || !learner.holds(&space, &fit) {
        return Ok(none(s2, without, options.time));
    }
    Ok(Shocks {
        log_likelihood: -after.iter().sum::<f64>() - 0.5 * n * s2.ln(),
        log_likelihood_without: without,
        parameters,
        ..shocks(&fit, s2, kappa, options.time)
    })
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

fn shocks(fit: &Fit, unit: f64, kappa: f64, time: Time) -> Shocks {
    let Fit { layout, kernel, .. } = fit;
    let part = |k: usize| {
        let lasts = layout.lasting.then(|| 1.0 / kernel.fading[k]);
        layout.present[k].then_some(Part { variance: unit * kernel.variance[k], lasts })
    };
    let reach = || kernel.decay.map_or(Reach::Kappa(kappa), |decay| Reach::Length(1.0 / decay));
    Shocks {
        common: part(COMMON),
        nearby: part(NEARBY),
        own: part(OWN),
        reach: layout.present[NEARBY].then(reach),
        ..none(unit * kernel.noise, 0.0, time)
    }
}

struct Learner<'a> {
    panels: Panels,
    geometry: &'a Geometry<'a>,
    options: &'a ShocksOptions,
    /// Usual time between two successive times.
    step: f64,
}

/// A kernel and how well it does.
#[derive(Debug, Clone)]
struct Fit {
    layout: Layout,
    kernel: Kernel,
    /// Minus the log-likelihood of every target.
    losses: Vec<f64>,
}

impl Learner<'_> {
    /// Where nodes are; for a graph, with the `kappa` under which the residuals are most likely.
    fn space(&self) -> Result<(Space, f64)> {
        if !matches!(self.geometry, Geometry::Graph(_)) {
            return Ok((Space::new(self.geometry, 1.0)?, 1.0));
        }
        let mut scores = Vec::with_capacity(KAPPAS.len());
        for kappa in KAPPAS {
            let fit = self.first(&Space::new(self.geometry, kappa)?, ROWS_ROUGH);
            scores.push(fit.losses.iter().sum());
        }
        let kappa = lowest(&KAPPAS.map(f64::ln), &scores).exp();
        Ok((Space::new(self.geometry, kappa)?, kappa))
    }

    /// The first part alone, then with others, as long as they pay.
    fn climb(&self, space: &Space) -> Fit {
        let mut best = self.first(space, self.options.rows_max);
        for part in [OWN, COMMON] {
            // At one time a part of one node alone cannot be told from noise.
            let told_apart = best.layout.len() > 1 && (part != OWN || best.layout.lasting);
            if best.layout.present[part] || !told_apart {
                continue;
            }
            let (mut layout, mut kernel) = (best.layout, best.kernel);
            layout.present[part] = true;
            kernel.variance[part] = 0.3 * kernel.noise.max(0.1);
            kernel.noise = 0.7 * kernel.noise.max(1e-3);
            kernel.fading[part] = kernel.fading[self.main_part()];
            let longer = self.settle(space, layout, kernel, self.options.rows_max);
            best = self.better(best, longer);
        }
        best
    }

    fn main_part(&self) -> usize {
        if matches!(self.geometry, Geometry::None) { COMMON } else { NEARBY }
    }

    /// None, or one part: over with its time or, where times are numbers, lasting.
    fn first(&self, space: &Space, rows: usize) -> Fit {
        let (part, length) = (self.main_part(), matches!(self.geometry, Geometry::Positions(..)));
        let decay = match self.geometry {
            Geometry::Positions(..) => Some(1.0 / self.panels.usual_distance(space)),
            Geometry::Graph(_) => None,
            Geometry::None => Some(1.0),
        };
        let mut layout = Layout { present: [false; PARTS], lasting: false, length };
        let mut start = Kernel { variance: [0.0; PARTS], fading: [AT_ONCE; PARTS], decay, noise: 1.0 };
        let none = Fit { layout, kernel: start, losses: self.panels.losses_without(rows) };
        layout.present[part] = true;
        (start.variance[part], start.noise) = (0.5, 0.5);
        let best = self.better(none, self.settle(space, layout, start, rows));
        if self.options.time == Time::Labels {
            return best;
        }
        layout.lasting = true;
        start.fading[part] = 1.0 / (4.0 * self.step);
        self.better(best, self.settle(space, layout, start, rows))
    }

    /// The second fit if its further parameters pay.
    fn better(&self, first: Fit, second: Fit) -> Fit {
        let parameters = second.layout.len() - first.layout.len();
        if self.panels.pays(&first.losses, &second.losses, parameters) { second } else { first }
    }

    /// True if kernels learnt from some times explain the others better than none would: with few times, one of the many lengths
    /// and durations that could be learnt may seem to explain them all.
    fn holds(&self, space: &Space, fit: &Fit) -> bool {
        let groups = self.panels.groups_of_times(GROUPS);
        let patches = self.panels.patches(space, &fit.kernel, self.options.rows_max, self.options.neighbours);
        let mut honest = vec![0.0; patches.len()];
        for group in 0..GROUPS {
            let (left_out, kept): (Vec<usize>, Vec<usize>) = (0..patches.len()).partition(|&k| groups[k] == group);
            let some = |rows: &[usize]| rows.iter().map(|&k| &patches[k]).collect::<Vec<_>>();
            let again = most_likely(&some(&kept), fit.layout, fit.kernel);
            left_out.iter().zip(losses(&some(&left_out), &again)).for_each(|(&k, loss)| honest[k] = loss);
        }
        self.panels.pays(&self.panels.losses_without(patches.len()), &honest, 0)
    }

    /// Finds the most likely kernel, twice: the neighbours of the first kernel may not be those of the second.
    fn settle(&self, space: &Space, layout: Layout, start: Kernel, rows: usize) -> Fit {
        let patches = |kernel: &Kernel| self.panels.patches(space, kernel, rows, self.options.neighbours);
        let rough = most_likely(&patches(&start).iter().collect::<Vec<_>>(), layout, start);
        let patches = patches(&rough);
        let patches: Vec<_> = patches.iter().collect();
        let kernel = most_likely(&patches, layout, rough);
        Fit { layout, kernel, losses: losses(&patches, &kernel) }
    }
}

/// The most likely kernel for some neighbourhoods.
fn most_likely(patches: &[&Neighbourhood], layout: Layout, start: Kernel) -> Kernel {
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
    let theta = minimise(&search, center.clone(), evaluate).map_or(center.clone(), |point| point.x);
    layout.kernel(&theta, &start)
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
