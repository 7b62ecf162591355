//! The primal-dual method (Algorithm 1 of gtv-minimization) as a [`Method`]: in every round each node sends `2 w+ - w` to
//! all its neighbours; both ends of an edge keep the flow on it, so flows are never sent.

use std::sync::OnceLock;

use super::PrimalDual;
use super::rounds::Method;
use super::step_ratio::{StepRatio, WORTHWHILE};
use super::{descent::exchange_models, minimise_local};
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::problem::Problem;

/// The primal-dual method with its accounts.
pub struct PrimalDualRounds<'p> {
    problem: &'p Problem,
    method: PrimalDual<&'p Problem>,
    balance: Option<StepRatio>,
    /// The models in the order of the nodes, once somebody has asked for them.
    models: OnceLock<Matrix>,
    traffic: Traffic,
}

impl<'p> PrimalDualRounds<'p> {
    /// Starts at zero (nodes without neighbours: at their answer). `eta` is the ratio of primal to dual steps, 1 in the paper;
    /// `None` adapts it. `relaxation` is between 0 and 2, 1 in the paper.
    pub fn new(problem: &'p Problem, eta: Option<f64>, relaxation: f64) -> Result<Self> {
        if let Some(value) = eta.filter(|e| !(*e > 0.0 && e.is_finite())) {
            return Err(Error::Parameter { name: "step ratio", value, needs: "positive and finite" });
        }
        if !(relaxation > 0.0 && relaxation < 2.0) {
            return Err(Error::Parameter { name: "relaxation", value: relaxation, needs: "between 0 and 2" });
        }
        let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
        let mut w = Matrix::zeros(n, d);
        minimise_local(problem, &mut w, |i| !problem.is_coupled(i));
        let method = PrimalDual::new(problem, &w, &Matrix::zeros(edges, d), eta.unwrap_or(1.0), relaxation, true);
        let balance = eta.is_none().then(|| StepRatio::new(&method, WORTHWHILE));
        Ok(PrimalDualRounds { problem, method, balance, models: OnceLock::new(), traffic: Traffic::new(n) })
    }
}

impl Method for PrimalDualRounds<'_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn round(&mut self) {
        self.method.iterate();
        self.models = OnceLock::new();
        exchange_models(self.problem, &mut self.traffic);
        let edges = (self.problem.graph().edges() * self.problem.dim()) as f64;
        self.traffic
            .compute(work::of_all(self.problem.loss(), work::prox) + work::coupling(self.problem) + 8.0 * edges);
        self.traffic.end_round();
        if let Some(balance) = &mut self.balance {
            balance.after(self.traffic.rounds() as usize, &mut self.method);
        }
    }

    fn models(&self) -> &Matrix {
        self.models.get_or_init(|| self.method.w())
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn flows(&self) -> Option<Matrix> {
        Some(self.method.sight().flow)
    }
}
