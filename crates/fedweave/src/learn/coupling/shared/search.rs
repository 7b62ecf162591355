//! The best covariance and strength of the graph for one structure, by answers of the parts.
//!
//! Steps of expectation-maximisation find the scale, quasi-Newton steps the optimum, as where all rows are at hand.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::super::dense::{inverse_and_log_determinant, product, sandwich};
use super::super::fit::{KAPPA, Strength};
use super::super::likelihood::{Likelihood, noise_and_deviance};
use super::super::minimise::{Search, minimise};
use super::super::network::Precision;
use super::super::slopes::Slopes;
use super::super::structure::{Shape, Structure};
use super::super::system::Root;
use super::question::{Ask, Best, Common, Point, Question};
use crate::matrix::dot;

/// Steps of expectation-maximisation at first.
const WARM_UP: usize = 4;
/// Evaluations at most.
const EVALUATIONS_MAX: usize = 300;

/// Questions in their order, answered from a list of totals as far as it goes.
pub(super) struct Replay<'a> {
    totals: &'a [Vec<f64>],
    members: f64,
    next: Cell<usize>,
    wanted: RefCell<Option<Ask>>,
}

impl<'a> Replay<'a> {
    /// From the totals that came since the last step.
    pub fn new(totals: &'a [Vec<f64>], members: usize) -> Self {
        Replay { totals, members: members as f64, next: Cell::new(0), wanted: RefCell::new(None) }
    }

    /// The total of the answers; `None` if some part has no answer, or if it is not known yet. Then nothing else is asked.
    pub fn ask(&self, ask: impl FnOnce() -> Ask) -> Option<&'a [f64]> {
        if self.wanted.borrow().is_some() {
            return None;
        }
        let Some(total) = self.totals.get(self.next.get()) else {
            *self.wanted.borrow_mut() = Some(ask());
            return None;
        };
        self.next.set(self.next.get() + 1);
        let fine = total[0] == self.members && total.iter().all(|x| x.is_finite());
        fine.then_some(&total[1..])
    }

    /// The question that is open, if one is; else how many were answered.
    pub fn end(self, dim: usize) -> Result<usize, Box<Question>> {
        match self.wanted.into_inner() {
            Some(ask) => Err(Box::new(Question { dim, ask })),
            None => Ok(self.next.get()),
        }
    }
}

/// A covariance (relative to the noise) and a strength of the graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub structure: Structure,
    /// `Lambda`.
    pub root: Root,
    /// Strength of the graph; 0 where nodes are independent.
    pub kappa: f64,
    /// `-2 log p(y)` there, in scaled units.
    pub deviance: f64,
}

/// The likelihood of all parts.
pub(super) struct Shared<'a, 'r> {
    pub common: &'a Arc<Common>,
    pub replay: &'a Replay<'r>,
}

/// The likelihood at a point, before its derivatives.
pub(super) struct Value {
    pub point: Point,
    pub best: Best,
    pub deviance: f64,
}

impl Shared<'_, '_> {
    fn dim(&self) -> usize {
        self.common.pooled.len()
    }

    fn precision(&self, kappa: f64) -> Option<Precision> {
        if kappa <= 0.0 || !self.common.coupled {
            return Some(Precision::FREE);
        }
        let total = self.replay.ask(|| Ask::Level { common: self.common.clone(), kappa })?;
        Some(Precision::new(kappa, total[0], total[1], self.common.nodes))
    }

    /// The deviance, with the common mean and the noise at their best.
    pub fn value(&self, root: &Root, kappa: f64) -> Option<Value> {
        let (d, common) = (self.dim(), self.common);
        let point = Point { root: root.clone(), precision: self.precision(kappa)? };
        let total = self.replay.ask(|| Ask::Profile { common: common.clone(), point: point.clone() })?;
        let (log_k, explained, v, s) = (total[0], total[1], &total[2..2 + d], &total[2 + d..]);
        let (mean_covariance, log_s) = inverse_and_log_determinant(s, d);
        let mu = product(&mean_covariance, v, d, d, 1);
        let freedom = common.freedom();
        let restricted = freedom < common.rows;
        let (s2, rest) = noise_and_deviance(common.squares - explained - dot(&mu, v), common.squares, freedom);
        let deviance = log_k + rest + if restricted { log_s } else { 0.0 };
        let best = Best { mu, s2, mean_covariance, restricted };
        deviance.is_finite().then_some(Value { point, best, deviance })
    }

    fn evaluate(&self, root: &Root, kappa: f64) -> Option<(f64, Slopes)> {
        let Value { point, best, deviance } = self.value(root, kappa)?;
        let total = self.replay.ask(|| Ask::Slopes { common: self.common.clone(), point, best })?;
        let (root_slope, rest) = total.split_at(root.d * root.p);
        let expected = rest[1..].iter().map(|e| e / self.common.nodes).collect();
        Some((deviance, Slopes { root: root_slope.to_vec(), log_kappa: rest[0], expected }))
    }

    /// Fits a structure from a covariance; `gain` is the part of the deviance that is not worth another evaluation.
    pub fn fit(&self, structure: Structure, start: &[f64], strength: Strength, gain: f64) -> Option<Found> {
        let learnt = matches!(strength, Strength::From(_)) && self.common.coupled;
        let (Strength::Fixed(kappa) | Strength::From(kappa)) = strength;
        let kappa = if self.common.coupled { kappa } else { 0.0 };
        let covariance = self.warm_up(structure, start, kappa)?;
        let (shape, mut x) = Shape::around(structure, &covariance, self.dim());
        let mut reach = vec![0.7; x.len()];
        if learnt {
            x.push(kappa.clamp(KAPPA.0, KAPPA.1).ln());
            reach.push(1.5);
        }
        let strength_at = |x: &[f64]| if learnt { x[x.len() - 1].exp() } else { kappa };
        let curvature = vec![self.common.nodes; x.len()];
        let search = Search { gain_min: gain, evaluations_max: EVALUATIONS_MAX, curvature, reach };
        let found = minimise(&search, x, |x| {
            let kappa = strength_at(x);
            if learnt && !(KAPPA.0..=KAPPA.1).contains(&kappa) {
                return None;
            }
            let root = shape.root(x);
            let (deviance, slopes) = self.evaluate(&root, kappa)?;
            let mut gradient = shape.slopes(x, &root, &slopes.root);
            if !learnt {
                return Some((deviance, gradient));
            }
            let (prior, prior_slope) = share_prior(kappa);
            gradient.push(slopes.log_kappa + prior_slope);
            Some((deviance + prior, gradient))
        })?;
        let (root, kappa) = (shape.root(&found.x), strength_at(&found.x));
        let prior = if learnt { share_prior(kappa).0 } else { 0.0 };
        Some(Found { structure, root, kappa, deviance: found.value - prior })
    }

    fn warm_up(&self, structure: Structure, start: &[f64], kappa: f64) -> Option<Vec<f64>> {
        let (d, mut covariance) = (self.dim(), start.to_vec());
        for _ in 0..WARM_UP {
            let (shape, x) = Shape::around(structure, &covariance, d);
            let root = shape.root(&x);
            let expected = self.evaluate(&root, kappa)?.1.expected;
            covariance = sandwich(&root.entries, &expected, d, root.p);
            if structure == Structure::Diagonal {
                (0..d * d).filter(|k| k / d != k % d).for_each(|k| covariance[k] = 0.0);
            }
        }
        Some(covariance)
    }
}

/// `-2 log` of the uniform prior of the share of the graph, and its derivative by `log kappa`.
fn share_prior(kappa: f64) -> (f64, f64) {
    (-2.0 * (kappa / ((1.0 + kappa) * (1.0 + kappa))).ln(), 4.0 * kappa / (1.0 + kappa) - 2.0)
}

impl Common {
    /// Rows less the means that are integrated out.
    pub fn freedom(&self) -> f64 {
        Likelihood::default().freedom_of(self.rows, self.rank)
    }

    /// Rows of an average node that has some.
    pub fn mean_rows(&self) -> f64 {
        (self.rows / self.nodes_with_rows.max(1.0)).max(1.0)
    }

    /// `log p(y)` in the units of the target, from a deviance.
    pub fn log_likelihood(&self, deviance: f64) -> f64 {
        -0.5 * deviance - self.freedom() * self.unit.ln()
    }
}
