//! One model per connected component: the minimiser of the pooled loss, and what every node would rather do there.

use crate::matrix::{Matrix, axpy, norm2};
use crate::problem::Problem;
use crate::solve::newton::{FusionEffort, minimise_fused};

/// Gradients of a component that cancel to this share of their sizes are balanced up to rounding.
const BALANCED: f64 = 1e-9;

/// The gradients of all nodes at the pooled models.
pub(super) struct Pooled {
    /// `grad L_i` at the model of the component, the mean of the component removed.
    pub gradients: Matrix,
    /// The model of its component, at every node.
    pub w: Matrix,
    /// What was removed is rounding. False where the loss has kinks.
    pub balanced: bool,
}

/// Minimises the pooled loss of every component of the graph: the problem with all its edges fused.
pub(super) fn pooled(problem: &Problem) -> Pooled {
    let (n, d, loss) = (problem.nodes(), problem.dim(), problem.loss());
    let zero = Matrix::zeros(n, d);
    let mut found = Pooled { gradients: zero.clone(), w: zero, balanced: false };
    if !loss.has_hessian() {
        return found;
    }
    let components = problem.components();
    found.w = minimise_fused(problem, &found.w, components, 0.0, FusionEffort::iterations(f64::INFINITY));
    let sizes = components.sizes();
    let (mut mean, mut size) = (Matrix::zeros(components.len(), d), vec![0.0; components.len()]);
    for i in (0..n).filter(|&i| sizes[components.part(i)] > 1) {
        let (part, gradient) = (components.part(i), found.gradients.row_mut(i));
        loss.gradient(i, found.w.row(i), gradient);
        size[part] += norm2(gradient);
        axpy(1.0 / sizes[part] as f64, gradient, mean.row_mut(part));
    }
    let balanced = |part: usize| norm2(mean.row(part)) * sizes[part] as f64 <= BALANCED * size[part];
    found.balanced = (0..components.len()).all(balanced);
    for i in (0..n).filter(|&i| sizes[components.part(i)] > 1) {
        axpy(-1.0, mean.row(components.part(i)), found.gradients.row_mut(i));
    }
    found
}
