//! The best covariance and the best strength of the graph for one structure.

use super::dense::{sandwich, spectral};
use super::likelihood::{Evaluation, Likelihood, Model};
use super::minimise::{Memory, Search, minimise_with};
use super::moments::Moments;
use super::network::Network;
use super::rows::ModeRows;
use super::slopes::Slopes;
use super::structure::{Shape, Structure};
use super::system::{Plan, Root};

/// Steps of expectation-maximisation before quasi-Newton steps: they find the scale from anywhere.
const WARM_UP: usize = 4;
/// Smallest and largest `kappa` that are told apart from 0 and infinity.
pub const KAPPA: (f64, f64) = (1e-4, 1e6);

/// A covariance (relative to the noise) and a strength of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The structure of the covariance.
    pub structure: Structure,
    /// `Lambda`.
    pub root: Root,
    /// Strength of the graph; 0 where nodes are independent.
    pub kappa: f64,
    /// `-2 log p(y)` there, in scaled units.
    pub deviance: f64,
    /// What the search learnt about the curvature: the parameters of a search are relative to where it starts, so that it
    /// serves searches that start here, with other rows too.
    pub memory: Memory,
}

/// What is to be fitted.
pub struct Task<'a> {
    /// The graph.
    pub network: &'a Network,
    /// The rows.
    pub moments: &'a Moments,
    /// What is maximised.
    pub likelihood: Likelihood,
    /// True if a weak prior keeps the share of the graph off the ends of its range.
    pub prior: bool,
    /// The rows of a loss that is not squared.
    pub mode_rows: Option<&'a ModeRows>,
}

/// How the strength of the graph is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strength {
    /// This `kappa`.
    Fixed(f64),
    /// The best, from this `kappa` on.
    From(f64),
}

impl Task<'_> {
    /// `log p(y)` in the units of the target, from a deviance.
    pub fn log_likelihood(&self, deviance: f64) -> f64 {
        if self.mode_rows.is_some() {
            return -0.5 * deviance;
        }
        self.likelihood.log_likelihood(self.moments, deviance)
    }

    /// A covariance with which data and prior have an equal say: where nothing is known.
    pub fn start(&self) -> Vec<f64> {
        let d = self.moments.d;
        let mut start = vec![0.0; d * d];
        (0..d).for_each(|j| start[j * d + j] = 1.0 / self.moments.mean_rows().max(1.0));
        start
    }

    /// Fits a structure from a covariance; `gain` is the part of the deviance that is not worth another evaluation.
    pub fn fit(&self, structure: Structure, start: &[f64], strength: Strength, gain: f64) -> Option<Fit> {
        let plan = self.network.plan(structure.columns(self.moments.d));
        let kappa = match strength {
            Strength::Fixed(kappa) | Strength::From(kappa) if plan.is_coupled() => kappa,
            _ => 0.0,
        };
        let covariance = self.warm_up(&plan, structure, start, kappa)?;
        self.search(&plan, structure, &covariance, strength, gain, &Memory::new())
    }

    /// The search continued from a fit to the same or to similar rows, perhaps with another strength of the graph.
    pub fn fit_again(&self, from: &Fit, strength: Strength, gain: f64) -> Option<Fit> {
        let plan = self.network.plan(from.structure.columns(self.moments.d));
        self.search(&plan, from.structure, &from.root.covariance(), strength, gain, &from.memory)
    }

    fn search(
        &self,
        plan: &Plan,
        structure: Structure,
        covariance: &[f64],
        strength: Strength,
        gain: f64,
        memory: &Memory,
    ) -> Option<Fit> {
        let learnt = matches!(strength, Strength::From(_)) && plan.is_coupled();
        let kappa = match strength {
            Strength::Fixed(kappa) | Strength::From(kappa) if plan.is_coupled() => kappa,
            _ => 0.0,
        };
        let (shape, mut x) = Shape::around(structure, covariance, self.moments.d);
        if learnt {
            x.push(kappa.clamp(KAPPA.0, KAPPA.1).ln());
        }
        let strength_at = |x: &[f64]| if learnt { x[x.len() - 1].exp() } else { kappa };
        let mut reach = vec![0.7; x.len()];
        if learnt {
            reach[x.len() - 1] = 1.5;
        }
        let curvature = vec![self.moments.nodes() as f64; x.len()];
        let search = Search { gain_min: gain, evaluations_max: 300, curvature, reach };
        let (found, memory) = minimise_with(&search, memory, x, |x| {
            let kappa = strength_at(x);
            if learnt && !(KAPPA.0..=KAPPA.1).contains(&kappa) {
                return None;
            }
            let root = shape.root(x);
            let (deviance, slopes) = self.evaluate(plan, &root, kappa)?;
            let mut gradient = shape.slopes(x, &root, &slopes.root);
            if !learnt {
                return Some((deviance, gradient));
            }
            let (prior, prior_slope) = self.prior_of(kappa);
            gradient.push(slopes.log_kappa + prior_slope);
            Some((deviance + prior, gradient))
        })?;
        let (root, kappa) = (shape.root(&found.x), strength_at(&found.x));
        let prior = if learnt { self.prior_of(kappa).0 } else { 0.0 };
        Some(Fit { structure, root, kappa, deviance: found.value - prior, memory })
    }

    fn evaluate(&self, plan: &Plan, root: &Root, kappa: f64) -> Option<(f64, Slopes)> {
        let Task { network, moments, likelihood, .. } = *self;
        if let Some(rows) = self.mode_rows {
            let mut mode = rows.evaluate(network, plan, likelihood, root, kappa)?;
            let slopes = rows.slopes(likelihood, network, plan, &mut mode);
            return Some((mode.deviance, slopes));
        }
        let model = Model { network, moments, plan, likelihood };
        let mut at = model.evaluate(root, kappa)?;
        let slopes = model.slopes(&mut at);
        Some((at.deviance, slopes))
    }

    /// Derivatives of the deviance.
    #[cfg(test)]
    pub fn slopes(&self, plan: &Plan, root: &Root, kappa: f64) -> Option<Slopes> {
        Some(self.evaluate(plan, root, kappa)?.1)
    }

    /// The models at a fit: of squared losses with the noise that suits them, of others at their mode.
    pub fn at<'p>(&'p self, plan: &'p Plan, root: &Root, kappa: f64) -> Option<Evaluation<'p>> {
        let Task { network, moments, likelihood, .. } = *self;
        match self.mode_rows {
            Some(rows) => {
                let mode = rows.evaluate(network, plan, likelihood, root, kappa)?;
                Some(Evaluation { deviance: mode.deviance, ..mode.at })
            }
            None => Model { network, moments, plan, likelihood }.evaluate(root, kappa),
        }
    }

    /// `-2 log` of the prior of the share of the graph, and its derivative by `log kappa`. In units of the mean degree that
    /// share, `kappa / (1 + kappa)`, has a uniform prior from 0 to 1.
    fn prior_of(&self, kappa: f64) -> (f64, f64) {
        match self.prior {
            true => (-2.0 * (kappa / ((1.0 + kappa) * (1.0 + kappa))).ln(), 4.0 * kappa / (1.0 + kappa) - 2.0),
            false => (0.0, 0.0),
        }
    }

    fn warm_up(&self, plan: &Plan, structure: Structure, start: &[f64], kappa: f64) -> Option<Vec<f64>> {
        let (d, mut covariance) = (self.moments.d, start.to_vec());
        for _ in 0..WARM_UP {
            let (shape, x) = Shape::around(structure, &covariance, d);
            let root = shape.root(&x);
            let expected = self.evaluate(plan, &root, kappa)?.1.expected;
            covariance = sandwich(&root.entries, &expected, d, root.p);
            if structure == Structure::Diagonal {
                (0..d * d).filter(|k| k / d != k % d).for_each(|k| covariance[k] = 0.0);
            }
        }
        Some(covariance)
    }
}

/// A covariance in which no direction is quite without variance: so that its inverse exists, and a wider structure can
/// start from it. `share` is the smallest variance, as a share of that with which data and prior have an equal say.
pub fn lifted(covariance: &[f64], moments: &Moments, share: f64) -> Vec<f64> {
    let floor = share / moments.mean_rows().max(1.0);
    spectral(covariance, moments.d, |e| e.max(floor))
}
