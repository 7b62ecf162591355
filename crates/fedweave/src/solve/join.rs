//! A node that joins a network whose models stay as they are: `argmin_w L(w) + lambda sum_j A_j phi(w - w_j)`.
//!
//! With the squared penalty this is one proximal step from the weighted mean of the neighbours. Other penalties take the
//! alternating direction method of multipliers on `z_j = w - w_j`, which needs no more of loss and penalty than their proximal steps.

use crate::loss::{Loss, Prepared};
use crate::matrix::{axpy, norm2};
use crate::penalty::Penalty;

/// A model that stays as it is, and the weight of the edge to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchor<'a> {
    /// `lambda A_j`.
    pub weight: f64,
    /// `w_j`.
    pub model: &'a [f64],
}

const ITERATIONS_MAX: usize = 10_000;
/// Residuals at which models no longer move, relative to their size.
const TOLERANCE: f64 = 1e-11;
/// Iterations between two looks at the step.
const BALANCE_EVERY: usize = 20;

/// The model of node `node` of `loss` among `anchors`. A node without rows and without anchors keeps zero; one with rows and
/// without anchors has its own minimiser of least norm, as far as proximal steps see it.
pub fn join(loss: &dyn Loss, node: usize, penalty: &dyn Penalty, anchors: &[Anchor]) -> Vec<f64> {
    let d = loss.dim();
    let total: f64 = anchors.iter().map(|anchor| anchor.weight).sum();
    let mut w = vec![0.0; d];
    if total <= 0.0 {
        let mut work = vec![0.0; loss.work_len() + d];
        super::minimise_node(loss, node, &mut w, &mut work);
        return w;
    }
    anchors.iter().for_each(|anchor| axpy(anchor.weight / total, anchor.model, &mut w));
    match (loss.has_rows(node), penalty.name()) {
        // With one form for all edges the mean of the neighbours is what all of them are closest to.
        (false, "squared" | "quadratic") => {}
        (true, "squared") => loss.prox(node, 0.5 / total, &mut w, &mut vec![0.0; loss.work_len()]),
        _ => Splitting::new(loss, node, penalty, anchors, total).run(&mut w),
    }
    w
}

/// The state of the method of multipliers.
struct Splitting<'a> {
    loss: &'a dyn Loss,
    node: [u32; 1],
    penalty: &'a dyn Penalty,
    anchors: &'a [Anchor<'a>],
    rho: f64,
    tau: [f64; 1],
    prepared: Prepared,
    /// `z_j`, and the multipliers divided by `rho`.
    z: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
}

impl<'a> Splitting<'a> {
    fn new(loss: &'a dyn Loss, node: usize, penalty: &'a dyn Penalty, anchors: &'a [Anchor<'a>], total: f64) -> Self {
        let zeros = vec![vec![0.0; loss.dim()]; anchors.len()];
        let rho = total / anchors.len() as f64;
        let mut state = Splitting {
            loss,
            node: [node as u32],
            penalty,
            anchors,
            rho,
            tau: [0.0],
            prepared: Prepared::default(),
            z: zeros.clone(),
            u: zeros,
        };
        state.use_step(rho);
        state
    }

    /// Changes `rho`; the multipliers themselves stay.
    fn use_step(&mut self, rho: f64) {
        let ratio = self.rho / rho;
        self.u.iter_mut().flatten().for_each(|u| *u *= ratio);
        self.rho = rho;
        self.tau = [1.0 / (rho * self.anchors.len() as f64)];
        self.prepared = self.loss.prepare(&self.node, &self.tau);
    }

    fn run(&mut self, w: &mut [f64]) {
        let (d, count) = (w.len(), self.anchors.len() as f64);
        let mut work = vec![0.0; self.loss.work_len() + 8 * d];
        let (mut t, mut before) = (vec![0.0; d], vec![0.0; d]);
        for (z, anchor) in self.z.iter_mut().zip(self.anchors) {
            z.iter_mut().zip(w.iter().zip(anchor.model)).for_each(|(z, (w, a))| *z = w - a);
        }
        for k in 1..=ITERATIONS_MAX {
            before.copy_from_slice(w);
            w.fill(0.0);
            for ((z, u), anchor) in self.z.iter().zip(&self.u).zip(self.anchors) {
                let terms = z.iter().zip(u).zip(anchor.model);
                w.iter_mut().zip(terms).for_each(|(w, ((z, u), a))| *w += (a + z - u) / count);
            }
            if self.loss.has_rows(self.node[0] as usize) {
                self.loss.prox_rows(0, &self.node, &self.tau, &self.prepared, w, &mut work);
            }
            let (mut primal, mut dual) = (0.0f64, 0.0f64);
            for ((z, u), anchor) in self.z.iter_mut().zip(&mut self.u).zip(self.anchors) {
                let gap = w.iter().zip(anchor.model).zip(u.iter());
                t.iter_mut().zip(gap).for_each(|(t, ((w, a), u))| *t = w - a + u);
                self.penalty.prox(0, anchor.weight / self.rho, &mut t, &mut work);
                for j in 0..d {
                    dual = dual.max((t[j] - z[j]).abs());
                    let left = w[j] - anchor.model[j] - t[j];
                    primal = primal.max(left.abs());
                    (z[j], u[j]) = (t[j], u[j] + left);
                }
            }
            before.iter_mut().zip(w.iter()).for_each(|(b, w)| *b -= w);
            let size = TOLERANCE * (1.0 + norm2(w));
            if primal <= size && dual <= size && norm2(&before) <= size {
                return;
            }
            if k % BALANCE_EVERY == 0 && k <= ITERATIONS_MAX / 2 {
                match primal / dual.max(f64::MIN_POSITIVE) {
                    ratio if ratio > 10.0 => self.use_step(self.rho * 2.0),
                    ratio if ratio < 0.1 => self.use_step(self.rho / 2.0),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::dataset::Dataset;
    use crate::loss::{Family, LossOptions};
    use crate::matrix::Matrix;
    use crate::penalty::{Quadratic, named};
    use crate::random::{Purpose, stream};

    fn objective(loss: &dyn Loss, penalty: &dyn Penalty, anchors: &[Anchor], w: &[f64]) -> f64 {
        let term = |a: &Anchor| {
            let t: Vec<f64> = w.iter().zip(a.model).map(|(w, a)| w - a).collect();
            a.weight * penalty.value(0, &t)
        };
        let own = if loss.has_rows(0) { loss.value(0, w) } else { 0.0 };
        own + anchors.iter().map(term).sum::<f64>()
    }

    /// The objective is convex: what no small step in any of many directions improves is a minimum.
    #[test]
    fn no_step_in_any_direction_is_an_improvement() {
        let (d, neighbours) = (3, 4);
        let mut rng = stream(1, Purpose::Coordinates, 0);
        let mut draw = move || rng.random::<f64>() * 4.0 - 2.0;
        let form = Quadratic::new(&[Matrix::from_rows(3, vec![2.0, 0.5, 0.0, 0.5, 1.0, 0.2, 0.0, 0.2, 0.7])]).unwrap();
        let penalties = ["norm2", "norm1", "norminf", "squared"].map(|name| named(name).unwrap());
        let penalties: Vec<Box<dyn Penalty>> =
            penalties.into_iter().chain([Box::new(form) as Box<dyn Penalty>]).collect();
        for family in [Family::Squared, Family::Logistic, Family::Absolute] {
            for (rows, penalty) in [0, 2, 9].into_iter().flat_map(|rows| penalties.iter().map(move |p| (rows, p))) {
                let x = Matrix::from_rows(d, (0..rows * d).map(|_| draw()).collect());
                let y = (0..rows).map(|_| if family == Family::Logistic { draw().signum() } else { draw() }).collect();
                let data = Dataset::new(vec![0, rows], x, y, vec![1.0; rows]).unwrap();
                let options =
                    LossOptions { ridge: if family == Family::Logistic { 0.1 } else { 0.0 }, ..Default::default() };
                let loss = family.build(data, &options).unwrap();
                let models: Vec<Vec<f64>> = (0..neighbours).map(|_| (0..d).map(|_| draw()).collect()).collect();
                let anchors: Vec<Anchor> =
                    models.iter().map(|model| Anchor { weight: 0.05 + draw().abs(), model }).collect();
                let w = join(&*loss, 0, &**penalty, &anchors);
                let best = objective(&*loss, &**penalty, &anchors, &w);
                for k in 0..300 {
                    let step = 10f64.powi(-(k % 6));
                    let other: Vec<f64> = w.iter().map(|w| w + step * draw()).collect();
                    let found = objective(&*loss, &**penalty, &anchors, &other);
                    let name = (family.name(), penalty.name(), rows);
                    assert!(found >= best - 1e-9 * (1.0 + best.abs()), "{name:?}: {best} but {found} at step {step}");
                }
            }
        }
    }

    #[test]
    fn without_neighbours_a_node_has_its_own_minimiser() {
        let x = Matrix::from_rows(1, vec![1.0, 2.0]);
        let loss = Family::Squared
            .build(Dataset::new(vec![0, 2], x, vec![2.0, 4.0], vec![1.0; 2]).unwrap(), &LossOptions::default());
        let w = join(&*loss.unwrap(), 0, &*named("norm2").unwrap(), &[]);
        assert!((w[0] - 2.0).abs() < 1e-9);
    }
}
