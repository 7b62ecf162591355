//! Parts that die, return, join and leave: the rest goes on to the optimum of the network that is left, and of the whole one
//! when it is whole again.

use std::collections::VecDeque;

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::norm2;
use fedweave::solve::{Settings, Watch, solve};
use fedweave::synthetic::{Network as Shape, Options, generate};
use fedweave::{Graph, Matrix};
use fedweave_node::{
    DeadPolicy, Effect, Event, MethodSpec, Network, Note, Outcome, Part, Patience, PeerId, PenaltyKind, Plan, Reason,
    State,
};

const PARTS: usize = 8;
const DEAD: usize = 3;
/// Slow enough that there is time to come back.
const SLOW: MethodSpec = MethodSpec::PrimalDual { step_ratio: 0.02, relaxation: 1.0 };

fn network(policy: DeadPolicy) -> Network {
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
fn optimum(network: &Network, without: Option<usize>) -> Matrix {
    let g = &network.graph;
    let ends = |e: usize| (g.nodes_of(e).0, g.nodes_of(e).1, g.weight(e));
    let edges: Vec<_> =
        (0..g.edges()).map(ends).filter(|&(i, j, _)| Some(i) != without && Some(j) != without).collect();
    let left = Network { graph: Graph::new(PARTS, &edges).unwrap(), ..network.clone() };
    let settings = Settings { tolerance: 1e-13, ..Default::default() };
    solve(&left.problem().unwrap(), &settings, None, &mut |_| Watch::Continue).w
}

/// Parts on one desk, a few frames per millisecond.
struct Desk {
    plans: Vec<Plan>,
    parts: Vec<Option<Part>>,
    frames: VecDeque<(usize, PeerId, Vec<u8>)>,
    saved: Vec<Vec<u8>>,
    spent: Vec<Vec<Vec<u8>>>,
    outcomes: Vec<Option<Outcome>>,
    notes: Vec<(usize, Note)>,
    now: u64,
}

impl Desk {
    fn new(network: &Network, absent: Option<usize>) -> Self {
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
        };
        (0..PARTS).filter(|&k| Some(k) != absent).for_each(|k| desk.announce(k, true));
        desk
    }

    /// Neighbours hear that a part is there or not, and it hears of them.
    fn announce(&mut self, k: usize, up: bool) {
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

    fn handle(&mut self, k: usize, event: Event) {
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
                    self.frames.push_back((other, PeerId(back as u32), bytes));
                }
                Effect::Spend(record) => self.spent[k].push(record),
                Effect::Note(note) => self.notes.push((k, note)),
                Effect::Done(outcome) => self.outcomes[k] = Some(*outcome),
            }
        }
    }

    /// Until `until` says so, or for a long time.
    fn run(&mut self, until: impl Fn(&Desk) -> bool) {
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

    fn round(&self, k: usize) -> u64 {
        self.parts[k].as_ref().map_or(0, Part::round)
    }

    fn kill(&mut self, k: usize) {
        self.parts[k] = None;
        self.announce(k, false);
    }

    fn all_done(&self, but: Option<usize>) -> bool {
        (0..PARTS).all(|k| Some(k) == but || self.outcomes[k].is_some())
    }

    /// All who count ended at the same round, near the optimum.
    fn check(&self, optimum: &Matrix, but: Option<usize>) {
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

#[test]
fn the_rest_goes_on_without_a_dead_part() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.check(&optimum(&network, Some(DEAD)), Some(DEAD));
    let name = &desk.plans[DEAD].name;
    assert!(desk.notes.iter().any(|(_, n)| matches!(n, Note::PeerDead { peer, .. } if peer == name)), "told by name");
}

#[test]
fn a_part_that_returns_takes_part_again() {
    let mut network = network(DeadPolicy::Continue);
    network.method = SLOW;
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    let neighbour = (0..PARTS).find(|k| desk.plans[*k].peers.contains(&desk.plans[DEAD].name)).unwrap();
    let left = desk.round(neighbour);
    desk.run(|d| d.round(neighbour) >= left + 30);
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    desk.check(&optimum(&network, None), None);
    assert!(desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })));
}

#[test]
fn a_new_part_starts_from_its_neighbours() {
    let mut network = network(DeadPolicy::Continue);
    network.method = SLOW;
    let mut desk = Desk::new(&network, Some(DEAD));
    let other = (0..PARTS).find(|k| *k != DEAD).unwrap();
    desk.run(|d| d.round(other) >= 40);
    desk.parts[DEAD] = Some(Part::joining(desk.plans[DEAD].clone(), None).unwrap());
    assert_eq!(desk.parts[DEAD].as_ref().unwrap().status().state, State::Joining);
    desk.announce(DEAD, true);
    desk.run(|d| d.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })));
    // Nearer to its optimum than zero is.
    let goal = optimum(&network, None);
    let model = desk.parts[DEAD].as_ref().unwrap().models();
    let off: Vec<f64> = model.row(0).iter().zip(goal.row(DEAD)).map(|(a, b)| a - b).collect();
    assert!(norm2(&off) < norm2(goal.row(DEAD)), "{off:?}");
    desk.run(|d| d.all_done(None));
    desk.check(&goal, None);
}

/// A part that was given up and joins again goes on at other models: what it releases there is paid for, and when nothing is left it stops.
#[test]
fn a_part_that_joins_again_pays_for_what_it_releases() {
    use fedweave::trust::privacy::rounds::GradientNoise;
    use fedweave_node::noise::NoisePlan;
    for (seed, spare) in [(1u8, 40), (2, 40), (3, 0)] {
        let mut network = network(DeadPolicy::Continue);
        network.penalty = PenaltyKind::Squared;
        network.method = MethodSpec::FedGd { step: 0.05 };
        (network.rounds_max, network.tolerance) = (600, None);
        let mut desk = Desk::new(&network, Some(DEAD));
        let settings = GradientNoise { row_norm: 10.0, clip: 0.5, multiplier: 1.0, rate: 1.0 };
        let budget = network.rounds_max / 2 + spare;
        for k in 0..PARTS {
            let releases = if k == DEAD { budget } else { network.rounds_max };
            desk.plans[k].method = MethodSpec::NoisyFedGd { step: 0.05 };
            desk.plans[k].noise = Some(NoisePlan::new(settings, [seed; 32], releases));
            desk.parts[k] = Some(Part::new(desk.plans[k].clone()).unwrap());
        }
        (0..PARTS).for_each(|k| desk.announce(k, true));
        desk.run(|d| d.round(DEAD) >= 20 + u64::from(seed));
        desk.kill(DEAD);
        let other = (0..PARTS).find(|k| *k != DEAD).unwrap();
        let before = desk.spent[DEAD].len();
        desk.run(|d| d.round(other) >= 100);
        let mut plan = desk.plans[DEAD].clone();
        // Without its ledger it does not start.
        assert!(Part::restore(plan.clone(), &desk.saved[DEAD]).is_err());
        assert!(plan.noise.as_mut().unwrap().recall(&desk.spent[DEAD].concat()));
        desk.parts[DEAD] = Some(Part::restore(plan, &desk.saved[DEAD]).unwrap());
        desk.announce(DEAD, true);
        desk.run(|d| d.all_done(None));
        let spent = &desk.spent[DEAD];
        assert!(before >= 20 && spent.len() as u64 <= budget, "{before} {}", spent.len());
        let marks: std::collections::BTreeSet<_> = spent.iter().map(|record| record[8..24].to_vec()).collect();
        assert_eq!(marks.len(), spent.len(), "the same gradients were paid for twice");
        let rejoined = desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. }));
        assert!(rejoined, "it did not join again");
        assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::Spent);
    }
}

#[test]
fn a_part_that_leaves_is_missed_by_nobody() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.handle(DEAD, Event::Leave);
    desk.run(|d| d.outcomes[DEAD].is_some() && d.parts[DEAD].as_ref().unwrap().status().settled);
    assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::Left);
    desk.parts[DEAD] = None;
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.check(&optimum(&network, Some(DEAD)), Some(DEAD));
}

/// Who comes when all others have finished is told so.
#[test]
fn a_part_that_returns_too_late_ends_as_well() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::PeerFinished);
}

#[test]
fn with_the_policy_stop_a_death_ends_the_run_of_its_neighbours() {
    let network = network(DeadPolicy::Stop);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    let reasons: Vec<Reason> = desk.outcomes.iter().flatten().map(|o| o.reason).collect();
    assert!(reasons.contains(&Reason::PeerLost), "{reasons:?}");
    assert!(reasons.iter().all(|r| matches!(r, Reason::PeerLost | Reason::PeerFinished)), "{reasons:?}");
}

#[test]
fn with_the_policy_wait_nobody_runs_ahead() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    let until = desk.now + 5_000;
    desk.run(|d| d.now >= until);
    assert!((0..PARTS).filter(|k| *k != DEAD).all(|k| desk.round(k) <= 20 + PARTS as u64));
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    desk.check(&optimum(&network, None), None);
}
