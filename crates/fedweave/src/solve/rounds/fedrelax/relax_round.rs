//! FedRelax with the squared penalty: models travel, then every node takes one proximal step from the mean of its neighbours.

use std::borrow::Borrow;
use std::ops::Range;

use crate::loss::Prepared;
use crate::matrix::{Matrix, norm2};
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::solve::rounds::descent::flows;
use crate::solve::rounds::round::{Round, distance, exchange_rows, or_infinite};
use crate::solve::rounds::server::ProximalMethod;

/// A round of the nodes that are held here. The problem is borrowed or owned: `P` is `&Problem` or `Box<Problem>`.
pub struct RelaxRound<P> {
    problem: P,
    steps: OwnSteps,
    /// The models of all nodes.
    w: Matrix,
    /// The models to be of the own nodes; after the round, those before it.
    next: Matrix,
    scratch: Scratch,
    is_first: bool,
}

/// The nodes that are held here, in increasing order, with the lengths of their proximal steps and what these share.
struct OwnSteps {
    own: Vec<u32>,
    tau: Vec<f64>,
    prepared: Prepared,
}

impl<P: Borrow<Problem> + Sync> RelaxRound<P> {
    /// The nodes `own`, in increasing order, from the models `w` of all; for a problem with the squared penalty.
    pub fn new(problem: P, own: Vec<u32>, w: Matrix) -> Self {
        let at: &Problem = problem.borrow();
        let tau = |i: &u32| match at.is_coupled(*i as usize) {
            true => 0.5 / (at.lambda() * at.graph().weighted_degree(*i as usize)),
            false => 0.0,
        };
        let tau: Vec<f64> = own.iter().map(tau).collect();
        let (prepared, next) = (at.loss().prepare(&own, &tau), Matrix::zeros(own.len(), at.dim()));
        let scratch = Scratch::new(at.loss().work_len() + 8 * at.dim());
        RelaxRound { problem, steps: OwnSteps { own, tau, prepared }, w, next, scratch, is_first: true }
    }

    /// One node after another, each from the newest models of its neighbours; all nodes must be held here.
    pub(super) fn in_turn(&mut self) {
        let (problem, mut work): (&Problem, _) = (self.problem.borrow(), self.scratch.lock());
        for node in 0..self.w.rows() {
            self.steps.update(problem, node..node + 1, &self.w, self.next.row_mut(node), &mut work);
            self.w.row_mut(node).copy_from_slice(self.next.row(node));
        }
    }
}

impl OwnSteps {
    /// Updates the own nodes at some places (one row each in `rows`) from the models `w`.
    fn update(&self, problem: &Problem, places: Range<usize>, w: &Matrix, rows: &mut [f64], work: &mut [f64]) {
        let (start, nodes) = (places.start, &self.own[places]);
        for (&node, row) in nodes.iter().zip(rows.chunks_exact_mut(w.cols())) {
            mean_of_neighbours(problem, node as usize, w, row);
        }
        problem.loss().prox_rows(start, nodes, &self.tau, &self.prepared, rows, work);
    }
}

/// `row <- sum_j A_ij w_j / sum_j A_ij`; a node that is not coupled keeps its own.
pub fn mean_of_neighbours(problem: &Problem, node: usize, w: &Matrix, row: &mut [f64]) {
    if !problem.is_coupled(node) {
        return row.copy_from_slice(w.row(node));
    }
    let (graph, total) = (problem.graph(), problem.graph().weighted_degree(node));
    row.fill(0.0);
    for end in graph.ends(node) {
        let share = graph.weight(end.edge as usize) / total;
        row.iter_mut().zip(w.row(end.neighbour as usize)).for_each(|(r, w)| *r += share * w);
    }
}

impl<P: Borrow<Problem> + Send + Sync> Round for RelaxRound<P> {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.w.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.w.row_mut(node)
    }

    fn complete(&mut self) {
        let (problem, steps, w, scratch, d): (&Problem, _, _, _, _) =
            (self.problem.borrow(), &self.steps, &self.w, &self.scratch, self.w.cols());
        for_blocks(self.next.as_mut_slice(), d, |start, rows| {
            steps.update(problem, start..start + rows.len() / d, w, rows, &mut scratch.lock());
        });
        exchange_rows(&self.steps.own, &mut self.w, &mut self.next);
        self.is_first = false;
    }

    /// The largest `|w+ - w| / (tau_i (1 + |w+|))` of the last round.
    fn residual(&self) -> f64 {
        if self.is_first {
            return f64::INFINITY;
        }
        let mut largest = 0.0f64;
        for (k, (&i, &tau)) in
            self.steps.own.iter().zip(&self.steps.tau).enumerate().filter(|(_, (_, tau))| **tau > 0.0)
        {
            let (old, new) = (self.next.row(k), self.w.row(i as usize));
            largest = largest.max(distance(old, new) / (tau * (1.0 + norm2(new))));
        }
        or_infinite(largest)
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn flows(&self) -> Matrix {
        flows(self.problem.borrow(), &self.w)
    }
}

/// At a server all nodes are its own, and take their steps themselves.
impl<P: Borrow<Problem> + Send + Sync> ProximalMethod for RelaxRound<P> {
    fn steps(&self) -> &[f64] {
        &self.steps.tau
    }

    fn arguments(&self, out: &mut Matrix) {
        (0..out.rows()).for_each(|i| mean_of_neighbours(self.problem.borrow(), i, &self.w, out.row_mut(i)));
    }

    fn take(&mut self, answers: &Matrix, _heard: &[bool]) {
        self.w.copy_from(answers);
    }

    fn current(&self) -> &Matrix {
        &self.w
    }

    fn current_mut(&mut self) -> &mut Matrix {
        &mut self.w
    }

    fn flows_at(&self, w: &Matrix) -> Matrix {
        flows(self.problem.borrow(), w)
    }
}
