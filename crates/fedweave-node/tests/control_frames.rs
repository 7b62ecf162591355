//! Words of one neighbour, true or not: they must not move another part's round, end its run, or cost it an honest edge. And parts that
//! come back with an old state, or none, must be told so and take part again.

mod desk;

use desk::{DEAD, Desk, PARTS, SLOW, network, optimum};
use fedweave::matrix::norm2;
use fedweave_node::wire::{Header, Kind, encode};
use fedweave_node::{DeadPolicy, Event, Note, Part, PeerId, Plan, Reason};

const FAR: u64 = 90_000;

/// A word of a neighbour to a part.
fn word(victim: &Plan, liar: PeerId, kind: Kind, round: u64) -> Vec<u8> {
    let federation = victim.link_name(liar);
    let header = Header { kind, chunk: 0, chunks: 1, federation, round, received: round, residual: 0.0, flows: 0 };
    encode(&header, &[])
}

/// All neighbours but one stay honest; that one says `kind` about round `round` to all its neighbours, often.
fn lied_to(policy: DeadPolicy, kind: Kind, round: impl Fn(u64) -> u64) -> Desk {
    let network = network(policy);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    let liar = desk.plans[DEAD].name.clone();
    for _ in 0..10 {
        for k in (0..PARTS).filter(|k| *k != DEAD) {
            let plan = desk.plans[k].clone();
            let Some(place) = plan.peers.iter().position(|name| *name == liar) else { continue };
            let from = PeerId(place as u32);
            let bytes = word(&plan, from, kind, round(desk.round(k)));
            desk.handle(k, Event::Frame { from, bytes: &bytes });
        }
        let until = desk.now + 15;
        desk.run(|d| d.now >= until);
    }
    desk
}

/// The honest ones end well, with all edges between them: at the optimum with the liar's node or without it, or, if that only
/// keeps its last word, within its pull.
fn check_honest(mut desk: Desk, policy: DeadPolicy, what: &str) {
    desk.run(|d| d.all_done(Some(DEAD)));
    let liar = desk.plans[DEAD].name.clone();
    for (k, note) in desk.notes.iter().filter(|(k, _)| *k != DEAD) {
        match note {
            Note::EdgesDropped { peer, .. } | Note::NotCounted { peer, .. } | Note::PeerEnded { peer, .. } => {
                assert_eq!(*peer, liar, "{what}: part {k} gives up an honest neighbour");
            }
            _ => {}
        }
    }
    let network = network(policy);
    let goals = [optimum(&network, None), optimum(&network, Some(DEAD))];
    let far: f64 = (0..goals[0].rows())
        .map(|i| goals[0].row(i).iter().zip(goals[1].row(i)).map(|(a, b)| (a - b).powi(2)).sum::<f64>())
        .sum::<f64>()
        .sqrt();
    for k in (0..PARTS).filter(|k| *k != DEAD) {
        let outcome = desk.outcomes[k].as_ref().unwrap();
        assert_eq!(outcome.reason, Reason::Converged, "{what}: part {k}");
        let off = |goal: &fedweave::Matrix| {
            let off: Vec<f64> = outcome.models.row(0).iter().zip(goal.row(k)).map(|(a, b)| a - b).collect();
            norm2(&off)
        };
        let distance = off(&goals[0]).min(off(&goals[1]));
        assert!(distance < 1e-5 || distance < far, "{what}: part {k} is {distance} away");
    }
}

#[test]
fn a_round_far_ahead_said_by_one_neighbour_moves_nobody() {
    for policy in [DeadPolicy::Wait, DeadPolicy::Continue] {
        for kind in [Kind::State, Kind::Finished, Kind::Ack, Kind::Rows, Kind::Leave, Kind::Welcome, Kind::Join] {
            check_honest(lied_to(policy, kind, |_| FAR), policy, &format!("{kind:?} {policy:?}"));
        }
    }
}

#[test]
fn an_end_said_by_one_neighbour_ends_nobody() {
    for policy in [DeadPolicy::Wait, DeadPolicy::Continue] {
        for kind in [Kind::Finished, Kind::Leave, Kind::State, Kind::Join] {
            check_honest(lied_to(policy, kind, |round| round), policy, &format!("{kind:?} {policy:?}"));
        }
    }
}

/// A snapshot of long ago, or nothing at all: the neighbours say so, and the part joins again.
#[test]
fn a_part_with_an_old_state_or_none_takes_part_again() {
    for policy in [DeadPolicy::Wait, DeadPolicy::Continue] {
        for empty in [false, true] {
            let mut network = network(policy);
            network.method = SLOW;
            let mut desk = Desk::new(&network, None);
            desk.run(|d| d.round(DEAD) >= 10);
            let old = desk.saved[DEAD].clone();
            desk.run(|d| d.round(DEAD) >= 100);
            let plan = desk.plans[DEAD].clone();
            let part = if empty { Part::new(plan) } else { Part::restore(plan, &old) };
            desk.parts[DEAD] = Some(part.unwrap());
            desk.announce(DEAD, false);
            desk.announce(DEAD, true);
            desk.run(|d| d.all_done(None));
            desk.check(&optimum(&network, None), None);
            assert!(desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })));
            let called = |n: &Note| matches!(n, Note::PeerMisbehaved { .. });
            assert!(!desk.notes.iter().any(|(_, n)| called(n)), "an honest part is called names");
        }
    }
}

/// Two neighbours that come back with old states do not wait for each other.
#[test]
fn two_neighbours_with_old_states_both_take_part_again() {
    let mut network = network(DeadPolicy::Wait);
    network.method = SLOW;
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 10);
    let old = desk.saved.clone();
    let name = desk.plans[DEAD].name.clone();
    let other = (0..PARTS).find(|k| desk.plans[*k].peers.contains(&name)).unwrap();
    desk.run(|d| d.round(DEAD) >= 100);
    for k in [DEAD, other] {
        desk.parts[k] = Some(Part::restore(desk.plans[k].clone(), &old[k]).unwrap());
        desk.announce(k, false);
        desk.announce(k, true);
    }
    desk.run(|d| d.all_done(None));
    desk.check(&optimum(&network, None), None);
}

/// It is connected, and says nothing.
#[test]
fn a_connected_but_silent_part_is_given_up() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.parts[DEAD] = None;
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.check(&optimum(&network, Some(DEAD)), Some(DEAD));
}

#[test]
fn with_the_policy_wait_a_silent_part_is_named() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.parts[DEAD] = None;
    let until = desk.now + 2_000;
    desk.run(|d| d.now >= until);
    let name = &desk.plans[DEAD].name;
    let named = |(_, n): &&(usize, Note)| matches!(n, Note::PeerSilent { peer, .. } if peer == name);
    assert!(desk.notes.iter().any(|n| named(&n)));
    // Those who wait for others are not silent themselves.
    assert!(desk.notes.iter().all(|(_, n)| !matches!(n, Note::PeerSilent { peer, .. } if peer != name)));
}

/// A crash in the last round, while all others end and leave: they are resumed, and it gets what it lacks.
#[test]
fn a_crash_in_the_last_round_can_be_repaired() {
    let mut network = network(DeadPolicy::Wait);
    (network.tolerance, network.rounds_max) = (None, 60);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) == 59);
    let before = desk.saved[DEAD].clone();
    desk.run(|d| d.all_done(Some(DEAD)));
    (0..PARTS).for_each(|k| desk.kill(k));
    desk.frames.clear();
    desk.outcomes[DEAD] = None;
    for k in 0..PARTS {
        let saved = if k == DEAD { before.clone() } else { desk.saved[k].clone() };
        desk.parts[k] = Some(Part::restore(desk.plans[k].clone(), &saved).unwrap());
    }
    (0..PARTS).for_each(|k| desk.announce(k, true));
    // The processes of the others would end now if they believed that all is well.
    let waits = |d: &Desk| {
        let lacks = |k: &usize| d.plans[*k].peers.contains(&d.plans[DEAD].name);
        (0..PARTS).filter(|k| *k != DEAD).filter(lacks).all(|k| !d.parts[k].as_ref().unwrap().status().settled)
    };
    assert!(waits(&desk));
    desk.run(|d| d.outcomes[DEAD].is_some());
    assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().round, 60);
    desk.run(|d| d.parts.iter().flatten().all(|p| p.status().settled));
}

/// Weight 1 at one end and 5 at the other: nothing is computed, and the edge is named at both ends.
#[test]
fn edges_that_differ_between_their_ends_are_named() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    let edge = desk.plans[DEAD].edges.iter_mut().find(|e| e.peer.is_some()).unwrap();
    edge.weight *= 5.0;
    let (node, neighbour, peer) = (edge.node.clone(), edge.neighbour.clone(), edge.peer.unwrap());
    let other = desk.plans[DEAD].peers[peer.0 as usize].clone();
    desk.parts[DEAD] = Some(Part::new(desk.plans[DEAD].clone()).unwrap());
    desk.announce(DEAD, true);
    let until = desk.now + 2_000;
    desk.run(|d| d.now >= until);
    assert!((0..PARTS).all(|k| desk.outcomes[k].is_none()) && desk.round(DEAD) == 0);
    for (k, name) in [
        (DEAD, other),
        (
            (0..PARTS).find(|k| desk.plans[*k].name == desk.plans[DEAD].peers[peer.0 as usize]).unwrap(),
            desk.plans[DEAD].name.clone(),
        ),
    ] {
        let named = desk.notes.iter().any(|(at, n)| {
            matches!(n, Note::Disagreement { peer, what } if *at == k && *peer == name
                && what.contains(&node) && what.contains(&neighbour) && what.contains("weighs"))
        });
        assert!(named, "part {k}: {:?}", desk.notes);
    }
}

/// A setting that differs is named, too.
#[test]
fn settings_that_differ_are_named() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    let mut plan = desk.plans[DEAD].clone();
    plan.lambda = 0.4;
    plan.federation ^= 0x1234_0000_0000;
    desk.plans[DEAD] = plan.clone();
    desk.parts[DEAD] = Some(Part::new(plan).unwrap());
    desk.announce(DEAD, true);
    let until = desk.now + 2_000;
    desk.run(|d| d.now >= until);
    let named = |what: &str| what == "federation.lambda is 0.4 here and 0.3 there";
    assert!(desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Disagreement { what, .. } if named(what))));
}

#[test]
fn changed_rows_are_not_gone_on_with() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    let mut plan = desk.plans[DEAD].clone();
    plan.data = plan.data.map_features(|_, x| x + 1e-9);
    let error = Part::restore(plan, &desk.saved[DEAD]).err().unwrap().to_string();
    assert!(error.contains("the rows of data have changed"), "{error}");
}

/// A part that was away is not held back by one neighbour that pretends to be in step with it.
#[test]
fn a_part_that_returns_is_not_held_back_by_one_neighbour() {
    let mut network = network(DeadPolicy::Wait);
    network.method = SLOW;
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 10);
    let old = desk.saved[DEAD].clone();
    desk.run(|d| d.round(DEAD) >= 100);
    let plan = desk.plans[DEAD].clone();
    assert!(plan.peers.len() >= 3, "a majority of honest neighbours");
    desk.parts[DEAD] = Some(Part::restore(plan.clone(), &old).unwrap());
    desk.announce(DEAD, false);
    desk.announce(DEAD, true);
    let liar = PeerId(0);
    for _ in 0..3_000 {
        if desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })) {
            return;
        }
        let round = desk.round(DEAD) + 1;
        let header = Header {
            kind: Kind::Rows,
            chunk: 0,
            chunks: 1,
            federation: plan.link_name(liar),
            round,
            received: round,
            residual: 1.0,
            flows: 0,
        };
        desk.handle(DEAD, Event::Frame { from: liar, bytes: &encode(&header, &[0.1; 3]) });
        let until = desk.now + 1;
        desk.run(|d| d.now >= until);
    }
    panic!("it never joins");
}
