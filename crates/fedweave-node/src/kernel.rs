//! The mathematics of one part: a [`Round`] of the core, and what only a part needs of it.

mod predictions;

use fedweave::model::Fitted;
use fedweave::solve::{GradientRound, NoisyRound, PrimalDualRound, RelaxRound, Round};
use fedweave::{Matrix, Problem};
use fedweave_io::Noise;

use crate::error::{Error, Result};
use crate::plan::{MethodSpec, Plan};
use crate::subproblem::Subproblem;
use predictions::PredictionsRound;

/// A round of a part. Nodes and edges are those of the part's problem.
pub trait Kernel: Round + Send + Sync {
    /// What else the next rounds and the answer depend on, [`memory_len`] numbers.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }
    /// A round in which the models stay as they are, and only their residual is computed.
    fn stand_still(&mut self) {}
    /// Why the last round could not be completed, if it could not.
    fn failure(&self) -> Option<String> {
        None
    }
    /// What the part answers, a row per own node, if that is not the models of the last round.
    fn answer(&self) -> Option<Matrix> {
        None
    }
    /// Models of any class, one for each node of the plan, if the method has such.
    fn fitted(&self) -> Vec<Option<Fitted>> {
        Vec::new()
    }
}

impl Kernel for GradientRound<Box<Problem>> {
    fn stand_still(&mut self) {
        GradientRound::stand_still(self);
    }
}
impl Kernel for RelaxRound<Box<Problem>> {}
impl Kernel for PrimalDualRound<Box<Problem>> {}

impl<D: Fn(usize, &[f64]) -> Noise + Send + Sync> Kernel for NoisyRound<Box<Problem>, D> {
    fn memory(&self) -> Vec<f64> {
        NoisyRound::memory(self)
    }

    fn answer(&self) -> Option<Matrix> {
        Some(NoisyRound::answer(self))
    }
}

/// Length of [`Kernel::memory`], and of what the part itself remembers of its noise.
pub fn memory_len(plan: &Plan) -> usize {
    match plan.noise {
        Some(_) => 3 + plan.nodes.len() * plan.data.dim(),
        None => predictions::memory_len(plan),
    }
}

/// What a kernel goes on from.
pub struct KernelState {
    /// The models, a row per node of the problem.
    pub w: Matrix,
    /// The flows, a row per edge of the problem.
    pub u: Matrix,
    /// See [`Kernel::memory`].
    pub memory: Vec<f64>,
}

/// The method of a plan, from zero (as on one machine) or from where it was.
pub fn kernel(
    plan: &Plan,
    subproblem: &Subproblem,
    problem: Problem,
    start: Option<KernelState>,
) -> Result<Box<dyn Kernel>> {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let zero = || KernelState { w: Matrix::zeros(n, d), u: Matrix::zeros(edges, d), memory: Vec::new() };
    let KernelState { mut w, u, memory } = start.unwrap_or_else(zero);
    let own: Vec<u32> = subproblem.own.clone();
    let on_their_own = |w: &mut Matrix| {
        // A node without neighbours has no step: its answer is the minimum of its loss.
        fedweave::solve::minimise_local(&problem, w, |i| !problem.is_coupled(i));
    };
    Ok(match plan.method {
        MethodSpec::PrimalDual { step_ratio, relaxation } => {
            on_their_own(&mut w);
            Box::new(PrimalDualRound::new(Box::new(problem), own, &w, &u, step_ratio, relaxation))
        }
        MethodSpec::FedGd { step } | MethodSpec::AsyncFedGd { step, .. } => {
            Box::new(GradientRound::part(Box::new(problem), own, w, step))
        }
        MethodSpec::NoisyFedGd { step } => {
            let none =
                fedweave::Error::Method { method: "noisy-fedgd", needs: "[privacy] with method = \"gradients\"" };
            let noise = plan.noise.as_ref().ok_or(none)?;
            let (draw, rounds) = (noise.draw(plan.nodes.clone()), plan.stop.rounds_max);
            let mut round = NoisyRound::part(Box::new(problem), own, w, step, noise.gradients(plan)?, rounds, draw);
            round.recall(&memory);
            Box::new(round)
        }
        MethodSpec::FedRelax => {
            on_their_own(&mut w);
            Box::new(RelaxRound::new(Box::new(problem), own, w))
        }
        MethodSpec::FedRelaxPredictions { both, plain } => {
            let needs = "a model for every node, and public rows";
            let none = fedweave::Error::Method { method: "fedrelax-predictions", needs };
            let models = plan.models.as_ref().ok_or(none)?;
            Box::new(PredictionsRound::new(plan, subproblem, models, both, plain, &memory)?)
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
            MethodSpec::FedGd { step } | MethodSpec::NoisyFedGd { step } => positive("step", step),
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
