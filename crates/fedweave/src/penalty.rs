//! `phi(w_i - w_j)`: the price of two neighbours disagreeing.
//!
//! An edge pays `weight * phi(t)` with `weight = lambda * A_e`. Dual steps need the conjugate of that function; its
//! proximal operator follows from the primal one by Moreau's identity.

mod blocks;
mod huber;
mod norm1;
mod norm2;
mod norm_inf;
mod quadratic;
mod squared;

use crate::error::Result;

pub use blocks::{Block, Blocks};
pub use huber::HuberNorm;
pub use norm_inf::NormInf;
pub use norm1::Norm1;
pub use norm2::Norm2;
pub use quadratic::Quadratic;
pub use squared::SquaredNorm;

/// The domain of `(weight phi)*` where it is one of these, for interior-point methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DualDomain {
    /// Flows of Euclidean norm at most `weight`; the conjugate is zero there.
    Ball,
    /// Flows with entries of at most `weight`; the conjugate is zero there.
    Cube,
    /// All flows: the penalty is `weight |t|^2`.
    Everything,
}

/// The step of the dual and its relaxation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualStep {
    /// Its length.
    pub sigma: f64,
    /// How far to go, 1 for as far as it leads.
    pub rho: f64,
}

/// A convex penalty with `phi(0) = 0 <= phi(t) = phi(-t)`. The edge index is there because [`Quadratic`] differs per edge.
///
/// ```
/// use fedweave::penalty::{Norm2, Penalty};
/// let mut flow = [3.0, 4.0];
/// // The conjugate of 2 |t| is zero on the ball of radius 2: its proximal operator projects onto that ball.
/// Norm2.prox_conjugate(0, 2.0, 1.0, &mut flow, &mut [0.0; 8]);
/// assert!((flow[0] - 1.2).abs() < 1e-15 && (flow[1] - 1.6).abs() < 1e-15);
/// ```
pub trait Penalty: Send + Sync {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;
    /// True for a norm: its conjugate is zero on a ball.
    fn is_norm(&self) -> bool {
        false
    }
    /// True if it has a gradient everywhere: there is nothing to fuse.
    fn is_smooth(&self) -> bool {
        false
    }
    /// True if it is a quadratic form: with quadratic losses, a problem is one linear system.
    fn is_quadratic(&self) -> bool {
        false
    }
    /// The most that a neighbour pulls with on an edge of weight 1, in the Euclidean norm; `None` if there is no limit.
    fn pull_max(&self, _dim: usize) -> Option<f64> {
        None
    }
    /// Checks that it fits a graph with so many edges and models with so many parameters.
    fn check(&self, _edges: usize, _dim: usize) -> Result<()> {
        Ok(())
    }
    /// Coordinates that the penalty leaves alone.
    fn loose(&self) -> &[usize] {
        &[]
    }
    /// `phi(t)`.
    fn value(&self, edge: usize, t: &[f64]) -> f64;
    /// `t <- argmin_z weight phi(z) + |z - t|^2 / 2`; `work` holds at least `4 d` entries, here and below.
    fn prox(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]);
    /// `t <- weight grad phi(t)`, or an element of the subdifferential.
    fn gradient(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]);
    /// Lipschitz constant of the gradient of `phi`; infinite for penalties with kinks.
    fn smoothness(&self, _edge: usize) -> f64 {
        f64::INFINITY
    }
    /// `(weight phi)*(u)`; infinite outside its domain.
    fn conjugate(&self, edge: usize, weight: f64, u: &[f64]) -> f64;
    /// How far `u` is outside the domain of the conjugate, relative to the size of that domain; 0 inside.
    fn excess(&self, edge: usize, weight: f64, u: &[f64]) -> f64;

    /// The domain of the conjugate, if it is a simple one.
    fn dual_domain(&self) -> Option<DualDomain> {
        None
    }

    /// The dual norm of `u`, if `phi` is a norm: `(weight phi)*(u)` is finite exactly where this is at most `weight`.
    fn dual_norm(&self, _edge: usize, _u: &[f64]) -> Option<f64> {
        None
    }

    /// `u <- argmin_z (weight phi)*(z) + |z - u|^2 / (2 sigma)`, by Moreau's identity.
    fn prox_conjugate(&self, edge: usize, weight: f64, sigma: f64, u: &mut [f64], work: &mut [f64]) {
        let (t, work) = work.split_at_mut(u.len());
        t.iter_mut().zip(u.iter()).for_each(|(t, u)| *t = u / sigma);
        self.prox(edge, weight / sigma, t, work);
        u.iter_mut().zip(t.iter()).for_each(|(u, t)| *u -= sigma * t);
    }

    /// `v <- J v` with `J` a generalised Jacobian of [`prox_conjugate`](Penalty::prox_conjugate) at `y`: symmetric, between
    /// 0 and the identity.
    fn jacobian(&self, edge: usize, weight: f64, sigma: f64, y: &[f64], v: &mut [f64], work: &mut [f64]);

    /// [`jacobian`](Penalty::jacobian) on several edges.
    fn jacobian_rows(&self, edges: &[u32], weight: &[f64], sigma: f64, y: &[f64], v: &mut [f64], work: &mut [f64]) {
        let d = y.len() / edges.len().max(1);
        let rows = y.chunks_exact(d).zip(v.chunks_exact_mut(d));
        for ((&edge, &weight), (y, v)) in edges.iter().zip(weight).zip(rows) {
            self.jacobian(edge as usize, weight, sigma, y, v, work);
        }
    }

    /// The mean eigenvalue of the [`jacobian`](Penalty::jacobian), or a guess between 0 and 1.
    fn stiffness(&self, _edge: usize, _weight: f64, _sigma: f64, _y: &[f64]) -> f64 {
        1.0
    }

    /// [`prox_conjugate`](Penalty::prox_conjugate) on several edges, one weight and one row each.
    fn prox_conjugate_rows(&self, edges: &[u32], weight: &[f64], sigma: f64, rows: &mut [f64], work: &mut [f64]) {
        let d = rows.len() / edges.len().max(1);
        for ((&edge, &weight), row) in edges.iter().zip(weight).zip(rows.chunks_exact_mut(d)) {
            self.prox_conjugate(edge as usize, weight, sigma, row, work);
        }
    }

    /// A dual step with relaxation, `u <- u + rho (p - u)`, on several edges: `p` is what
    /// [`prox_conjugate`](Penalty::prox_conjugate) makes of `u + sigma (v_i - v_j)`, and `ends` are the rows `i` and `j` of
    /// `v`. False, and nothing done, where there is no code for all of this in one pass.
    fn dual_step_rows(
        &self,
        _ends: &[(u32, u32)],
        _weight: &[f64],
        _step: DualStep,
        _v: &[f64],
        _u: &mut [f64],
    ) -> bool {
        false
    }
}

/// The penalty with this name, if it needs nothing but its name.
pub fn named(name: &str) -> Option<Box<dyn Penalty>> {
    Some(match name {
        "norm2" => Box::new(Norm2),
        "norm1" => Box::new(Norm1),
        "norminf" => Box::new(NormInf),
        "squared" => Box::new(SquaredNorm),
        _ => return None,
    })
}

/// The excess of a dual norm over the radius of the ball, relative to the radius.
fn ball_excess(norm: f64, radius: f64) -> f64 {
    if norm <= radius { 0.0 } else { (norm - radius) / radius.max(f64::MIN_POSITIVE) }
}

/// A flow this little outside its ball is inside up to rounding.
pub const ROUNDING: f64 = 1e-12;

/// The conjugate of a norm: zero on the dual ball, infinite outside.
fn ball_indicator(norm: f64, radius: f64) -> f64 {
    if norm <= radius * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY }
}
