//! The mathematics of one part, in two phases with an exchange in between: `begin` makes the rows that travel, `complete`
//! uses those that came.

mod descent;
mod predictions;
mod primal_dual;
mod relax;

use fedweave::model::Fitted;
use fedweave::{Matrix, Problem};

use crate::error::{Error, Result};
use crate::ground::Ground;
use crate::plan::{MethodSpec, Plan};
use descent::DescentKernel;
use predictions::PredictionsKernel;
pub use predictions::memory_len;
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
    /// The flows, a row per edge; no rows if the method has none.
    fn u(&self) -> Matrix;
    /// What else the next rounds and the answer depend on, [`memory_len`] numbers.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }
    /// Why the last round could not be completed, if it could not.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Models of any class, one for each node of the plan, if the method has such.
    fn fitted(&self) -> Vec<Option<Fitted>> {
        Vec::new()
    }
}

/// Where a method starts.
pub struct Start {
    /// The models, a row per node of the problem.
    pub w: Matrix,
    /// The flows, a row per edge of the problem.
    pub u: Matrix,
    /// See [`Kernel::memory`].
    pub memory: Vec<f64>,
}

/// The method of a plan, from zero (as on one machine) or from where it was.
pub fn kernel(plan: &Plan, ground: &Ground, problem: Problem, start: Option<Start>) -> Result<Box<dyn Kernel>> {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let zero = || Start { w: Matrix::zeros(n, d), u: Matrix::zeros(edges, d), memory: Vec::new() };
    let Start { mut w, u, memory } = start.unwrap_or_else(zero);
    let own: Vec<u32> = ground.own.clone();
    let on_their_own = |w: &mut Matrix| {
        // A node without neighbours has no step: its answer is the minimum of its loss.
        fedweave::solve::minimise_local(&problem, w, |i| !problem.is_coupled(i));
    };
    Ok(match plan.method {
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
        MethodSpec::FedRelaxPredictions { both, plain } => {
            let needs = "a model for every node, and public rows";
            let none = fedweave::Error::Method { method: "fedrelax-predictions", needs };
            let models = plan.models.as_ref().ok_or(none)?;
            Box::new(PredictionsKernel::new(plan, ground, models, both, plain, &memory)?)
        }
    })
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
            MethodSpec::FedRelax | MethodSpec::FedRelaxPredictions { .. } => Ok(()),
        }
    }

    /// Checks that the method can minimise the problem.
    pub fn fits(&self, problem: &Problem) -> Result<()> {
        let squared = problem.penalty().name() == "squared";
        let fault = |method, needs| Err(fedweave::Error::Method { method, needs }.into());
        match self {
            MethodSpec::PrimalDual { .. } | MethodSpec::FedRelaxPredictions { .. } => Ok(()),
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
