//! A network cut into parts, and what it must answer: computed by the solver on one machine, round by round.

use std::sync::Arc;

use fedweave::graph::partition::Partition;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::solve::PrimalDual;
use fedweave::synthetic::{self, Options};
use fedweave::{Matrix, Problem};

use super::predictions::trace_predictions;
use crate::error::Result;
use crate::hub::Hub;
use crate::in_process;
use crate::network::Network;
use crate::part::Part;
use crate::plan::{DeadPolicy, MethodSpec, Patience, PenaltyKind, Plan};

/// What a run is compared with.
pub struct Scene {
    /// The whole network.
    pub network: Network,
    /// The plans of its parts.
    pub plans: Vec<Plan>,
    /// For each part and peer: the part at the other side, and the number that this one has there.
    pub(super) routes: Vec<Vec<(usize, u32)>>,
    /// For each part and peer: the nodes of the network whose rows are sent.
    pub(super) boundary: Vec<Vec<Vec<usize>>>,
    /// Rows of `2 w+ - w` of every round.
    pub(super) over: Vec<Matrix>,
    /// The models at the end.
    pub(super) models: Matrix,
    /// The round after which all parts must stop.
    pub rounds: u64,
    /// Rows and models are not compared: liars are about.
    pub(super) trusting: bool,
}

impl Scene {
    /// Scene `k` of the standard ones: 20 parts, 300 rounds. Every fourth has two nodes per part, every third stops at a
    /// tolerance instead.
    pub fn standard(k: u64) -> Result<Self> {
        let nodes = if k % 4 == 3 { 40 } else { 20 };
        let tolerance = (k % 3 == 2).then_some(1e-5);
        Self::new(k, nodes, 20, 300, tolerance)
    }

    /// A random network of so many nodes in so many parts.
    pub fn new(seed: u64, nodes: usize, parts: usize, rounds: u64, tolerance: Option<f64>) -> Result<Self> {
        let mut network = random_network(seed, nodes, rounds, tolerance)?;
        if Partition::components(&network.graph).len() > 1 {
            // Components stop on their own, each at its own round.
            network.tolerance = None;
        }
        let part_of: Vec<usize> = (0..nodes).map(|i| i % parts).collect();
        Self::of(network, &part_of, parts)
    }

    /// A random network of 20 nodes, changed, of which no bits are known in advance.
    pub(super) fn trusting(seed: u64, rounds: u64, change: impl FnOnce(&mut Network) -> Result<()>) -> Result<Self> {
        let mut network = random_network(seed, 20, rounds, None)?;
        change(&mut network)?;
        let one_each: Vec<usize> = (0..20).collect();
        let plans = network.plans(&one_each, 20)?;
        let (routes, boundary) = wiring(&network, &plans);
        let (over, models) = (Vec::new(), Matrix::zeros(0, 1));
        Ok(Scene { network, plans, routes, boundary, over, models, rounds, trusting: true })
    }

    /// A network cut as told.
    pub fn of(network: Network, part_of: &[usize], parts: usize) -> Result<Self> {
        let plans = network.plans(part_of, parts)?;
        let learnt = match network.hub {
            Some(Hub::Learnt) => Some(network.learn(part_of)?),
            _ => None,
        };
        let (routes, boundary) = match &learnt {
            // Edges that do not take part carry no rows.
            Some((coupling, _)) => {
                let coupling = Arc::new(coupling.clone());
                let coupled = plans.iter().map(|plan| plan.clone().with_coupling(coupling.clone()));
                wiring(&network, &coupled.collect::<Result<Vec<_>>>()?)
            }
            None => wiring(&network, &plans),
        };
        let rounds = match network.tolerance {
            None => network.rounds_max,
            Some(_) => {
                let mut parts = plans.iter().map(|p| Part::new(p.clone())).collect::<Result<Vec<_>>>()?;
                let outcomes = in_process::run(&mut parts).unwrap_or_default();
                outcomes.iter().map(|o| o.round).max().unwrap_or(network.rounds_max)
            }
        };
        let (over, models) = trace(&network, learnt.map(|(_, problem)| problem), rounds)?;
        Ok(Scene { network, plans, routes, boundary, over, models, rounds, trusting: false })
    }

    /// The rows that a part must send to a peer in a round, one after another.
    pub(super) fn rows(&self, part: usize, peer: usize, round: u64) -> impl Iterator<Item = &f64> {
        let over = &self.over[round as usize - 1];
        self.boundary[part][peer].iter().flat_map(move |&i| over.row(i))
    }
}

/// A scene whose rows and models are known.
pub(super) fn of_trace(network: Network, plans: Vec<Plan>, over: Vec<Matrix>, models: Matrix) -> Scene {
    let (routes, boundary) = wiring(&network, &plans);
    Scene { rounds: network.rounds_max, network, plans, routes, boundary, over, models, trusting: false }
}

pub(super) fn random_network(seed: u64, nodes: usize, rounds: u64, tolerance: Option<f64>) -> Result<Network> {
    let neighbours = 2 + (seed % 2) as usize;
    let network = synthetic::Network::Geometric { neighbours };
    let options =
        Options { network, nodes, clusters: 3, dim: 2 + (seed % 3) as usize, rows: 3, seed, ..Default::default() };
    let made = synthetic::generate(&options)?;
    let kinds = [PenaltyKind::Norm2, PenaltyKind::Norm1, PenaltyKind::Squared];
    Ok(Network {
        names: (0..nodes).map(|i| format!("{i:05}")).collect(),
        graph: made.graph,
        data: made.data,
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions { ridge: 0.05, ..Default::default() },
        penalty: kinds[(seed % 3) as usize],
        lambda: 0.3,
        method: MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 1.5 },
        rounds_max: rounds,
        tolerance,
        patience: Patience { policy: DeadPolicy::Wait, dead_after_ms: 1_000, retry_ms: 40 },
        models: None,
        hub: None,
    })
}

type Wiring = (Vec<Vec<(usize, u32)>>, Vec<Vec<Vec<usize>>>);

fn wiring(network: &Network, plans: &[Plan]) -> Wiring {
    let position = |name: &String| plans.iter().position(|p| p.name == *name).unwrap_or(0);
    let route = |plan: &Plan, name: &String| {
        let other = position(name);
        let back = plans[other].peers.iter().position(|n| *n == plan.name).unwrap_or(0);
        (other, back as u32)
    };
    let rows = |plan: &Plan, peer: usize| {
        let to_peer = plan.edges.iter().filter(|e| plan.takes_part(e) && e.peer.is_some_and(|p| p.0 as usize == peer));
        let mut nodes: Vec<usize> = to_peer.filter_map(|e| network.names.binary_search(&e.node).ok()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    };
    let routes = plans.iter().map(|p| p.peers.iter().map(|name| route(p, name)).collect()).collect();
    let boundary = plans.iter().map(|p| (0..p.peers.len()).map(|k| rows(p, k)).collect()).collect();
    (routes, boundary)
}

/// The rows of every round and the models at the end, on one machine: of a problem whose coupling was learnt, or of the
/// network's.
fn trace(network: &Network, learnt: Option<Problem>, rounds: u64) -> Result<(Vec<Matrix>, Matrix)> {
    if let (Some(models), MethodSpec::FedRelaxPredictions { both, plain }) = (&network.models, network.method) {
        return trace_predictions(network, models, both, plain, rounds);
    }
    let problem = match learnt {
        Some(problem) => problem,
        None => network.problem()?,
    };
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else {
        return Err(fedweave::Error::Method { method: "simulate", needs: "the primal-dual method" }.into());
    };
    let mut w = Matrix::zeros(n, d);
    fedweave::solve::minimise_local(&problem, &mut w, |i| !problem.is_coupled(i));
    let mut method = PrimalDual::in_order(&problem, &w, &Matrix::zeros(edges, d), step_ratio, relaxation);
    let mut over = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        method.update_nodes();
        over.push(method.placed_over().clone());
        method.update_edges();
    }
    Ok((over, method.placed_w().clone()))
}
