//! The primal-dual method (Algorithm 1 of gtv-minimization) in rounds: every node sends `2 w+ - w` to all its neighbours; both
//! ends of an edge keep the flow on it, so flows are never sent.

use std::borrow::Borrow;
use std::sync::OnceLock;

use super::descent::exchange_models;
use super::method::Method;
use super::round::{Round, distance, or_infinite};
use super::server::ProximalMethod;
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, norm2};
use crate::problem::Problem;
use crate::solve::minimise_local;
use crate::solve::primal_dual::PrimalDual;
use crate::solve::primal_dual::step_ratio::StepRatio;
use crate::solve::tuning::RATIO_CHANGE_MIN;

/// The primal-dual method, with the ratio of its steps adapted after rounds if none was given.
pub struct BalancedPrimalDual<P> {
    method: PrimalDual<P>,
    balance: Option<StepRatio>,
    rounds: usize,
}

impl<P: Borrow<Problem> + Sync> BalancedPrimalDual<P> {
    /// Starts at zero (nodes without neighbours: at their answer), rows in the order of a layout. `eta` is the ratio of primal
    /// to dual steps, 1 in the paper; `None` adapts it. `relaxation` is between 0 and 2, 1 in the paper.
    pub fn new(problem: P, eta: Option<f64>, relaxation: f64) -> Result<Self> {
        check(eta, relaxation)?;
        let (w, u) = start(problem.borrow());
        Ok(Self::with(PrimalDual::new(problem, &w, &u, eta.unwrap_or(1.0), relaxation, true), eta.is_none()))
    }

    /// The same with rows in the order of nodes and edges.
    pub fn in_order(problem: P, eta: Option<f64>, relaxation: f64) -> Result<Self> {
        check(eta, relaxation)?;
        let (w, u) = start(problem.borrow());
        Ok(Self::with(PrimalDual::in_order(problem, &w, &u, eta.unwrap_or(1.0), relaxation), eta.is_none()))
    }

    fn with(method: PrimalDual<P>, adapts: bool) -> Self {
        let balance = adapts.then(|| StepRatio::new(&method, RATIO_CHANGE_MIN));
        BalancedPrimalDual { method, balance, rounds: 0 }
    }

    fn end_round(&mut self) {
        self.rounds += 1;
        if let Some(balance) = &mut self.balance {
            balance.after(self.rounds, &mut self.method);
        }
    }
}

fn check(eta: Option<f64>, relaxation: f64) -> Result<()> {
    if let Some(value) = eta.filter(|e| !(*e > 0.0 && e.is_finite())) {
        return Err(Error::Parameter { name: "step ratio", value, needs: "positive and finite" });
    }
    if !(relaxation > 0.0 && relaxation < 2.0) {
        return Err(Error::Parameter { name: "relaxation", value: relaxation, needs: "between 0 and 2" });
    }
    Ok(())
}

/// Zero; nodes without neighbours are at their answer.
fn start(problem: &Problem) -> (Matrix, Matrix) {
    let mut w = Matrix::zeros(problem.nodes(), problem.dim());
    minimise_local(problem, &mut w, |i| !problem.is_coupled(i));
    (w, Matrix::zeros(problem.graph().edges(), problem.dim()))
}

/// At a server, which keeps the flows.
impl<P: Borrow<Problem> + Send + Sync> ProximalMethod for BalancedPrimalDual<P> {
    fn steps(&self) -> &[f64] {
        self.method.placed_tau()
    }

    fn arguments(&self, out: &mut Matrix) {
        self.method.arguments(out);
    }

    fn take(&mut self, answers: &Matrix, _heard: &[bool]) {
        self.method.take(answers);
        self.method.update_edges();
        self.end_round();
    }

    fn current(&self) -> &Matrix {
        self.method.placed_w()
    }

    fn current_mut(&mut self) -> &mut Matrix {
        self.method.placed_w_mut()
    }

    fn flows_at(&self, w: &Matrix) -> Matrix {
        self.method.flows_at(w)
    }
}

/// The primal-dual method on one machine, with its accounts.
pub struct PrimalDualRounds<'p> {
    problem: &'p Problem,
    at: BalancedPrimalDual<&'p Problem>,
    /// The models in the order of the nodes, once somebody has asked for them.
    models: OnceLock<Matrix>,
    traffic: Traffic,
}

impl<'p> PrimalDualRounds<'p> {
    /// See [`BalancedPrimalDual::new`].
    pub fn new(problem: &'p Problem, eta: Option<f64>, relaxation: f64) -> Result<Self> {
        let at = BalancedPrimalDual::new(problem, eta, relaxation)?;
        Ok(PrimalDualRounds { problem, at, models: OnceLock::new(), traffic: Traffic::new(problem.nodes()) })
    }
}

impl Method for PrimalDualRounds<'_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn round(&mut self) {
        self.at.method.iterate();
        self.models = OnceLock::new();
        exchange_models(self.problem, &mut self.traffic);
        let edges = (self.problem.graph().edges() * self.problem.dim()) as f64;
        self.traffic
            .compute(work::of_all(self.problem.loss(), work::prox) + work::coupling(self.problem) + 8.0 * edges);
        self.traffic.end_round();
        self.at.end_round();
    }

    fn models(&self) -> &Matrix {
        self.models.get_or_init(|| self.at.method.w())
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn flows(&self) -> Option<Matrix> {
        Some(self.at.method.candidate().flow)
    }
}

/// The primal-dual method of a part of a network: nodes update, rows of `2 w+ - w` travel, edges update. The flow on an edge
/// between two parts is computed at both ends from the same numbers, so both have the same bits; it never travels.
pub struct PrimalDualRound<P> {
    method: PrimalDual<P>,
    /// The nodes that are held here.
    own: Vec<u32>,
    /// The flows before the last round.
    before: Matrix,
    relaxation: f64,
}

impl<P: Borrow<Problem> + Sync> PrimalDualRound<P> {
    /// The nodes `own` of a problem, from models `w` and flows `u`.
    pub fn new(problem: P, own: Vec<u32>, w: &Matrix, u: &Matrix, step_ratio: f64, relaxation: f64) -> Self {
        let method = PrimalDual::in_order(problem, w, u, step_ratio, relaxation);
        PrimalDualRound { method, own, before: u.clone(), relaxation }
    }
}

impl<P: Borrow<Problem> + Send + Sync> Round for PrimalDualRound<P> {
    fn begin(&mut self) {
        self.method.update_nodes();
    }

    fn outgoing(&self, node: usize) -> &[f64] {
        self.method.placed_over().row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.method.placed_over_mut().row_mut(node)
    }

    fn complete(&mut self) {
        self.before.copy_from(self.method.placed_u());
        self.method.update_edges();
    }

    /// The largest of `|w+ - w| / (tau_i (1 + |(D'u)_i|))` and `|u+ - u| / (sigma (1 + |w_i|))`: both vanish exactly at a
    /// solution.
    fn residual(&self) -> f64 {
        let (w, u, over, tau) =
            (self.method.placed_w(), self.method.placed_u(), self.method.placed_over(), self.method.placed_tau());
        let problem = self.method.problem();
        let (mut flow, mut largest) = (vec![0.0; w.cols()], 0.0f64);
        // `over - w = (2 - rho) (w+ - w)` and `u - before = rho (u+ - u)`.
        let (primal, dual) = (1.0 / (2.0 - self.relaxation), 1.0 / (self.relaxation * self.method.sigma()));
        for i in self.own.iter().map(|i| *i as usize).filter(|&i| problem.is_coupled(i)) {
            problem.divergence(u, i, &mut flow);
            largest = largest.max(primal * distance(over.row(i), w.row(i)) / (tau[i] * (1.0 + norm2(&flow))));
            for end in problem.graph().ends(i) {
                let e = end.edge as usize;
                largest = largest.max(dual * distance(u.row(e), self.before.row(e)) / (1.0 + norm2(w.row(i))));
            }
        }
        or_infinite(largest)
    }

    fn models(&self) -> &Matrix {
        self.method.placed_w()
    }

    fn flows(&self) -> Matrix {
        self.method.placed_u().clone()
    }

    fn forget_flow(&mut self, edge: usize) {
        self.method.placed_u_mut().row_mut(edge).fill(0.0);
    }
}
