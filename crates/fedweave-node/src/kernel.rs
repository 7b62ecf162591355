//! The mathematics of one part, in two phases with an exchange in between: `begin` makes the rows that travel, `complete`
//! uses those that came.

mod descent;
mod primal_dual;
mod relax;

use fedweave::{Matrix, Problem};

use crate::error::{Error, Result};
use crate::ground::Ground;
use crate::plan::{MethodSpec, Plan};
use descent::DescentKernel;
use primal_dual::PrimalDualKernel;
use relax::RelaxKernel;

/// What every method does. Nodes and edges are those of the part's problem.
pub trait Kernel: Send {
    /// Makes the rows of the next round.
    fn begin(&mut self) {}
    /// The row that a node sends in this round.
    fn outgoing(&self, node: usize) -> &[f64];
    /// Where the row of a node held elsewhere goes.
    fn incoming(&mut self, node: usize) -> &mut [f64];
    /// Ends the round with the rows that came.
    fn complete(&mut self);
    /// How far the last round moved the own nodes and their edges, relative to the sizes of gradients and models.
    fn residual(&self) -> f64;
    /// The models, a row per node.
    fn w(&self) -> &Matrix;
    /// The flows, a row per edge.
    fn u(&self) -> Matrix;
}

/// The method of a plan, from zero (as on one machine) or from `w` and `u`.
pub fn kernel(plan: &Plan, ground: &Ground, problem: Problem, start: Option<(Matrix, Matrix)>) -> Box<dyn Kernel> {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let (mut w, u) = start.unwrap_or_else(|| (Matrix::zeros(n, d), Matrix::zeros(edges, d)));
    let own: Vec<u32> = ground.own.clone();
    let on_their_own = |w: &mut Matrix| {
        // A node without neighbours has no step: its answer is the minimum of its loss.
        fedweave::solve::minimise_local(&problem, w, |i| !problem.is_coupled(i));
    };
    match plan.method {
        MethodSpec::PrimalDual { step_ratio, relaxation } => {
            on_their_own(&mut w);
            Box::new(PrimalDualKernel::new(problem, own, &w, &u, step_ratio, relaxation))
        }
        MethodSpec::FedGd { step } | MethodSpec::AsyncFedGd { step, .. } => {
            Box::new(DescentKernel::new(problem, own, w, step))
        }
        MethodSpec::FedRelax => {
            on_their_own(&mut w);
            Box::new(RelaxKernel::new(problem, own, w))
        }
    }
}

impl MethodSpec {
    /// Checks the settings.
    pub fn check(&self) -> Result<()> {
        let positive = |name, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(Error::Setting { name, value, needs: "positive and finite" }),
        };
        match *self {
            MethodSpec::PrimalDual { step_ratio, relaxation } => {
                if !(relaxation > 0.0 && relaxation < 2.0) {
                    return Err(Error::Setting { name: "relaxation", value: relaxation, needs: "between 0 and 2" });
                }
                positive("step ratio", step_ratio)
            }
            MethodSpec::FedGd { step } => positive("step", step),
            MethodSpec::AsyncFedGd { step, staleness } => {
                if !(1..=1 << 20).contains(&staleness) {
                    let value = staleness as f64;
                    return Err(Error::Setting { name: "staleness", value, needs: "at least 1 and at most 1048576" });
                }
                positive("step", step)
            }
            MethodSpec::FedRelax => Ok(()),
        }
    }

    /// Checks that the method can minimise the problem.
    pub fn fits(&self, problem: &Problem) -> Result<()> {
        let squared = problem.penalty().name() == "squared";
        let fault = |method, needs| Err(fedweave::Error::Method { method, needs }.into());
        match self {
            MethodSpec::PrimalDual { .. } => Ok(()),
            MethodSpec::FedRelax if !squared => fault("fedrelax", "the squared penalty"),
            MethodSpec::FedRelax => Ok(()),
            _ if !problem.loss().has_hessian() => fault("fedgd", "losses without kinks"),
            _ if !squared => fault("fedgd", "the squared penalty"),
            _ => Ok(()),
        }
    }
}

/// The Euclidean distance of two rows.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Infinite if it is not a number: a liar's numbers are finite but may be huge.
fn or_infinite(residual: f64) -> f64 {
    if residual.is_finite() { residual } else { f64::INFINITY }
}
