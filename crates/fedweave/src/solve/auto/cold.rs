//! Where to begin when nothing is known: at the nodes' own models, with a ratio of steps to match.
//!
//! From zero, the first iterations carry all models the same long way, which says nothing about the way they have to go from
//! each other: the ratio of steps would follow that, and take long to return.

use crate::matrix::dot;
use crate::parallel::{for_blocks, ordered_sum};
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::solve::Start;
use crate::solve::newton::{Losses, mean_curvature};
use crate::solve::tuning::{COLD_RATIO_MIN, COLD_RATIO_SHARE, COLD_STEP};

/// Replaces a start at zero, for quadratic losses: others may have no minimiser.
pub fn begin(problem: &Problem, start: &mut Start) {
    let (graph, loss, d) = (problem.graph(), problem.loss(), problem.dim());
    if !loss.is_quadratic() || start.is_warm() || start.w.as_slice().iter().any(|w| *w != 0.0) {
        return;
    }
    let curvature = mean_curvature(&Losses::of(loss), problem.nodes(), |i| start.w.row(i));
    if curvature <= 0.0 {
        return;
    }
    let (nodes, tau): (Vec<u32>, Vec<f64>) = (0..problem.nodes() as u32).map(|i| (i, COLD_STEP / curvature)).unzip();
    let (prepared, scratch) = (loss.prepare(&nodes, &tau), Scratch::new(loss.work_len() + 2 * d));
    for_blocks(start.w.as_mut_slice(), d, |first, rows| {
        let places = first..first + rows.len() / d;
        loss.prox_rows(first, &nodes[places], &tau, &prepared, rows, &mut scratch.lock());
    });
    let apart = ordered_sum(graph.edges(), d, |e| problem.with_difference(&start.w, e, |t| dot(t, t)));
    let bounds: f64 = problem.edge_weights().iter().map(|a| a * a).sum();
    let ratio = (COLD_RATIO_SHARE * (apart / bounds).sqrt()).max(COLD_RATIO_MIN / curvature);
    if ratio > 0.0 && ratio.is_finite() {
        start.step_ratio = ratio;
    }
}
