//! `L_i(w) + sum_j l_j |w_j|` at nodes with rows, for losses with a Hessian: parameters that are not needed are exactly zero.
//!
//! Coordinates are the kinks. For any slopes `g` with `|g_j| <= l_j` the conjugate is at most `L_i*(v - g)`, which is how the
//! certificate sees them; the smooth part keeps its own proof. The proximal step is a Newton step on the smooth part with the kinks
//! left as they are ([`quadratic`]), repeated where the Hessian changes.

mod quadratic;
mod scale;

use std::sync::OnceLock;

use crate::features::Row;
use crate::linalg::cholesky::{packed_len, symmetric_product};
use crate::matrix::{axpy, dot, norm2};

use super::{Curvature, FenchelGap, Kink, Kinks, Loss, PROXIMAL_ROUNDS, SecondOrder, positive_part};

/// A loss and the strength of `|w_j|` for every parameter.
pub struct Lasso {
    loss: Box<dyn Loss>,
    strength: Vec<f64>,
    /// The columns of the axes that the kinks are made of.
    axes: OnceLock<Vec<u32>>,
}

const STEPS_MAX: usize = 60;
/// Steps of a quadratic: the second one mends the rounding of the first.
const QUADRATIC_STEPS_MAX: usize = 3;

impl Lasso {
    /// Adds `strength` to a loss with a Hessian.
    pub fn new(loss: Box<dyn Loss>, strength: Vec<f64>) -> Self {
        assert!(
            loss.has_hessian() && strength.len() == loss.dim(),
            "a strength per parameter of a loss with a Hessian"
        );
        Lasso { loss, strength, axes: OnceLock::new() }
    }

    fn second(&self) -> &dyn SecondOrder {
        self.loss.second_order().expect("checked when it was built")
    }

    /// `sum_j l_j |w_j|`.
    fn paid(&self, w: &[f64]) -> f64 {
        self.strength.iter().zip(w).map(|(l, w)| l * w.abs()).sum()
    }

    fn add_slopes(&self, node: usize, w: &[f64], out: &mut [f64]) {
        if self.has_rows(node) {
            let slopes = self.strength.iter().zip(w).map(|(l, w)| if *w == 0.0 { 0.0 } else { l * w.signum() });
            out.iter_mut().zip(slopes).for_each(|(o, s)| *o += s);
        }
    }

    /// Minimises `L(z) + shift |z|^2 / 2 - b'z`, starting from `z`; `shift > 0`.
    fn minimise(&self, node: usize, shift: f64, b: &[f64], z: &mut [f64], work: &mut [f64]) {
        let (d, second) = (z.len(), self.second());
        let (x, work) = work.split_at_mut(d);
        let (linear, work) = work.split_at_mut(d);
        let (sum, work) = work.split_at_mut(packed_len(d));
        let (hessian, work) = work.split_at_mut(second.hessian_len(node));
        let objective = |z: &[f64]| self.loss.value(node, z) + 0.5 * shift * dot(z, z) - dot(b, z) + self.paid(z);
        if !objective(z).is_finite() {
            z.fill(0.0);
        }
        let (constant, mut last) = (second.is_constant(), f64::INFINITY);
        for step in 0..if constant { QUADRATIC_STEPS_MAX } else { STEPS_MAX } {
            if step == 0 || !constant {
                second.hessian(node, z, hessian, work);
                sum.fill(0.0);
                second.add_hessian(node, hessian, sum);
                (0..d).for_each(|j| sum[packed_len(j) + j] += shift);
            }
            // The model around z: its gradient at zero.
            self.loss.gradient(node, z, linear);
            linear.iter_mut().zip(z.iter()).zip(b).for_each(|((g, z), b)| *g += shift * z - b);
            let slope = dot(linear, z);
            symmetric_product(sum, z, &mut work[..d]);
            axpy(-1.0, &work[..d], linear);
            x.copy_from_slice(z);
            quadratic::minimise(sum, linear, &self.strength, x, work);
            let moved = x.iter().zip(z.iter()).map(|(x, z)| (x - z) * (x - z)).sum::<f64>().sqrt();
            let still = moved <= 1e-15 * (norm2(x) + norm2(z)) || moved.is_nan();
            if constant {
                z.copy_from_slice(x);
            } else if !still {
                // The gradient at z is that of the model there.
                symmetric_product(sum, z, &mut work[..d]);
                let along = dot(linear, x) + dot(&work[..d], x) - slope;
                let promised = self.paid(z) - self.paid(x) - along;
                let value = objective(z);
                if promised <= 1e-12 * (1.0 + value.abs()) {
                    // Rounding hides any decrease: steps go on as long as they get shorter.
                    if moved > 0.5 * last {
                        return;
                    }
                    z.copy_from_slice(x);
                } else if !backtrack(&objective, z, x, &mut work[..d], value, promised) {
                    return;
                }
            }
            if still {
                return;
            }
            last = moved;
        }
    }
}

/// Moves `z` towards `x` by the first of the shares 1, 1/2, 1/4, ... that lowers the value enough; false if none does.
fn backtrack(
    objective: &impl Fn(&[f64]) -> f64,
    z: &mut [f64],
    x: &[f64],
    trial: &mut [f64],
    value: f64,
    promised: f64,
) -> bool {
    let mut length = 1.0;
    while length > 1e-12 {
        trial
            .iter_mut()
            .zip(z.iter())
            .zip(x)
            .for_each(|((t, z), x)| *t = if length < 1.0 { z + length * (x - z) } else { *x });
        if objective(trial) <= value - 1e-4 * length * promised {
            z.copy_from_slice(trial);
            return true;
        }
        length *= 0.5;
    }
    false
}

impl Loss for Lasso {
    fn nodes(&self) -> usize {
        self.loss.nodes()
    }

    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn row_count(&self, node: usize) -> usize {
        self.loss.row_count(node)
    }

    fn has_rows(&self, node: usize) -> bool {
        self.loss.has_rows(node)
    }

    fn work_len(&self) -> usize {
        let (d, second) = (self.dim(), self.second());
        let hessian = (0..self.nodes()).map(|i| second.hessian_len(i)).max().unwrap_or(0);
        8 * d + packed_len(d) + hessian + self.loss.work_len().max(quadratic::work_len(d))
    }

    fn cost(&self) -> usize {
        self.loss.cost() + self.dim() * self.dim()
    }

    fn curvature(&self, node: usize) -> Curvature {
        let own = self.loss.curvature(node);
        Curvature { mu: own.mu, beta: if self.has_rows(node) { f64::INFINITY } else { own.beta } }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        if self.has_rows(node) { self.loss.value(node, w) + self.paid(w) } else { 0.0 }
    }

    fn error(&self, node: usize, w: &[f64]) -> f64 {
        if self.has_rows(node) { self.loss.error(node, w) + self.paid(w) } else { 0.0 }
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        self.loss.gradient(node, w, out);
        self.add_slopes(node, w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        self.loss.batch_gradient(node, batch, w, out);
        self.add_slopes(node, w, out);
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        if self.has_rows(node) {
            let (b, work) = work.split_at_mut(w.len());
            b.iter_mut().zip(w.iter()).for_each(|(b, w)| *b = w / tau);
            self.minimise(node, 1.0 / tau, b, w, work);
        }
    }

    /// The proximal point method with growing steps.
    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let (b, work) = work.split_at_mut(z.len());
        let (before, work) = work.split_at_mut(z.len());
        let mut tau = 1.0;
        for _ in 0..PROXIMAL_ROUNDS {
            before.copy_from_slice(z);
            b.iter_mut().zip(v).zip(z.iter()).for_each(|((b, v), z)| *b = v + z / tau);
            self.minimise(node, 1.0 / tau, b, z, work);
            let moved = before.iter().zip(z.iter()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            if moved <= 1e-14 * norm2(z) {
                return;
            }
            tau *= 4.0;
        }
    }

    /// With the slopes that belong to the point at which `L*(v)` is attained.
    fn fenchel_gap(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        if !self.has_rows(node) {
            return FenchelGap { gap: 0.0, residue: norm2(v), slope: 0.0 };
        }
        let (slopes, work) = work.split_at_mut(w.len());
        let (z, work) = work.split_at_mut(w.len());
        z.copy_from_slice(w);
        self.minimise_tilted(node, v, z, work);
        self.loss.gradient(node, z, slopes);
        for (j, g) in slopes.iter_mut().enumerate() {
            let l = self.strength[j];
            *g = if z[j] == 0.0 { (v[j] - *g).clamp(-l, l) } else { l * z[j].signum() };
        }
        self.fenchel_gap_at(node, w, v, slopes, work)
    }

    /// The step of the proximal point method: zero exactly where `-flow` is a subgradient at `w`.
    fn residual(&self, node: usize, w: &[f64], flow: &[f64], out: &mut [f64], work: &mut [f64]) {
        out.iter_mut().zip(w).zip(flow).for_each(|((o, w), f)| *o = w - f);
        self.prox(node, 1.0, out, work);
        match self.has_rows(node) {
            true => out.iter_mut().zip(w).for_each(|(o, w)| *o = w - *o),
            false => out.copy_from_slice(flow),
        }
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }

    fn lasso(&self) -> Option<&[f64]> {
        Some(&self.strength)
    }
}

impl Kinks for Lasso {
    fn work_len(&self) -> usize {
        Loss::work_len(self)
    }

    fn kinks<'a>(&'a self, node: usize, out: &mut Vec<Kink<'a>>) {
        if !self.has_rows(node) {
            return;
        }
        let axes = self.axes.get_or_init(|| (0..self.dim() as u32).collect());
        let axis = |j: usize| Row::Sparse { index: &axes[j..=j], values: &[1.0] };
        let kink = |(j, l): (usize, &f64)| Kink { x: axis(j), y: 0.0, low: -l, high: *l };
        out.extend(self.strength.iter().enumerate().filter(|(_, l)| **l > 0.0).map(kink));
    }

    fn smooth_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        self.loss.value_and_gradient(node, w, out)
    }

    fn add_smooth_hessian(&self, node: usize, w: &[f64], sum: &mut [f64], work: &mut [f64]) {
        if self.has_rows(node) {
            let (hessian, work) = work.split_at_mut(self.second().hessian_len(node));
            self.second().hessian(node, w, hessian, work);
            self.second().add_hessian(node, hessian, sum);
        }
    }

    fn smooth_is_quadratic(&self) -> bool {
        self.second().is_constant()
    }

    /// `slopes` are those of the parameters with a strength, or of all.
    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], slopes: &[f64], work: &mut [f64]) -> FenchelGap {
        if !self.has_rows(node) {
            return FenchelGap { gap: 0.0, residue: norm2(v), slope: 0.0 };
        }
        let (rest, work) = work.split_at_mut(w.len());
        let (mut given, mut paid, mut terms) = (slopes.iter(), 0.0, 0.0);
        for (j, rest) in rest.iter_mut().enumerate() {
            let l = self.strength[j];
            let slope = if l > 0.0 || slopes.len() == w.len() { given.next().copied().unwrap_or(0.0) } else { 0.0 };
            let slope = slope.clamp(-l, l);
            *rest = v[j] - slope;
            paid += l * w[j].abs() - slope * w[j];
            terms += l * w[j].abs();
        }
        let smooth = self.loss.fenchel_gap(node, w, rest, work);
        let gap = smooth.gap + positive_part(paid) + 4.0 * f64::EPSILON * terms;
        FenchelGap { gap, ..smooth }
    }
}
