//! Newton's method for one node, shared by all losses with a Hessian.

use crate::matrix::{axpy, dot, norm2};

use super::{Loss, SecondOrder};

/// Damping of a Hessian that may be singular, relative to its trace.
pub const DAMPING: f64 = 1e-9;
/// The gradient is zero when it is this small against the terms it is made of.
const GRADIENT_TOLERANCE: f64 = 1e-15;
const STEPS_MAX: usize = 60;

/// `shift` belongs to the objective, `damping` only to the matrix of the Newton step.
#[derive(Clone, Copy)]
pub struct Shift {
    /// `s` in `L(z) + s |z|^2 / 2 - b'z`.
    pub shift: f64,
    /// Added to the Hessian.
    pub damping: f64,
    /// The Hessian is the same everywhere: one factor serves all steps.
    pub constant: bool,
}

/// Minimises `L(z) + shift |z|^2 / 2 - b'z` with backtracking, starting from `z`.
pub fn minimise<L: Loss + SecondOrder>(
    loss: &L,
    node: usize,
    shift: Shift,
    b: &[f64],
    z: &mut [f64],
    work: &mut [f64],
) {
    let d = z.len();
    let (step, work) = work.split_at_mut(d);
    let (trial, work) = work.split_at_mut(d);
    let (factor, work) = work.split_at_mut(loss.factor_len(node));
    let (hessian, work) = work.split_at_mut(loss.hessian_len(node));
    let objective = |z: &[f64]| loss.value(node, z) + 0.5 * shift.shift * dot(z, z) - dot(b, z);
    let mut value = objective(z);
    if !value.is_finite() {
        z.fill(0.0);
        value = objective(z);
    }
    let total = shift.shift + shift.damping.max(f64::MIN_POSITIVE);
    let mut last = f64::INFINITY;
    for step_number in 0..STEPS_MAX {
        loss.gradient(node, z, step);
        let size = norm2(step) + shift.shift * norm2(z) + norm2(b);
        for ((g, z), b) in step.iter_mut().zip(z.iter()).zip(b) {
            *g += shift.shift * z - b;
        }
        let residual = norm2(step);
        if residual <= GRADIENT_TOLERANCE * size || !residual.is_finite() {
            return;
        }
        trial.copy_from_slice(step);
        if step_number == 0 || !shift.constant {
            loss.hessian(node, z, hessian, work);
            loss.factor(node, hessian, total, factor, work);
        }
        loss.factor_solve(node, total, factor, step, work);
        let decrement = dot(trial, step);
        if decrement <= 1e-12 * (1.0 + value.abs()) {
            // So near the solution rounding hides any decrease of the value: the gradient decides.
            if residual > 0.5 * last {
                return;
            }
            last = residual;
            axpy(-1.0, step, z);
        } else {
            match backtrack(&objective, z, step, trial, value, decrement) {
                Some(lower) => value = lower,
                None => return,
            }
        }
    }
}

/// Moves `z` along `-step` by the first of the lengths 1, 1/2, 1/4, ... that lowers the value enough.
fn backtrack(
    objective: &impl Fn(&[f64]) -> f64,
    z: &mut [f64],
    step: &[f64],
    trial: &mut [f64],
    value: f64,
    decrement: f64,
) -> Option<f64> {
    let mut length = 1.0;
    while length > 1e-12 {
        trial.copy_from_slice(z);
        axpy(-length, step, trial);
        let lower = objective(trial);
        if lower <= value - 1e-4 * length * decrement {
            z.copy_from_slice(trial);
            return Some(lower);
        }
        length *= 0.5;
    }
    None
}
