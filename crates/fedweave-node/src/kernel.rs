//! The mathematics of one part, in two phases with an exchange in between: `begin` makes the rows that travel, `complete`
//! uses those that came.

mod primal_dual;

use fedweave::{Matrix, Problem};

use crate::error::{Error, Result};
use crate::ground::Ground;
use crate::plan::MethodSpec;
use primal_dual::PrimalDualKernel;

/// The iterate of a part.
pub enum Kernel {
    /// The primal-dual method.
    PrimalDual(Box<PrimalDualKernel>),
}

impl Kernel {
    /// Starts from zero (nodes without neighbours: at their answer), or from `w` and `u`.
    pub fn new(problem: Problem, method: &MethodSpec, start: Option<(Matrix, Matrix)>) -> Self {
        let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
        let fresh = || {
            let mut w = Matrix::zeros(n, d);
            fedweave::solve::minimise_local(&problem, &mut w, |i| !problem.is_coupled(i));
            (w, Matrix::zeros(edges, d))
        };
        let (w, u) = start.unwrap_or_else(fresh);
        match *method {
            MethodSpec::PrimalDual { step_ratio, relaxation } => {
                Kernel::PrimalDual(Box::new(PrimalDualKernel::new(problem, &w, &u, step_ratio, relaxation)))
            }
        }
    }

    /// Makes the rows of the next round.
    pub fn begin(&mut self) {
        match self {
            Kernel::PrimalDual(kernel) => kernel.begin(),
        }
    }

    /// The row that a node sends in this round.
    pub fn outgoing(&self, node: u32) -> &[f64] {
        match self {
            Kernel::PrimalDual(kernel) => kernel.outgoing(node as usize),
        }
    }

    /// Where the row of a node held elsewhere goes.
    pub fn incoming(&mut self, node: u32) -> &mut [f64] {
        match self {
            Kernel::PrimalDual(kernel) => kernel.incoming(node as usize),
        }
    }

    /// Ends the round with the rows that came.
    pub fn complete(&mut self) {
        match self {
            Kernel::PrimalDual(kernel) => kernel.complete(),
        }
    }

    /// How far the last round moved the own nodes and their edges, relative to the sizes of gradients and models.
    pub fn residual(&self, ground: &Ground) -> f64 {
        match self {
            Kernel::PrimalDual(kernel) => kernel.residual(ground),
        }
    }

    /// The models, a row per node of the part's problem.
    pub fn w(&self) -> &Matrix {
        match self {
            Kernel::PrimalDual(kernel) => kernel.w(),
        }
    }

    /// The flows, a row per edge of the part's problem.
    pub fn u(&self) -> Matrix {
        match self {
            Kernel::PrimalDual(kernel) => kernel.u().clone(),
        }
    }
}

impl MethodSpec {
    /// Checks the settings.
    pub fn check(&self) -> Result<()> {
        match *self {
            MethodSpec::PrimalDual { step_ratio, relaxation } => {
                if !(step_ratio > 0.0 && step_ratio.is_finite()) {
                    return Err(Error::Setting { name: "step ratio", value: step_ratio, needs: "positive and finite" });
                }
                if !(relaxation > 0.0 && relaxation < 2.0) {
                    return Err(Error::Setting { name: "relaxation", value: relaxation, needs: "between 0 and 2" });
                }
                Ok(())
            }
        }
    }
}
