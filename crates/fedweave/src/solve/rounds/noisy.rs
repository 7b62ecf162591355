//! Gradient descent over the edges of the graph by gradients that were released with noise
//! ([`ClippedGradients`]). What the penalty and the ridge add knows no rows.
//!
//! The models are the mean over the second half of the rounds: noise averages out in it, and means of releases cost nothing.

use rand::Rng;

use super::descent::{GradientRound, check_smooth};
use crate::error::Result;
use crate::matrix::{Matrix, axpy};
use crate::problem::Problem;
use crate::trust::privacy::rounds::ClippedGradients;

/// Descends from zero for so many rounds; `None` if `see`, which looks at the models after every round, says that it is enough. The noise at
/// a node comes from `draw(node, w)`: it must be fresh for every point, and may be the same for the same one.
pub fn noisy_descent<R: Rng>(
    problem: &Problem,
    gradients: &ClippedGradients,
    rounds: usize,
    draw: impl Fn(usize, &[f64]) -> R + Sync,
    see: &mut dyn FnMut(usize, &Matrix) -> bool,
) -> Result<Option<Matrix>> {
    check_smooth(problem, "descent with noise")?;
    let mut at = GradientRound::new(problem, gradients.step(problem));
    let mut mean = Matrix::zeros(problem.nodes(), problem.dim());
    let first = rounds / 2;
    for round in 0..rounds {
        at.compute_gradient(|_, node, w, out| gradients.release(node, w, &mut draw(node, w), out));
        at.move_by(at.step, |_| ());
        at.accept();
        if round >= first {
            axpy(1.0 / (rounds - first) as f64, at.w.as_slice(), mean.as_mut_slice());
        }
        if !see(round + 1, &at.w) {
            return Ok(None);
        }
    }
    Ok(Some(mean))
}
