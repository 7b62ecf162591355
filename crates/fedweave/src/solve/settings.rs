//! What may be asked of a solver.

use super::tuning::FACTOR_WORTH;

/// When to stop and how to step.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Stop at `certified_gap <= tolerance * max(1, |F|)`; without a certificate, at `kkt_residual <= tolerance`.
    pub tolerance: f64,
    /// Stop after this many iterations.
    pub iterations_max: usize,
    /// Stop when the objective changed by less than this, relatively, between two checks.
    pub objective_decrease: Option<f64>,
    /// Ratio of primal to dual steps; 1 is the paper's. `None` adapts it by balancing how far both variables move.
    pub step_ratio: Option<f64>,
    /// Relaxation of the primal-dual method, between 0 and 2; 1 is the paper's.
    pub relaxation: f64,
    /// Fewest iterations between two looks at the objective and the residuals.
    pub check_every: usize,
    /// How to minimise.
    pub solver: Solver,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tolerance: 1e-6,
            iterations_max: 100_000,
            objective_decrease: None,
            step_ratio: None,
            relaxation: 1.8,
            check_every: 10,
            solver: Solver::Auto,
        }
    }
}

/// How to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// What suits the problem.
    #[default]
    Auto,
    /// The primal-dual method alone.
    PrimalDual,
    /// Newton-type: the augmented Lagrangian from the start.
    Newton,
    /// The same with conjugate gradients for all linear systems, also where a factor would be cheaper.
    NewtonCg,
}

impl Settings {
    /// What a factorisation is worth where systems are to be solved exactly, in products with the matrix.
    pub(super) fn factor_worth(&self) -> f64 {
        if self.solver == Solver::NewtonCg { 0.0 } else { FACTOR_WORTH }
    }
}
