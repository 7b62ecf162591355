//! Models of nodes on their own: `argmin L_i`, by the proximal point method with growing steps.
//!
//! Started at zero it stays in the row space of the data, so under-determined least squares end at the solution of least
//! norm; piecewise linear losses end after finitely many rounds; strongly convex ones converge superlinearly.

use rayon::prelude::*;

use crate::loss::Loss;
use crate::matrix::{Matrix, norm2};
use crate::problem::Problem;
use crate::scratch::Scratch;

const ROUNDS_MAX: usize = 40;

/// Sets the rows of the chosen nodes to minimisers of their losses; nodes without rows keep theirs.
pub fn minimise_local(problem: &Problem, w: &mut Matrix, choose: impl Fn(usize) -> bool + Sync) {
    let (loss, d) = (problem.loss(), problem.dim());
    let scratch = Scratch::new(loss.work_len() + d);
    w.as_mut_slice().par_chunks_mut(d).enumerate().with_min_len(16).for_each(|(node, row)| {
        if choose(node) && loss.has_rows(node) {
            minimise_node(loss, node, row, &mut scratch.lock());
        }
    });
}

pub fn minimise_node(loss: &dyn Loss, node: usize, w: &mut [f64], work: &mut [f64]) {
    let (before, work) = work.split_at_mut(w.len());
    let (mut tau, mut value) = (1.0, loss.value(node, w));
    for _ in 0..ROUNDS_MAX {
        before.copy_from_slice(w);
        loss.prox(node, tau, w, work);
        let reached = loss.value(node, w);
        // Long steps end where rounding begins.
        if reached.is_nan() || reached >= value {
            if reached != value {
                w.copy_from_slice(before);
            }
            return;
        }
        before.iter_mut().zip(w.iter()).for_each(|(b, w)| *b -= w);
        if norm2(before) <= 1e-14 * norm2(w) {
            return;
        }
        (tau, value) = (4.0 * tau, reached);
    }
}
