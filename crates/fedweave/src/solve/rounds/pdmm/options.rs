//! The numbers of PDMM: what may be asked for, and what is used when nothing is.

use super::draw::Subset;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::solve::newton::{Losses, mean_curvature};

/// Options of `Pdmm`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PdmmOptions {
    /// Penalty `rho` of the augmented Lagrangian; `None` for twice the mean curvature of the losses per neighbour.
    pub rho: Option<f64>,
    /// Weight `eta` of the Bregman terms (half the squared distance): larger is slower and safer. `None` for `rho`.
    pub eta: Option<f64>,
    /// Damping of the dual step; `None` for `s / (3 (2 - s))`, with `s` the share of variables updated.
    pub tau: Option<f64>,
    /// Backward dual step of the users; `None` for 2/3. With both defaults, PDMM with three blocks per constraint is known
    /// to converge.
    pub nu: Option<f64>,
    /// What is updated in a round.
    pub subset: Subset,
    /// The update as printed in the paper.
    pub as_printed: bool,
    /// After so many rounds in which a drawn `z_ij` was zero, the pair is taken for fused: it is neither updated nor sent any
    /// more, and user `i` uses its own model for `x_j`. Saves messages; what was not converged by then stays so.
    pub cease_after: Option<u32>,
    /// Seed of the subsets.
    pub seed: u64,
}

impl Default for PdmmOptions {
    fn default() -> Self {
        PdmmOptions {
            rho: None,
            eta: None,
            tau: None,
            nu: None,
            subset: Subset::Users(0.4),
            as_printed: false,
            cease_after: None,
            seed: 0,
        }
    }
}

impl PdmmOptions {
    /// The `rho` of the default, from what the nodes say: the sum of the mean curvatures of their losses.
    pub fn suggested_rho(curvatures: f64, edges: usize) -> f64 {
        2.0 * stiffness(curvatures, edges)
    }

    /// The setting of the paper's Figure 5. Longer dual steps than are known to be safe, but fast where `eta >= rho`.
    pub fn paper() -> Self {
        PdmmOptions { rho: Some(10.0), eta: Some(10.0), tau: Some(0.8), nu: Some(0.2), ..Default::default() }
    }
}

/// The numbers of a run.
pub(super) struct Steps {
    pub rho: f64,
    pub eta: f64,
    pub tau: f64,
    pub nu: f64,
}

impl Steps {
    pub fn new(problem: &Problem, options: &PdmmOptions) -> Self {
        let rho = options.rho.unwrap_or_else(|| 2.0 * curvature_per_neighbour(problem));
        let share = options.subset.primal_share();
        let tau = options.tau.unwrap_or(share / (3.0 * (2.0 - share)));
        Steps { rho, eta: options.eta.unwrap_or(rho), tau, nu: options.nu.unwrap_or(2.0 / 3.0) }
    }
}

/// Mean curvature of the losses at zero over the mean number of neighbours; 1 if that is nothing to go by.
fn curvature_per_neighbour(problem: &Problem) -> f64 {
    let (n, zero) = (problem.nodes(), vec![0.0; problem.dim()]);
    let curvature = match problem.loss().has_hessian() {
        true => mean_curvature(&Losses::of(problem.loss()), n, |_| &zero),
        false => 1.0,
    };
    stiffness(curvature * n as f64, problem.graph().edges())
}

/// The sum of all curvatures per end of an edge; 1 if that is nothing to go by.
fn stiffness(curvatures: f64, edges: usize) -> f64 {
    let stiffness = curvatures / (2 * edges) as f64;
    if stiffness > 0.0 && stiffness.is_finite() { stiffness } else { 1.0 }
}

impl PdmmOptions {
    /// Checks all numbers.
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [("rho", self.rho), ("tau", self.tau)] {
            if let Some(value) = value.filter(|v| !(*v > 0.0 && v.is_finite())) {
                return Err(Error::Parameter { name, value, needs: "positive and finite" });
            }
        }
        for (name, value) in [("eta", self.eta), ("nu", self.nu)] {
            if let Some(value) = value.filter(|v| !(*v >= 0.0 && v.is_finite())) {
                return Err(Error::Parameter { name, value, needs: "zero or positive, and finite" });
            }
        }
        self.subset.check()
    }
}
