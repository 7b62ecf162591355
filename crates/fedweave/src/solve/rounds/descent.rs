//! What gradient methods share: a round of descent, the gradient of the penalty at one node, and steps that the theory allows.

use std::borrow::Borrow;

use super::round::{Round, all, exchange_rows, or_infinite};
use crate::accounting::Traffic;
use crate::error::{Error, Result};
use crate::graph::End;
use crate::loss::Loss;
use crate::matrix::{Matrix, norm2};
use crate::parallel::{for_blocks, ordered_fold};
use crate::problem::Problem;
use crate::scratch::Scratch;

/// A round of gradient descent: models travel, then every node that is held here steps against its gradient and the pull of
/// its neighbours. The problem is borrowed or owned: `P` is `&Problem` or `Box<Problem>`.
pub struct GradientRound<P> {
    /// The problem.
    pub(super) problem: P,
    /// The nodes that are held here, in increasing order.
    own: Vec<u32>,
    /// The models of all nodes.
    pub(super) w: Matrix,
    /// The models to be of the own nodes; after the round, those before it.
    pub(super) next: Matrix,
    /// `grad F(w)` of the own nodes, or an estimate.
    pub(super) gradient: Matrix,
    /// The length of a step.
    pub(super) step: f64,
    is_first: bool,
    scratch: Scratch,
}

impl<P: Borrow<Problem> + Sync> GradientRound<P> {
    /// All nodes, from zero.
    pub fn new(problem: P, step: f64) -> Self {
        let (n, d) = (problem.borrow().nodes(), problem.borrow().dim());
        Self::part(problem, all(n), Matrix::zeros(n, d), step)
    }

    /// The nodes `own` of a problem, in increasing order, from the models `w` of all.
    pub fn part(problem: P, own: Vec<u32>, w: Matrix, step: f64) -> Self {
        let d = problem.borrow().dim();
        let (next, gradient) = (Matrix::zeros(own.len(), d), Matrix::zeros(own.len(), d));
        GradientRound { problem, own, w, next, gradient, step, is_first: true, scratch: Scratch::new(5 * d) }
    }

    /// `gradient <- local(loss, i, w_i) + pull of the neighbours` at all own nodes; `local` writes the gradient of `L_i`.
    pub(super) fn compute_gradient(&mut self, local: impl Fn(&dyn Loss, usize, &[f64], &mut [f64]) + Sync) {
        let (problem, own, w, scratch): (&Problem, _, _, _) =
            (self.problem.borrow(), &self.own, &self.w, &self.scratch);
        let d = problem.dim();
        for_blocks(self.gradient.as_mut_slice(), d, |start, rows| {
            let mut work = scratch.lock();
            for (k, out) in rows.chunks_exact_mut(d).enumerate() {
                let node = own[start + k] as usize;
                local(problem.loss(), node, w.row(node), out);
                add_pull(problem, node, w.row(node), |_, end| w.row(end.neighbour as usize), out, &mut work);
            }
        });
    }

    /// `next <- after(w - step * gradient)`, node by node.
    pub(super) fn move_by(&mut self, step: f64, after: impl Fn(&mut [f64]) + Sync) {
        let (own, w, gradient, d) = (&self.own, &self.w, &self.gradient, self.w.cols());
        for_blocks(self.next.as_mut_slice(), d, |start, rows| {
            for (k, next) in rows.chunks_exact_mut(d).enumerate() {
                let old = w.row(own[start + k] as usize).iter().zip(gradient.row(start + k));
                next.iter_mut().zip(old).for_each(|(next, (w, g))| *next = w - step * g);
                after(next);
            }
        });
    }

    /// A round in which nobody moves: the residual is that of the models as they are, all of the same moment.
    pub fn stand_still(&mut self) {
        self.compute_gradient(|loss, i, w, out| loss.gradient(i, w, out));
        self.move_by(0.0, |_| ());
        self.is_first = false;
    }

    /// `w <- next`; the round is over.
    pub(super) fn accept(&mut self) {
        exchange_rows(&self.own, &mut self.w, &mut self.next);
        self.is_first = false;
    }
}

impl<P: Borrow<Problem> + Send + Sync> Round for GradientRound<P> {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.w.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.w.row_mut(node)
    }

    fn complete(&mut self) {
        self.compute_gradient(|loss, i, w, out| loss.gradient(i, w, out));
        self.move_by(self.step, |_| ());
        self.accept();
    }

    /// The largest gradient of the objective before the last step, relative to that of the node's own loss.
    fn residual(&self) -> f64 {
        if self.is_first {
            return f64::INFINITY;
        }
        relative_gradient(self.problem.borrow(), &self.own, &self.next, &self.gradient)
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn flows(&self) -> Matrix {
        flows(self.problem.borrow(), &self.w)
    }
}

/// The largest row of `gradient` among the `own` nodes, relative to the gradients of their losses at `before`.
pub(super) fn relative_gradient(problem: &Problem, own: &[u32], before: &Matrix, gradient: &Matrix) -> f64 {
    let mut local = vec![0.0; problem.dim()];
    let mut largest = 0.0f64;
    for (k, &i) in own.iter().enumerate() {
        problem.loss().gradient(i as usize, before.row(k), &mut local);
        largest = largest.max(norm2(gradient.row(k)) / (1.0 + norm2(&local)));
    }
    or_infinite(largest)
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
    step_of(beta + 2.0 * largest(problem, |i| pull_rate(problem, i)))
}

/// The same for one node that knows its own loss and edges only: a steep loss elsewhere does not make its steps small.
pub fn own_step(problem: &Problem, node: usize) -> Option<f64> {
    step_of(problem.loss().curvature(node).beta + 2.0 * pull_rate(problem, node))
}

fn step_of(rate: f64) -> Option<f64> {
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
