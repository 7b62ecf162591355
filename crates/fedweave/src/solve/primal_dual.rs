//! Algorithm 1 of "Clustered Federated Learning via Generalized Total Variation Minimization": the primal-dual method as
//! message passing.
//!
//! ```text
//! w_i+ = prox of L_i at  w_i - tau_i * sum_e D_{e,i} u_e          tau_i   = eta / degree_i
//! u_e+ = prox of (lambda A_e phi)* at  u_e + sigma_e * D(2 w+ - w)_e    sigma_e = 1 / (2 eta)
//! ```
//!
//! followed by the relaxation `w <- w + rho (w+ - w)`, `u <- u + rho (u+ - u)`, which for `rho` near 2 saves almost half of
//! the rounds. `eta = 1` and `rho = 1` give the method of the paper. The two phases only share rows of `2 w+ - w` (nodes to edges) and `u`
//! (edges to nodes), so they can run in different processes.

mod judged;
pub(super) mod step_ratio;

use std::borrow::Borrow;
use std::sync::Arc;

use super::judge::Candidate;
use crate::graph::layout::Layout;
use crate::loss::Prepared;
use crate::matrix::Matrix;
use crate::parallel::{ASLEEP, AWAKE, BLOCK, for_blocks_from, for_blocks2, ordered_sum};
use crate::penalty::DualStep;
use crate::problem::Problem;
use crate::scratch::Scratch;

pub(super) use judged::run;

/// The iterate and everything an iteration needs, allocated once. Rows lie in the order of a `Layout`. The problem is
/// borrowed or owned: `P` is `&Problem` or `Box<Problem>`.
pub struct PrimalDual<P> {
    problem: P,
    layout: Arc<Layout>,
    w: Matrix,
    u: Matrix,
    /// `2 w+ - w`, what nodes send to their edges.
    over: Matrix,
    eta: f64,
    tau: Vec<f64>,
    /// `lambda A_e`.
    weight: Vec<f64>,
    prepared: Prepared,
    scratch: Scratch,
    /// `rho` of the relaxation.
    rho: f64,
    exact: bool,
}

/// A copy of an iterate.
pub struct Snapshot {
    w: Matrix,
    u: Matrix,
}

impl<P: Borrow<Problem> + Sync> PrimalDual<P> {
    /// Starts from `w` and `u` with step ratio `eta` and relaxation `rho`; proximal steps of losses are `exact`, or those of
    /// quadratics above them.
    pub fn new(problem: P, w: &Matrix, u: &Matrix, eta: f64, rho: f64, exact: bool) -> Self {
        let layout = problem.borrow().layout();
        Self::laid_out(problem, layout, w, u, eta, rho, exact)
    }

    /// The same with exact steps and rows left in the order of nodes and edges, for those who read and write them one by one.
    pub fn in_order(problem: P, w: &Matrix, u: &Matrix, eta: f64, rho: f64) -> Self {
        let layout = Arc::new(Layout::in_order(problem.borrow().graph()));
        Self::laid_out(problem, layout, w, u, eta, rho, true)
    }

    fn laid_out(problem: P, layout: Arc<Layout>, w: &Matrix, u: &Matrix, eta: f64, rho: f64, exact: bool) -> Self {
        let at: &Problem = problem.borrow();
        let w = Layout::place(w, &layout.node);
        let mut state = PrimalDual {
            over: w.clone(),
            w,
            u: Layout::place(u, &layout.edge),
            eta,
            tau: Vec::new(),
            weight: layout.edge.iter().map(|&e| at.edge_weights()[e as usize]).collect(),
            prepared: Prepared::default(),
            scratch: Scratch::new(at.loss().work_len().max(4 * at.dim()) + BLOCK * at.dim()),
            problem,
            layout,
            rho,
            exact,
        };
        state.set_step_ratio(eta);
        state
    }

    /// Primal variables, a row per node.
    pub fn w(&self) -> Matrix {
        Layout::restore(&self.w, &self.layout.node)
    }

    /// Dual variables, a row per edge; relaxation may put them outside the domain of the conjugates.
    pub fn u(&self) -> Matrix {
        Layout::restore(&self.u, &self.layout.edge)
    }

    /// Primal variables in their places.
    pub fn placed_w(&self) -> &Matrix {
        &self.w
    }

    /// The same, writable: where to start.
    pub fn placed_w_mut(&mut self) -> &mut Matrix {
        &mut self.w
    }

    /// Dual variables in their places.
    pub fn placed_u(&self) -> &Matrix {
        &self.u
    }

    /// The same, writable: where to go on from.
    pub fn placed_u_mut(&mut self) -> &mut Matrix {
        &mut self.u
    }

    /// `2 w+ - w` in its places: what nodes send to their edges.
    pub fn placed_over(&self) -> &Matrix {
        &self.over
    }

    /// The same, writable: a row that was computed elsewhere may be put there before edges update.
    pub fn placed_over_mut(&mut self) -> &mut Matrix {
        &mut self.over
    }

    /// `tau` in its places.
    pub fn placed_tau(&self) -> &[f64] {
        &self.tau
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        self.problem.borrow()
    }

    /// The point as the judge wants it, with the flows `prox*(u + sigma D w)`.
    pub fn candidate(&self) -> Candidate {
        let (layout, d) = (&self.layout, self.w.cols());
        let (flow, y) = self.stepped_flows(&self.w);
        let mut fused = vec![false; flow.rows()];
        for (place, y) in y.chunks_exact(d).enumerate() {
            fused[layout.edge[place] as usize] = flow.row(place) == y;
        }
        let (w, flow) = (self.w(), Layout::restore(&flow, &layout.edge));
        Candidate { w, flow, fused, sigma: self.sigma(), step_ratio: self.eta }
    }

    /// `prox*(u + sigma D w)` for models `w`, which need not be its own: flows in the domain of the conjugates.
    pub fn flows_at(&self, w: &Matrix) -> Matrix {
        if self.problem().lambda() == 0.0 {
            return Matrix::zeros(self.u.rows(), self.u.cols());
        }
        let (flow, _) = self.stepped_flows(&Layout::place(w, &self.layout.node));
        Layout::restore(&flow, &self.layout.edge)
    }

    /// In their places, `prox*(y)` and `y = u + sigma D w`.
    fn stepped_flows(&self, w: &Matrix) -> (Matrix, Vec<f64>) {
        let problem: &Problem = self.problem.borrow();
        let (layout, d, sigma) = (&self.layout, problem.dim(), self.sigma());
        let (mut flow, mut y) = (self.u.clone(), vec![0.0; self.u.as_slice().len()]);
        for_blocks2(ASLEEP, flow.as_mut_slice(), &mut y, d, d, |start, flow, y| {
            let places = start..start + flow.len() / d;
            layout.add_differences(start, sigma, w, flow);
            y.copy_from_slice(flow);
            let (edges, weight) = (&layout.edge[places.clone()], &self.weight[places]);
            problem.penalty().prox_conjugate_rows(edges, weight, sigma, flow, &mut self.scratch.lock());
        });
        (flow, y)
    }

    /// The ratio `eta` of primal to dual steps.
    pub fn step_ratio(&self) -> f64 {
        self.eta
    }

    /// Changes the ratio; factors are computed anew.
    pub fn set_step_ratio(&mut self, eta: f64) {
        let problem: &Problem = self.problem.borrow();
        self.eta = eta;
        // A node that is not coupled keeps tau = 0 and is never touched.
        let tau = |i: usize| if problem.is_coupled(i) { eta / problem.graph().degree(i) as f64 } else { 0.0 };
        self.tau = self.layout.node.iter().map(|&i| tau(i as usize)).collect();
        // The old factors go first: there is no room for both of a million nodes.
        self.prepared = Prepared::default();
        self.prepared = match self.exact {
            true => problem.loss().prepare(&self.layout.node, &self.tau),
            false => problem.loss().prepare_majorised(&self.layout.node, &self.tau),
        };
    }

    /// `sigma`, the same for all edges.
    pub fn sigma(&self) -> f64 {
        0.5 / self.eta
    }

    /// The iterate, to measure later how far it went.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { w: self.w.clone(), u: self.u.clone() }
    }

    /// `sum_i degree_i |dw_i|^2` and `sum_e |du_e|^2` since a snapshot.
    pub fn travelled(&self, since: &Snapshot) -> (f64, f64) {
        let d = self.w.cols();
        let distance2 = |a: &Matrix, b: &Matrix, p: usize| -> f64 {
            a.row(p).iter().zip(b.row(p)).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let degree = |p: usize| self.layout.at_node(p).len() as f64;
        let primal = ordered_sum(self.w.rows(), d, |p| degree(p) * distance2(&self.w, &since.w, p));
        (primal, ordered_sum(self.u.rows(), d, |p| distance2(&self.u, &since.u, p)))
    }

    /// One round.
    pub fn iterate(&mut self) {
        self.update_nodes();
        self.update_edges();
    }

    /// Every node moves against the flow out of it, then towards its own data.
    pub fn update_nodes(&mut self) {
        let (layout, u, tau, prepared, scratch) = (&self.layout, &self.u, &self.tau, &self.prepared, &self.scratch);
        let problem: &Problem = self.problem.borrow();
        let (loss, d, rho, exact) = (problem.loss(), problem.dim(), self.rho, self.exact);
        let cost = d + loss.cost();
        for_blocks2(AWAKE, self.w.as_mut_slice(), self.over.as_mut_slice(), d, cost, |start, w, over| {
            over.copy_from_slice(w);
            layout.add_divergence(start, |place| -tau[place], u, w);
            let nodes = &layout.node[start..start + w.len() / d];
            match exact {
                true => loss.prox_rows(start, nodes, tau, prepared, w, &mut scratch.lock()),
                false => loss.majorised_rows(start, nodes, tau, prepared, over, w, &mut scratch.lock()),
            }
            overshoot(w, over, rho);
        });
    }

    /// In their places, the points `w_i - tau_i (D'u)_i` at which nodes take their proximal steps: the first half of
    /// [`update_nodes`](PrimalDual::update_nodes), for nodes that keep their losses to themselves.
    pub fn arguments(&self, out: &mut Matrix) {
        out.copy_from(&self.w);
        self.layout.add_divergence(0, |place| -self.tau[place], &self.u, out.as_mut_slice());
    }

    /// The second half, with the `answers` of the nodes in their places. A node without neighbours has nothing to overshoot.
    pub fn take(&mut self, answers: &Matrix) {
        let d = self.w.cols();
        self.over.copy_from(&self.w);
        self.w.copy_from(answers);
        let rows = self.w.as_mut_slice().chunks_exact_mut(d).zip(self.over.as_mut_slice().chunks_exact_mut(d));
        for ((w, over), &tau) in rows.zip(&self.tau) {
            overshoot(w, over, if tau > 0.0 { self.rho } else { 1.0 });
        }
    }

    /// Every edge moves along the difference of its ends, then back into the domain of the conjugate.
    pub fn update_edges(&mut self) {
        let problem: &Problem = self.problem.borrow();
        if problem.lambda() == 0.0 {
            return;
        }
        let (layout, over, weight, scratch) = (&self.layout, &self.over, &self.weight, &self.scratch);
        let (penalty, d, sigma, rho) = (problem.penalty(), problem.dim(), self.sigma(), self.rho);
        for_blocks_from(AWAKE, self.u.as_mut_slice(), d, |start, u| {
            let places = start..start + u.len() / d;
            let (ends, step) = (&layout.ends[places.clone()], DualStep { sigma, rho });
            if penalty.dual_step_rows(ends, &weight[places.clone()], step, over.as_slice(), u) {
                return;
            }
            let mut work = scratch.lock();
            let (before, work) = work.split_at_mut(u.len());
            before.copy_from_slice(u);
            layout.add_differences(start, sigma, over, u);
            let edges = &layout.edge[places.clone()];
            penalty.prox_conjugate_rows(edges, &weight[places], sigma, u, work);
            u.iter_mut().zip(before.iter()).for_each(|(u, b)| *u = b + rho * (*u - b));
        });
    }
}

/// `over <- 2 w+ - w` and `w <- w + rho (w+ - w)`, where `w` holds `w+` and `over` the old `w`.
#[inline(always)]
fn overshoot(w: &mut [f64], over: &mut [f64], rho: f64) {
    for (w, o) in w.iter_mut().zip(over.iter_mut()) {
        let (old, new) = (*o, *w);
        *o = 2.0 * new - old;
        *w = old + rho * (new - old);
    }
}
