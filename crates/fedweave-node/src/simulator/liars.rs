//! Neighbours that lie about their models. Honest nodes must stay finite and near the optimum of the honest ones.

use fedweave::robustness::liars_bound;
use fedweave::solve::{Settings, Watch, solve};
use fedweave::{Graph, Matrix};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::scene::Scene;
use super::world::World;
use crate::error::Result;
use crate::network::Network;
use crate::part::Outcome;
use crate::plan::{DeadPolicy, MethodSpec, PeerId, PenaltyKind};
use crate::wire::{Frame, Header, Kind, encode};

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
    /// Nothing at all, from some round on, although it is connected.
    Silence(u64),
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
    /// They lie in words, too.
    pub(super) talk: bool,
    dim: usize,
}

/// Rounds of a run with liars.
const ROUNDS: u64 = 800;
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
        // Longer than any pause, crash or cut of an honest part.
        network.patience.dead_after_ms = 8_000;
        network.loss_options.ridge = 0.2;
        Ok(())
    })?;
    let n = scene.network.names.len();
    let mut lies = vec![None; n];
    // A part that was away believes those who hold more than half of the weight of its edges.
    let graph = &scene.network.graph;
    let hold_too_much = |lies: &[Option<Lie>]| {
        (0..n).filter(|i| lies[*i].is_none()).any(|i| {
            let weight = |lie: bool| {
                let ends = graph.ends(i).iter().filter(|end| lies[end.neighbour as usize].is_some() == lie);
                ends.map(|end| graph.weight(end.edge as usize)).sum::<f64>()
            };
            if seed.is_multiple_of(2) { weight(true) >= weight(false) } else { weight(true) > weight(false) }
        })
    };
    for _ in 0..random.random_range(1..=2 * n / 5) {
        let i = random.random_range(0..n);
        let before = lies[i].replace(draw(random));
        if hold_too_much(&lies) || lies.iter().flatten().count() > n / 5 {
            lies[i] = before;
        }
    }
    let problem = scene.network.problem()?;
    let bound = liars_bound(&problem, |i| lies[i].is_some()).unwrap_or(f64::INFINITY);
    let liars = Liars::new(&scene, lies, bound)?;
    Ok((scene, liars))
}

fn draw(random: &mut ChaCha8Rng) -> Lie {
    match random.random_range(0..8) {
        0 => Lie::Constant(random.random_range(-100.0..100.0)),
        1 => Lie::Huge,
        2 => Lie::NotANumber,
        3 => Lie::SignFlip,
        4 => Lie::Replay,
        5 => Lie::Equivocation,
        6 => Lie::Silence(random.random_range(1..ROUNDS)),
        _ => Lie::WrongDimension,
    }
}

const WORDS: [Kind; 10] = [
    Kind::Ack,
    Kind::Finished,
    Kind::Leave,
    Kind::Join,
    Kind::State,
    Kind::Welcome,
    Kind::Sums,
    Kind::Total,
    Kind::Coupling,
    Kind::Terms,
];

/// A lie in a frame of another kind, about rounds near and far.
fn word(kind: Kind, header: &Header, dim: usize, random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut some_round = || match random.random_range(0..7) {
        0 => 0,
        1 => header.round.saturating_sub(random.random_range(0..4)),
        2 => header.round + random.random_range(0..6),
        3 => header.round + random.random_range(0..200),
        4 => 150_000,
        5 => u64::MAX / 8,
        _ => u64::MAX,
    };
    let (round, received) = (some_round(), some_round());
    let residual = [0.0, 1.0, 1e300, f64::INFINITY][random.random_range(0..4)];
    let size = [1.0, 1e3, 1e300][random.random_range(0..3)];
    let numbers: Vec<f64> = match kind {
        Kind::State | Kind::Terms => {
            (0..dim * random.random_range(0..3)).map(|_| size * random.random_range(-1.0..1.0)).collect()
        }
        _ => Vec::new(),
    };
    encode(&Header { kind, chunk: 0, chunks: 1, round, received, residual, ..*header }, &numbers)
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
        Ok(Liars { lies, optimum, bound, first, talk: true, dim: scene.network.data.dim() })
    }

    /// What a part sends instead of a frame: perhaps nothing, perhaps more than one. Liars lie in words of every kind, too.
    pub(super) fn tell(&mut self, from: usize, to: usize, bytes: Vec<u8>, random: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
        let (Some(lie), Ok(frame)) = (self.lies[from], Frame::decode(&bytes)) else { return vec![bytes] };
        if matches!(lie, Lie::Silence(round) if frame.header.round >= round) {
            return Vec::new();
        }
        let mut told = Vec::new();
        // Who asks where it could join is lied to more often than not.
        let asked = frame.header.kind == Kind::State;
        if self.talk && random.random_bool(if asked { 0.7 } else { 0.2 }) {
            let kind = if asked { Kind::State } else { WORDS[random.random_range(0..WORDS.len())] };
            told.push(word(kind, &frame.header, self.dim, random));
        }
        if frame.header.kind != Kind::Rows {
            told.push(bytes);
            return told;
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
            Lie::Silence(_) => {}
        }
        told.push(encode(&frame.header, &numbers));
        told
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

/// Rows of liars come with the flows of who gets them, which they know: or else these would be forgotten, and the liars pull less.
/// An error while they are early: a liar waits until its victim has begun the round.
pub(super) fn with_flows_that_fit(
    world: &World<'_>,
    to: usize,
    from: PeerId,
    bytes: Vec<u8>,
) -> std::result::Result<Vec<u8>, Vec<u8>> {
    let is_liar = |liars: &Liars| liars.lies[world.scene.routes[to][from.0 as usize].0].is_some();
    let (true, Some(part)) = (world.liars.as_ref().is_some_and(is_liar), &world.seats[to].part) else {
        return Ok(bytes);
    };
    let Some(frame) = Frame::decode(&bytes).ok().filter(|frame| frame.header.kind == Kind::Rows) else {
        return Ok(bytes);
    };
    let round = frame.header.round;
    if round == part.round() + 2 {
        return Err(bytes);
    }
    let Some(flows) = part.flows_sent(from, round) else { return Ok(bytes) };
    Ok(encode(&Header { flows, ..frame.header }, &frame.numbers().collect::<Vec<_>>()))
}
