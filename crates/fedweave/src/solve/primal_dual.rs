//! Algorithm 1 of "Clustered Federated Learning via Generalized Total Variation Minimization": the primal-dual method as
//! message passing.
//!
//! ```text
//! w_i+ = prox of L_i at  w_i - tau_i * sum_e D_{e,i} u_e          tau_i   = eta / degree_i
//! u_e+ = prox of (lambda A_e phi)* at  u_e + sigma_e * D(2 w+ - w)_e    sigma_e = 1 / (2 eta)
//! ```
//!
//! `eta = 1` gives the steps of the paper. The two phases only share rows of `2 w+ - w` (nodes to edges) and `u`
//! (edges to nodes), so they can run in different processes.

use crate::loss::Prepared;
use crate::matrix::Matrix;
use crate::parallel::{for_blocks, for_blocks2};
use crate::problem::Problem;
use crate::scratch::Scratch;

/// The iterate and everything an iteration needs, allocated once.
pub struct PrimalDual<'p> {
    problem: &'p Problem,
    /// Primal variables, a row per node.
    pub w: Matrix,
    /// Dual variables, a row per edge.
    pub u: Matrix,
    /// `2 w+ - w`, what nodes send to their edges.
    over: Matrix,
    eta: f64,
    tau: Vec<f64>,
    prepared: Prepared,
    scratch: Scratch,
}

impl<'p> PrimalDual<'p> {
    /// Starts from `w` and `u` with step ratio `eta`.
    pub fn new(problem: &'p Problem, w: Matrix, u: Matrix, eta: f64) -> Self {
        let scratch = Scratch::new(problem.loss().work_len().max(4 * problem.dim()));
        let over = w.clone();
        let mut state =
            PrimalDual { problem, w, u, over, eta, tau: Vec::new(), prepared: Prepared::default(), scratch };
        state.set_step_ratio(eta);
        state
    }

    /// The ratio `eta` of primal to dual steps.
    pub fn step_ratio(&self) -> f64 {
        self.eta
    }

    /// Changes the ratio; factors are computed anew.
    pub fn set_step_ratio(&mut self, eta: f64) {
        let problem = self.problem;
        self.eta = eta;
        // A node that is not coupled keeps tau = 0 and is never touched.
        let tau = |i| if problem.is_coupled(i) { eta / problem.graph().degree(i) as f64 } else { 0.0 };
        self.tau = (0..problem.nodes()).map(tau).collect();
        self.prepared = problem.loss().prepare(&self.tau);
    }

    /// `sigma`, the same for all edges.
    pub fn sigma(&self) -> f64 {
        0.5 / self.eta
    }

    /// One round.
    pub fn iterate(&mut self) {
        self.update_nodes();
        self.update_edges();
    }

    /// Every node moves against the flow out of it, then towards its own data.
    pub fn update_nodes(&mut self) {
        let (problem, u, tau, prepared, scratch) = (self.problem, &self.u, &self.tau, &self.prepared, &self.scratch);
        let d = problem.dim();
        for_blocks2(self.w.as_mut_slice(), self.over.as_mut_slice(), d, |start, w, over| {
            let nodes = start..start + w.len() / d;
            over.copy_from_slice(w);
            for (node, row) in nodes.clone().zip(w.chunks_exact_mut(d)) {
                for end in problem.graph().ends(node) {
                    let step = tau[node] * end.sign;
                    row.iter_mut().zip(u.row(end.edge as usize)).for_each(|(w, u)| *w -= step * u);
                }
            }
            problem.loss().prox_rows(nodes, tau, prepared, w, &mut scratch.lock());
            over.iter_mut().zip(w.iter()).for_each(|(o, w)| *o = 2.0 * w - *o);
        });
    }

    /// Every edge moves along the difference of its ends, then back into the domain of the conjugate.
    pub fn update_edges(&mut self) {
        let (problem, over, sigma, scratch) = (self.problem, &self.over, self.sigma(), &self.scratch);
        let d = problem.dim();
        if problem.lambda() == 0.0 {
            return;
        }
        for_blocks(self.u.as_mut_slice(), d, |start, u| {
            let edges = start..start + u.len() / d;
            for (edge, row) in edges.clone().zip(u.chunks_exact_mut(d)) {
                let (i, j) = problem.graph().nodes_of(edge);
                for ((u, a), b) in row.iter_mut().zip(over.row(i)).zip(over.row(j)) {
                    *u += sigma * (a - b);
                }
            }
            let weights = problem.edge_weights();
            problem.penalty().prox_conjugate_rows(edges, weights, sigma, u, &mut scratch.lock());
        });
    }
}
