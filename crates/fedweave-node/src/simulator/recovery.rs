//! What no part can get over with the bits of one machine: old states or none, edges that differ between their ends, certificates
//! that are revoked. All parts must end all the same, and where they do, both ends of every edge must agree whether it counts, and
//! models must be the optimum of the network whose edges count.

use fedweave::Graph;
use fedweave::matrix::norm2;
use fedweave::solve::{Settings, Watch, solve};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::faults::{Incident, Limits};
use super::scene::Scene;
use super::world::World;
use super::{Failure, Tally};
use crate::error::Result;
use crate::network::Network;
use crate::part::{Outcome, Reason};
use crate::plan::{DeadPolicy, MethodSpec, PeerId, PenaltyKind};

/// Largest distance of a model from where it should be.
const OFF_MAX: f64 = 1e-4;
const ROUNDS: u64 = 20_000;

/// Runs one seed.
pub fn simulate_recovery(seed: u64) -> std::result::Result<Tally, Failure> {
    let fault = |e: crate::error::Error| Failure { seed, at_ms: 0, part: None, what: e.to_string() };
    let scene = scene(seed).map_err(fault)?;
    world(&scene, seed).run()
}

/// A scene of 20 nodes in 20 parts, half of them with each policy.
pub(super) fn scene(seed: u64) -> Result<Scene> {
    Scene::trusting(seed % 64, ROUNDS, |network| {
        network.penalty = [PenaltyKind::Norm2, PenaltyKind::Squared][(seed % 2) as usize];
        network.method = MethodSpec::PrimalDual { step_ratio: 0.3, relaxation: 1.0 };
        network.loss_options.ridge = 0.2;
        network.tolerance = Some(1e-8);
        network.patience.policy = [DeadPolicy::Wait, DeadPolicy::Continue][(seed / 2 % 2) as usize];
        network.patience.dead_after_ms = 4_000;
        Ok(())
    })
}

/// What happens in it.
pub(super) fn world(scene: &Scene, seed: u64) -> World<'_> {
    let limits =
        Limits { loss: 0.1, duplication: 0.2, crashes: 6, rollbacks: 3, far_away_one_in: 0, ..Limits::default() };
    let mut world = World::new(scene, &limits, seed);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(2);
    let part = random.random_range(0..scene.plans.len());
    let continues = scene.plans[0].patience.policy == DeadPolicy::Continue;
    match random.random_range(0..5) {
        // Who waits for the dead would wait for ever.
        0 if continues => {
            let mut plan = scene.plans[part].clone();
            let edge = plan.edges.iter_mut().find(|e| e.peer.is_some());
            edge.into_iter().for_each(|e| e.weight *= 5.0);
            world.other_plan = Some((part, plan));
        }
        // Two neighbours at once.
        2 | 3 => {
            let (at, other) = (random.random_range(500..4_000), scene.routes[part][0].0);
            for part in [part, other] {
                let to = random.random_bool(0.5).then(|| random.random_range(0.0..0.8));
                world.faults.incidents.push((at, Incident::Rollback { part, to, back_after_ms: 50 }));
            }
            world.faults.incidents.sort_by_key(|(at, _)| *at);
        }
        1 if continues => {
            let at = random.random_range(0..5_000);
            world.faults.incidents.push((at, Incident::Revoke(part)));
            world.faults.incidents.sort_by_key(|(at, _)| *at);
        }
        _ => (),
    }
    world
}

/// Checks what all ended with.
pub(super) fn check(world: &World<'_>, outcomes: &[Option<Box<Outcome>>]) -> Option<String> {
    let (scene, network) = (world.scene, &world.scene.network);
    let limit = |o: &Outcome| o.reason == Reason::RoundLimit;
    if let Some(k) = outcomes.iter().position(|o| o.as_deref().is_some_and(limit)) {
        return Some(format!("part {k} has not converged after {ROUNDS} rounds"));
    }
    let ended = |k: usize| outcomes[k].as_ref().is_some_and(|o| o.reason == Reason::Converged);
    if !(0..outcomes.len()).all(ended) {
        // Who came back when all others had ended says so; the others are judged by other seeds.
        return None;
    }
    let is_apart =
        |k: usize| world.revoked.contains(&k) || world.other_plan.as_ref().is_some_and(|(part, _)| *part == k);
    let round = |k: usize| outcomes[k].as_ref().map(|o| o.round);
    let mut edges = Vec::new();
    for e in 0..network.graph.edges() {
        let (i, j) = network.graph.nodes_of(e);
        let counts = |from: usize, to: usize| {
            let place = scene.plans[from].peers.iter().position(|name| *name == scene.plans[to].name);
            place.is_some_and(|p| world.seats[from].counted.get(PeerId(p as u32).0 as usize) == Some(&true))
        };
        match (counts(i, j), counts(j, i)) {
            (true, true) => edges.push((i, j, network.graph.weight(e))),
            // Who comes back when the other has ended, or is about to, ends alone.
            (false, false) if is_apart(i) || is_apart(j) || round(i) != round(j) => {}
            (false, false) => {
                return Some(format!("the edge {i} -- {j} is lost, although nothing keeps its ends apart"));
            }
            _ => return Some(format!("one end of the edge {i} -- {j} counts it, the other does not")),
        }
    }
    let left = Network { graph: Graph::new(network.graph.nodes(), &edges).ok()?, ..network.clone() };
    let settings = Settings { tolerance: 1e-11, ..Default::default() };
    let optimum = solve(&left.problem().ok()?, &settings, None, &mut |_| Watch::Continue).w;
    for (k, outcome) in outcomes.iter().enumerate() {
        let model = outcome.as_ref()?.models.row(0);
        let off: Vec<f64> = model.iter().zip(optimum.row(k)).map(|(a, b)| a - b).collect();
        if norm2(&off) > OFF_MAX || !norm2(&off).is_finite() {
            return Some(format!("part {k} is {} from the optimum of the network that is left", norm2(&off)));
        }
    }
    None
}
