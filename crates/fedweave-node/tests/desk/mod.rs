//! Parts on one desk: frames are handed over in order, and tests do what they like to parts and frames.
#![allow(dead_code)]

use std::collections::VecDeque;

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::norm2;
use fedweave::solve::{Settings, Watch, solve};
use fedweave::synthetic::{Network as Shape, Options, generate};
use fedweave::{Graph, Matrix};
use fedweave_node::{
    DeadPolicy, Effect, Event, MethodSpec, Network, Note, Outcome, Part, Patience, PeerId, PenaltyKind, Plan, Reason,
};

pub const PARTS: usize = 8;
pub const DEAD: usize = 3;
/// Slow enough that there is time to come back.
pub const SLOW: MethodSpec = MethodSpec::PrimalDual { step_ratio: 0.02, relaxation: 1.0 };

pub fn network(policy: DeadPolicy) -> Network {
    let shape = Shape::Geometric { neighbours: 3 };
    let options = Options { network: shape, nodes: PARTS, clusters: 2, dim: 3, rows: 6, seed: 4, ..Default::default() };
    let made = generate(&options).unwrap();
    Network {
        names: (0..PARTS).map(|i| format!("n{i}")).collect(),
        graph: made.graph,
        data: made.data,
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions { ridge: 0.05, ..Default::default() },
        penalty: PenaltyKind::Norm2,
        lambda: 0.3,
        method: MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 1.5 },
        rounds_max: 100_000,
        tolerance: Some(1e-9),
        patience: Patience { policy, dead_after_ms: 200, retry_ms: 20 },
        models: None,
        hub: None,
    }
}

/// The optimum, without one node if told so.
pub fn optimum(network: &Network, without: Option<usize>) -> Matrix {
    let g = &network.graph;
    let ends = |e: usize| (g.nodes_of(e).0, g.nodes_of(e).1, g.weight(e));
    let edges: Vec<_> =
        (0..g.edges()).map(ends).filter(|&(i, j, _)| Some(i) != without && Some(j) != without).collect();
    let left = Network { graph: Graph::new(PARTS, &edges).unwrap(), ..network.clone() };
    let settings = Settings { tolerance: 1e-13, ..Default::default() };
    solve(&left.problem().unwrap(), &settings, None, &mut |_| Watch::Continue).w
}

/// Parts on one desk, a few frames per millisecond.
pub struct Desk {
    pub plans: Vec<Plan>,
    pub parts: Vec<Option<Part>>,
    pub frames: VecDeque<(usize, PeerId, Vec<u8>)>,
    pub saved: Vec<Vec<u8>>,
    pub spent: Vec<Vec<Vec<u8>>>,
    pub outcomes: Vec<Option<Outcome>>,
    pub notes: Vec<(usize, Note)>,
    pub now: u64,
    /// Frames between these two are lost.
    pub cut: Option<(usize, usize)>,
}

impl Desk {
    pub fn new(network: &Network, absent: Option<usize>) -> Self {
        let plans = network.plans(&(0..PARTS).collect::<Vec<_>>(), PARTS).unwrap();
        let part = |k: usize| (Some(k) != absent).then(|| Part::new(plans[k].clone()).unwrap());
        let mut desk = Desk {
            parts: (0..PARTS).map(part).collect(),
            plans,
            frames: VecDeque::new(),
            saved: vec![Vec::new(); PARTS],
            spent: vec![Vec::new(); PARTS],
            outcomes: (0..PARTS).map(|_| None).collect(),
            notes: Vec::new(),
            now: 0,
            cut: None,
        };
        (0..PARTS).filter(|&k| Some(k) != absent).for_each(|k| desk.announce(k, true));
        desk
    }

    /// Neighbours hear that a part is there or not, and it hears of them.
    pub fn announce(&mut self, k: usize, up: bool) {
        for (p, name) in self.plans[k].peers.clone().iter().enumerate() {
            let other = self.plans.iter().position(|plan| plan.name == *name).unwrap();
            let back = self.plans[other].peers.iter().position(|n| *n == self.plans[k].name).unwrap();
            let of = |peer: usize| {
                if up { Event::LinkUp(PeerId(peer as u32)) } else { Event::LinkDown(PeerId(peer as u32)) }
            };
            self.handle(other, of(back));
            if self.parts[other].is_some() {
                self.handle(k, of(p));
            }
        }
    }

    /// The link between two neighbours goes down or comes up.
    pub fn link(&mut self, ends: (usize, usize), up: bool) {
        self.cut = if up { None } else { Some((ends.0.min(ends.1), ends.0.max(ends.1))) };
        for (k, other) in [ends, (ends.1, ends.0)] {
            let peer = self.plans[k].peers.iter().position(|name| *name == self.plans[other].name).unwrap();
            let peer = PeerId(peer as u32);
            self.handle(k, if up { Event::LinkUp(peer) } else { Event::LinkDown(peer) });
        }
    }

    pub fn handle(&mut self, k: usize, event: Event) {
        let mut effects = Vec::new();
        let Some(part) = &mut self.parts[k] else { return };
        part.handle(event, &mut effects);
        for effect in effects {
            match effect {
                Effect::Persist(bytes) => self.saved[k] = bytes,
                Effect::Send { to, bytes } => {
                    let name = &self.plans[k].peers[to.0 as usize];
                    let other = self.plans.iter().position(|plan| plan.name == *name).unwrap();
                    let back = self.plans[other].peers.iter().position(|n| *n == self.plans[k].name).unwrap();
                    if self.cut != Some((k.min(other), k.max(other))) {
                        self.frames.push_back((other, PeerId(back as u32), bytes));
                    }
                }
                Effect::Spend(record) => self.spent[k].push(record),
                Effect::Note(note) => self.notes.push((k, note)),
                Effect::Done(outcome) => self.outcomes[k] = Some(*outcome),
            }
        }
    }

    /// Until `until` says so, or for a long time.
    pub fn run(&mut self, until: impl Fn(&Desk) -> bool) {
        for _ in 0..400_000 {
            if until(self) {
                return;
            }
            self.now += 1;
            (0..PARTS).filter(|k| (self.now as usize + k).is_multiple_of(10)).collect::<Vec<_>>().into_iter().for_each(
                |k| {
                    self.handle(k, Event::Tick { now: self.now });
                },
            );
            for _ in 0..60 {
                let Some((to, from, bytes)) = self.frames.pop_front() else { break };
                self.handle(to, Event::Frame { from, bytes: &bytes });
            }
        }
        panic!("it does not end: {:?}", self.parts.iter().flatten().map(Part::status).collect::<Vec<_>>());
    }

    pub fn round(&self, k: usize) -> u64 {
        self.parts[k].as_ref().map_or(0, Part::round)
    }

    pub fn kill(&mut self, k: usize) {
        self.parts[k] = None;
        self.announce(k, false);
    }

    pub fn all_done(&self, but: Option<usize>) -> bool {
        (0..PARTS).all(|k| Some(k) == but || self.outcomes[k].is_some())
    }

    /// All who count ended at the same round, near the optimum.
    pub fn check(&self, optimum: &Matrix, but: Option<usize>) {
        let ended: Vec<&Outcome> =
            (0..PARTS).filter(|k| Some(*k) != but).map(|k| self.outcomes[k].as_ref().unwrap()).collect();
        assert!(
            ended.iter().all(|o| o.reason == Reason::Converged),
            "{:?}",
            ended.iter().map(|o| o.reason).collect::<Vec<_>>()
        );
        assert!(ended.iter().all(|o| o.round == ended[0].round));
        for k in (0..PARTS).filter(|k| Some(*k) != but) {
            let model = self.outcomes[k].as_ref().unwrap().models.row(0);
            let off: Vec<f64> = model.iter().zip(optimum.row(k)).map(|(a, b)| a - b).collect();
            assert!(norm2(&off) < 1e-5, "node {k} is {} away", norm2(&off));
        }
    }
}
