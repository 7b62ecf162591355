//! What gradient methods share: an iterate and its gradient, the gradient of the penalty at one node, and steps that the
//! theory allows.

use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::graph::End;
use crate::matrix::Matrix;
use crate::parallel::{for_blocks, ordered_fold};
use crate::problem::Problem;
use crate::scratch::Scratch;

/// An iterate, its gradient, and room for the next one.
pub struct Descent<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// The models.
    pub w: Matrix,
    /// The models to be.
    pub next: Matrix,
    /// `grad F(w)`, or an estimate.
    pub gradient: Matrix,
    /// What was sent and computed so far.
    pub traffic: Traffic,
    scratch: Scratch,
}

impl<'p> Descent<'p> {
    /// Starts at zero.
    pub fn new(problem: &'p Problem) -> Self {
        let (n, d) = (problem.nodes(), problem.dim());
        let zeros = || Matrix::zeros(n, d);
        let (w, next, gradient) = (zeros(), zeros(), zeros());
        Descent { problem, w, next, gradient, traffic: Traffic::new(n), scratch: Scratch::new(5 * d) }
    }

    /// `gradient <- local(i, w_i) + pull of the neighbours` at all nodes; `local` writes the gradient of `L_i`.
    pub fn compute_gradient(&mut self, local: impl Fn(usize, &[f64], &mut [f64]) + Sync) {
        let (problem, w, scratch) = (self.problem, &self.w, &self.scratch);
        let d = problem.dim();
        for_blocks(self.gradient.as_mut_slice(), d, |start, rows| {
            let mut work = scratch.lock();
            for (k, out) in rows.chunks_exact_mut(d).enumerate() {
                let node = start + k;
                local(node, w.row(node), out);
                add_pull(problem, node, w.row(node), |_, end| w.row(end.neighbour as usize), out, &mut work);
            }
        });
        self.traffic.compute(work::coupling(problem));
    }

    /// `next <- after(w - step * gradient)`, node by node.
    pub fn move_by(&mut self, step: f64, after: impl Fn(&mut [f64]) + Sync) {
        let (w, gradient, d) = (&self.w, &self.gradient, self.problem.dim());
        for_blocks(self.next.as_mut_slice(), d, |start, rows| {
            let from = start * d..start * d + rows.len();
            let old = w.as_slice()[from.clone()].iter().zip(&gradient.as_slice()[from]);
            rows.iter_mut().zip(old).for_each(|(next, (w, g))| *next = w - step * g);
            rows.chunks_exact_mut(d).for_each(&after);
        });
        self.traffic.compute(2.0 * self.w.as_slice().len() as f64);
    }

    /// `w <- next`; the round is over.
    pub fn accept(&mut self) {
        std::mem::swap(&mut self.w, &mut self.next);
        self.traffic.end_round();
    }
}

/// `out <- out + sum_j grad (lambda A_ij phi)(w_i - w_j)` with the model of the neighbour at each place of the node's ends
/// as `other` has it; `work` holds at least `5 d` entries.
pub fn add_pull<'w>(
    problem: &Problem,
    node: usize,
    own: &[f64],
    other: impl Fn(usize, &End) -> &'w [f64],
    out: &mut [f64],
    work: &mut [f64],
) {
    if problem.lambda() == 0.0 {
        return;
    }
    let (t, work) = work.split_at_mut(own.len());
    for (place, end) in problem.graph().ends(node).iter().enumerate() {
        let edge = end.edge as usize;
        t.iter_mut().zip(own).zip(other(place, end)).for_each(|((t, a), b)| *t = a - b);
        // Penalties are even, so the pull does not depend on the orientation of the edge.
        problem.penalty().gradient(edge, problem.edge_weights()[edge], t, work);
        out.iter_mut().zip(t.iter()).for_each(|(o, t)| *o += t);
    }
}

/// Checks that `F` is differentiable.
pub fn check_smooth(problem: &Problem, method: &'static str) -> Result<()> {
    if !problem.loss().has_hessian() {
        return Err(Error::Method { method, needs: "losses without kinks" });
    }
    if !problem.penalty().is_smooth() {
        return Err(Error::Method { method, needs: "a smooth penalty (squared)" });
    }
    Ok(())
}

/// `1 / (max_i beta_i + 4 lambda d_max)` for the squared penalty, with `d_max` the largest weighted degree; in general the
/// pulls change at most at twice the rate `max_i sum_e lambda A_e smoothness_e`. `None` if a loss has no smoothness
/// constant.
pub fn safe_step(problem: &Problem) -> Option<f64> {
    let beta = largest(problem, |i| problem.loss().curvature(i).beta);
    let rate = beta + 2.0 * largest(problem, |i| pull_rate(problem, i));
    rate.is_finite().then_some(if rate > 0.0 { 1.0 / rate } else { 1.0 })
}

/// How fast the pull of all neighbours on a node changes with its model, at most.
pub fn pull_rate(problem: &Problem, node: usize) -> f64 {
    let weights = problem.edge_weights();
    let rate = |end: &End| weights[end.edge as usize] * problem.penalty().smoothness(end.edge as usize);
    if problem.lambda() > 0.0 { problem.graph().ends(node).iter().map(rate).sum() } else { 0.0 }
}

/// The largest `f(i)`; infinite if one is not a number.
pub fn largest(problem: &Problem, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let finite = |i: usize| Some(f(i)).filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY);
    ordered_fold(problem.nodes(), 1 << 20, 0.0, finite, f64::max)
}

/// Checks a step size given by the caller.
pub fn check_step(step: f64) -> Result<f64> {
    match step > 0.0 && step.is_finite() {
        true => Ok(step),
        false => Err(Error::Parameter { name: "step", value: step, needs: "positive and finite" }),
    }
}

/// Every node sends `d` numbers to each of its neighbours, if there is anything to couple.
pub fn exchange_models(problem: &Problem, traffic: &mut Traffic) {
    for node in (0..problem.nodes()).filter(|&i| problem.is_coupled(i)) {
        traffic.send(node, problem.graph().degree(node), problem.dim());
    }
}

/// The flows that belong to models: `u_e = grad (lambda A_e phi)(w_i - w_j)`.
pub fn flows(problem: &Problem, w: &Matrix) -> Matrix {
    let (edges, d) = (problem.graph().edges(), problem.dim());
    let (mut u, mut work) = (Matrix::zeros(edges, d), vec![0.0; 4 * d]);
    for e in (0..edges).filter(|_| problem.lambda() > 0.0) {
        problem.with_difference(w, e, |t| u.row_mut(e).copy_from_slice(t));
        problem.penalty().gradient(e, problem.edge_weights()[e], u.row_mut(e), &mut work);
    }
    u
}
