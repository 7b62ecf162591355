//! Flows inside clusters: which ones carry what the nodes demand, and stay inside their balls?
//!
//! At models `w` that are optimal for a partition, flows between different models are known: they point along the difference.
//! The others have to meet `(D'u)_i = -grad L_i(w_i)`, and any that do inside their balls prove that `w` is optimal. From flows
//! inside, the smallest change that meets the demands, measured in units of the slack of every edge, leaves nearly full edges
//! alone (affine scaling). Each step is a Laplacian system, the same for all coordinates.

use super::coupling::Coupling;
use crate::matrix::{Matrix, axpy};
use crate::parallel::for_blocks;
use crate::problem::Problem;

/// Steps at most.
const STEPS_MAX: usize = 4;
/// Share of the way to the first full edge.
const SHORT: f64 = 0.9;
/// After a shorter step, full edges are in the way of all further ones.
const SLOW: f64 = 0.3;
/// A slack is taken to be at least this share of the ball.
const SLACK_MIN: f64 = 1e-9;
/// What makes the Laplacian regular, relative to the mean square of the slacks.
const REGULAR: f64 = 1e-9;
/// Flows that are larger than their balls by no more than this, relatively, are at the boundary.
const ROUNDING: f64 = 1e-12;
/// Halvings of a step that leaves a ball.
const HALVINGS: usize = 20;

/// Flows near `flow` (inside their balls) that carry what the nodes demand at `w`, as far as a few steps and the balls allow.
/// `None` if the graph fills up under elimination.
pub fn routed(problem: &Problem, w: &Matrix, flow: &Matrix, cut: &[bool]) -> Option<Matrix> {
    let (graph, d) = (problem.graph(), problem.dim());
    let mut coupling = Coupling::planned(graph, d, problem.elimination()?);
    let mut u = flow.clone();
    set_cut_flows(problem, w, cut, &mut u);
    let (mut change, mut potential) = (Matrix::zeros(graph.edges(), d), Matrix::zeros(graph.nodes(), d));
    for _ in 0..STEPS_MAX {
        let left = left_over(problem, w, &u);
        let room: Vec<f64> =
            (0..graph.edges()).map(|e| if cut[e] { 0.0 } else { slack(problem, &u, e).powi(2) }).collect();
        let mean = room.iter().sum::<f64>() / room.len() as f64;
        if !coupling.set(&room, REGULAR * mean) {
            return None;
        }
        coupling.solve(&left, &mut potential);
        for_blocks(change.as_mut_slice(), d, |start, rows| {
            for (k, row) in rows.chunks_exact_mut(d).enumerate() {
                let (i, j) = graph.nodes_of(start + k);
                let ends = potential.row(i).iter().zip(potential.row(j));
                row.iter_mut().zip(ends).for_each(|(c, (a, b))| *c = room[start + k] * (a - b));
            }
        });
        let length = longest(problem, &u, &change, cut);
        if length >= 1.0 {
            axpy(1.0, change.as_slice(), u.as_mut_slice());
            problem.project_flows(&mut u);
            return Some(u);
        }
        axpy(SHORT * length, change.as_slice(), u.as_mut_slice());
        change.as_mut_slice().iter_mut().for_each(|c| *c *= 1.0 - SHORT * length);
        if length < SLOW {
            break;
        }
    }
    // The rest of the last step, as far as it goes on every edge.
    axpy(1.0, change.as_slice(), u.as_mut_slice());
    problem.project_flows(&mut u);
    Some(u)
}

/// Flows between different models point along the difference.
fn set_cut_flows(problem: &Problem, w: &Matrix, cut: &[bool], u: &mut Matrix) {
    let mut work = vec![0.0; 4 * problem.dim()];
    for e in (0..u.rows()).filter(|&e| cut[e]) {
        let weight = problem.edge_weights()[e];
        problem.with_difference(w, e, |t| u.row_mut(e).copy_from_slice(t));
        problem.penalty().gradient(e, weight, u.row_mut(e), &mut work);
    }
}

/// `-grad L(w) - D'u`.
fn left_over(problem: &Problem, w: &Matrix, u: &Matrix) -> Matrix {
    let d = problem.dim();
    let mut left = Matrix::zeros(problem.nodes(), d);
    for_blocks(left.as_mut_slice(), d, |start, rows| {
        let mut gradient = vec![0.0; d];
        for (k, row) in rows.chunks_exact_mut(d).enumerate() {
            problem.divergence(u, start + k, row);
            problem.loss().gradient(start + k, w.row(start + k), &mut gradient);
            row.iter_mut().zip(&gradient).for_each(|(r, g)| *r = -*r - g);
        }
    });
    left
}

/// What is left to the boundary of the ball.
fn slack(problem: &Problem, u: &Matrix, e: usize) -> f64 {
    let weight = problem.edge_weights()[e];
    let size = problem.penalty().dual_norm(e, u.row(e)).unwrap_or(weight);
    (weight - size).max(SLACK_MIN * weight)
}

/// The largest part of the change that keeps all flows inside, at most 1.
fn longest(problem: &Problem, u: &Matrix, change: &Matrix, cut: &[bool]) -> f64 {
    let mut trial = vec![0.0; problem.dim()];
    let mut length = 1.0;
    for e in (0..u.rows()).filter(|&e| !cut[e]) {
        let mut inside = |length: f64| {
            trial.copy_from_slice(u.row(e));
            axpy(length, change.row(e), &mut trial);
            problem
                .penalty()
                .dual_norm(e, &trial)
                .is_some_and(|size| size <= (1.0 + ROUNDING) * problem.edge_weights()[e])
        };
        if inside(length) {
            continue;
        }
        let (mut low, mut high) = (0.0, length);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            *(if inside(middle) { &mut low } else { &mut high }) = middle;
        }
        length = low;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate;
    use crate::dataset::Dataset;
    use crate::graph::generate::grid;
    use crate::loss::{Family, LossOptions};
    use crate::penalty::Norm2;
    use crate::random::{Purpose, stream};
    use crate::solve::{Settings, Watch, solve};
    use rand::RngExt;

    /// Flows of a smaller `lambda` prove the optimum of a larger one, once they carry what its models demand.
    #[test]
    fn flows_inside_clusters_prove_the_optimum() {
        let (n, mut random) = (60, stream(3, Purpose::LocalData, 0));
        // Two halves of a grid, far from each other.
        let x = (0..2 * n).map(|k| random.random::<f64>() + if k < n { 0.0 } else { 5.0 }).collect();
        let data = Dataset::new((0..=n).collect(), Matrix::from_rows(2, x), vec![0.0; n], vec![1.0; n]).unwrap();
        let loss = Family::Point.build(data, &LossOptions::default()).unwrap();
        let mut problem = Problem::build(grid(10, 6).unwrap(), loss, Box::new(Norm2), 0.8).unwrap();
        let settings = Settings { tolerance: 1e-10, ..Settings::default() };
        let before = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        problem.set_lambda(0.9).unwrap();
        let now = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        let (edges, scale) = (problem.graph().edges(), now.w.max_row_norm());
        let cut: Vec<bool> = (0..edges).map(|e| !problem.is_fused(&now.w, e, 1e-6, scale)).collect();
        assert!((1..edges / 2).contains(&cut.iter().filter(|cut| **cut).count()));
        let gap = |u: &Matrix| certificate::bound(&problem, &now.w, u, now.objective).unwrap() / now.objective;
        let flows = routed(&problem, &now.w, &before.u, &cut).unwrap();
        assert!(gap(&before.u) > 1e-4 && gap(&flows) < 1e-9, "{} {}", gap(&before.u), gap(&flows));
    }
}
