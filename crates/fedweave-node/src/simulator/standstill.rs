//! Gradient descent out of step that stops at a tolerance: what all parts end with must be within it, as one machine computes it.

use fedweave::Matrix;
use fedweave::solve::{GradientRound, Round};

use super::scene::Scene;
use super::world::World;
use super::{Failure, Limits, Tally, simulate};
use crate::error::Result;
use crate::part::{Outcome, Reason};
use crate::plan::{MethodSpec, PenaltyKind};

const ROUNDS: u64 = 100_000;
/// Networks that seeds choose from.
pub(super) const SCENES: u64 = 48;

/// A scene of 20 nodes in 20 parts that go out of step, by up to so many rounds.
pub(super) fn scene(seed: u64) -> Result<Scene> {
    Scene::trusting(seed, ROUNDS, |network| {
        network.penalty = PenaltyKind::Squared;
        network.loss_options.ridge = 0.2;
        let step = fedweave::solve::safe_step(&network.problem()?).unwrap_or(0.1);
        network.method = MethodSpec::AsyncFedGd { step, staleness: 1 + seed % 7 };
        network.tolerance = Some(1e-6);
        Ok(())
    })
}

/// Runs one seed.
pub fn simulate_out_of_step(limits: &Limits, seed: u64) -> std::result::Result<Tally, Failure> {
    let fault = |e: crate::error::Error| Failure { seed, at_ms: 0, part: None, what: e.to_string() };
    simulate(&scene(seed % SCENES).map_err(fault)?, limits, seed)
}

/// Checks what all ended with.
pub(super) fn check(world: &World<'_>, outcomes: &[Option<Box<Outcome>>]) -> Option<String> {
    let network = &world.scene.network;
    let (Some(tolerance), MethodSpec::AsyncFedGd { step, .. }) = (network.tolerance, network.method) else {
        return None;
    };
    let problem = network.problem().ok()?;
    let mut models = Matrix::zeros(problem.nodes(), problem.dim());
    for (i, outcome) in outcomes.iter().enumerate() {
        let outcome = outcome.as_ref()?;
        if outcome.reason != Reason::Converged {
            return Some(format!("part {i} ended in round {} without the tolerance", outcome.round));
        }
        models.row_mut(i).copy_from_slice(outcome.models.row(0));
    }
    let nodes = (0..problem.nodes() as u32).collect();
    let mut round = GradientRound::part(&problem, nodes, models, step);
    round.stand_still();
    let residual = round.residual();
    // Up to rounding.
    let allowed = tolerance * (1.0 + 1e-9);
    (residual > allowed).then(|| format!("the residual is {residual}, and parts ended at a tolerance of {tolerance}"))
}
