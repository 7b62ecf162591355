//! Neighbours that lie about their models. Honest nodes must stay finite and near the optimum of the honest ones.

use fedweave::robustness::liars_bound;
use fedweave::solve::{Settings, Watch, solve};
use fedweave::{Graph, Matrix};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::scene::Scene;
use crate::error::Result;
use crate::network::Network;
use crate::part::Outcome;
use crate::plan::{DeadPolicy, MethodSpec, PenaltyKind};
use crate::wire::{Frame, Kind, encode};

/// How a part lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    /// Always the same numbers.
    Constant(f64),
    /// Numbers near the end of the range of f64.
    Huge,
    /// Not numbers.
    NotANumber,
    /// The opposite of the truth.
    SignFlip,
    /// The rows of the first round for ever.
    Replay,
    /// Something else to everybody, every time.
    Equivocation,
    /// Rows of another length.
    WrongDimension,
}

/// Who lies, what the honest ones would answer without them, and how far they may be from it.
pub struct Liars {
    /// For each part: how it lies, if it does.
    pub lies: Vec<Option<Lie>>,
    optimum: Matrix,
    /// The bound on the distance of all honest models together.
    pub bound: f64,
    /// What the liars sent first.
    first: Vec<Vec<Vec<f64>>>,
}

/// Rounds of a run with liars.
const ROUNDS: u64 = 400;
/// What the honest ones may miss because the rounds are not infinite, as a share of the bound.
const UNFINISHED: f64 = 1e-3;

/// A scene with liars: one node per part, at most a fifth of them liars.
pub fn scene_with_liars(random: &mut ChaCha8Rng, seed: u64) -> Result<(Scene, Liars)> {
    let kinds = [PenaltyKind::Norm2, PenaltyKind::Norm1, PenaltyKind::NormInf];
    let penalty = kinds[random.random_range(0..kinds.len())];
    let scene = Scene::trusting(seed % 64, ROUNDS, |network| {
        network.penalty = penalty;
        // Without relaxation flows never leave their balls.
        network.method = MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 1.0 };
        network.patience.policy = DeadPolicy::Continue;
        network.loss_options.ridge = 0.2;
        Ok(())
    })?;
    let n = scene.network.names.len();
    let mut lies = vec![None; n];
    for _ in 0..random.random_range(1..=n / 5) {
        lies[random.random_range(0..n)] = Some(draw(random));
    }
    let problem = scene.network.problem()?;
    let bound = liars_bound(&problem, |i| lies[i].is_some()).unwrap_or(f64::INFINITY);
    let liars = Liars::new(&scene, lies, bound)?;
    Ok((scene, liars))
}

fn draw(random: &mut ChaCha8Rng) -> Lie {
    match random.random_range(0..7) {
        0 => Lie::Constant(random.random_range(-100.0..100.0)),
        1 => Lie::Huge,
        2 => Lie::NotANumber,
        3 => Lie::SignFlip,
        4 => Lie::Replay,
        5 => Lie::Equivocation,
        _ => Lie::WrongDimension,
    }
}

/// The optimum of the honest nodes and the edges between them; liars, cut off, are on their own.
fn honest_optimum(network: &Network, lies: &[Option<Lie>]) -> Result<Matrix> {
    let graph = &network.graph;
    let honest = |e: &usize| {
        let (i, j) = graph.nodes_of(*e);
        lies[i].is_none() && lies[j].is_none()
    };
    let edges: Vec<_> = (0..graph.edges())
        .filter(honest)
        .map(|e| (graph.nodes_of(e).0, graph.nodes_of(e).1, graph.weight(e)))
        .collect();
    let honest = Network { graph: Graph::new(graph.nodes(), &edges)?, ..network.clone() };
    let settings = Settings { tolerance: 1e-11, ..Default::default() };
    Ok(solve(&honest.problem()?, &settings, None, &mut |_| Watch::Continue).w)
}

impl Liars {
    /// Liars, and what the others must come near to.
    pub(super) fn new(scene: &Scene, lies: Vec<Option<Lie>>, bound: f64) -> Result<Self> {
        let optimum = honest_optimum(&scene.network, &lies)?;
        let first = scene.plans.iter().map(|p| vec![Vec::new(); p.peers.len()]).collect();
        Ok(Liars { lies, optimum, bound, first })
    }

    /// What a part sends instead of a frame.
    pub(super) fn tell(&mut self, from: usize, to: usize, bytes: Vec<u8>, random: &mut ChaCha8Rng) -> Vec<u8> {
        let (Some(lie), Ok(frame)) = (self.lies[from], Frame::decode(&bytes)) else { return bytes };
        if frame.header.kind != Kind::Rows {
            return bytes;
        }
        let mut numbers: Vec<f64> = frame.numbers().collect();
        let first = &mut self.first[from][to];
        if first.is_empty() {
            first.clone_from(&numbers);
        }
        match lie {
            Lie::Constant(c) => numbers.fill(c),
            Lie::Huge => numbers.iter_mut().for_each(|x| *x = 1e300_f64.copysign(*x)),
            Lie::NotANumber => numbers[0] = f64::NAN,
            Lie::SignFlip => numbers.iter_mut().for_each(|x| *x = -*x),
            Lie::Replay => numbers.clone_from(first),
            Lie::Equivocation => numbers.iter_mut().for_each(|x| *x = random.random_range(-1e3..1e3)),
            Lie::WrongDimension => {
                numbers.pop();
            }
        }
        encode(&frame.header, &numbers)
    }

    /// Checks the honest models. Returns what is wrong with them.
    pub(super) fn check(&self, outcomes: &[Option<Box<Outcome>>]) -> Option<String> {
        let mut sum = 0.0;
        for (i, outcome) in outcomes.iter().enumerate().filter(|(i, _)| self.lies[*i].is_none()) {
            let model = outcome.as_ref()?.models.row(0);
            if !model.iter().all(|x| x.is_finite()) {
                return Some(format!("the model of honest node {i} is not finite"));
            }
            sum += model.iter().zip(self.optimum.row(i)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        }
        let distance = sum.sqrt();
        // Also where the bound is zero, some rounds are missing.
        let allowed = self.bound * (1.0 + UNFINISHED) + UNFINISHED;
        (distance > allowed)
            .then(|| format!("honest models are {distance} from their optimum; the bound is {}", self.bound))
    }
}
