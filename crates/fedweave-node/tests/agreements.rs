//! What two neighbours agree about their edges: from which round on they count, and that both have the same flows.

mod desk;

use desk::{DEAD, Desk, PARTS, SLOW, network, optimum};
use fedweave_node::wire::{Frame, Header, Kind, encode};
use fedweave_node::{DeadPolicy, Effect, Event, Note, Part, PeerId, Plan};

const NEIGHBOUR: PeerId = PeerId(0);

fn frame(plan: &Plan, kind: Kind, round: u64, flows: u32) -> Header {
    let federation = plan.link_name(NEIGHBOUR);
    Header { kind, chunk: 0, chunks: 1, federation, round, received: round.saturating_sub(1), residual: 0.0, flows }
}

/// A part that has begun, and what it sent.
fn begun(plan: &Plan) -> (Part, Vec<Effect>) {
    let (mut part, mut effects) = (Part::new(plan.clone()).unwrap(), Vec::new());
    part.handle(Event::Tick { now: 0 }, &mut effects);
    (part, effects)
}

/// The frames that the neighbour gets in answer to one of its own.
fn answers(part: &mut Part, header: &Header, numbers: &[f64]) -> Vec<Header> {
    let mut effects = Vec::new();
    part.handle(Event::Frame { from: NEIGHBOUR, bytes: &encode(header, numbers) }, &mut effects);
    headers(&effects)
}

fn headers(effects: &[Effect]) -> Vec<Header> {
    let header = |effect: &Effect| match effect {
        Effect::Send { to, bytes } if *to == NEIGHBOUR => Frame::decode(bytes).ok().map(|frame| frame.header),
        _ => None,
    };
    effects.iter().filter_map(header).collect()
}

#[test]
fn an_old_word_takes_no_newer_agreement_back() {
    let plan = Desk::new(&network(DeadPolicy::Wait), None).plans[DEAD].clone();
    let (mut part, _) = begun(&plan);
    let mut ask = |round: u64| {
        let answers = answers(&mut part, &frame(&plan, Kind::Join, round, 0), &[]);
        answers.iter().map(|h| (h.kind, h.round, h.received)).collect::<Vec<_>>()
    };
    assert_eq!(ask(40)[0].0, Kind::Welcome);
    // A doubled or late one of before: the agreement that holds is named.
    assert_eq!(ask(24), [(Kind::State, 0, 40)]);
    assert_eq!(ask(0), [(Kind::State, 0, 40)]);
    // Whoever has forgotten the answer gets it again.
    assert_eq!(ask(40)[0].0, Kind::Welcome);
    assert_eq!(ask(48)[0].0, Kind::Welcome);
    assert_eq!(ask(40), [(Kind::State, 0, 48)]);
}

#[test]
fn flows_that_differ_between_the_ends_are_forgotten_in_that_round() {
    let network = network(DeadPolicy::Wait);
    let plan = Desk::new(&network, None).plans.into_iter().find(|plan| plan.peers.len() == 1);
    let plan = plan.unwrap_or_else(|| network.plans(&[0, 1, 1, 1, 1, 1, 1, 1], 2).unwrap().remove(0));
    assert_eq!(plan.peers.len(), 1);
    let (mut part, mut effects) = begun(&plan);
    let nodes = plan.edges.iter().map(|e| &e.neighbour).collect::<std::collections::BTreeSet<_>>().len();
    let mut sizes = Vec::new();
    for round in 1..=4 {
        let ours = headers(&effects).into_iter().find(|h| h.kind == Kind::Rows && h.round == round).unwrap();
        // The neighbour has the same flows, but for the third round.
        let theirs = if round == 3 { ours.flows ^ 1 } else { ours.flows };
        effects.clear();
        let bytes = encode(&frame(&plan, Kind::Rows, round, theirs), &vec![1.0; nodes * 3]);
        part.handle(Event::Frame { from: NEIGHBOUR, bytes: &bytes }, &mut effects);
        assert_eq!(part.round(), round);
        sizes.push(part.flows().as_slice().iter().map(|x| x.abs()).sum::<f64>());
    }
    assert!(sizes[0] > 0.0 && sizes[1] > 0.0 && sizes[2] == 0.0 && sizes[3] > 0.0, "{sizes:?}");
}

#[test]
fn neighbours_that_lost_each_other_count_each_other_again() {
    let mut network = network(DeadPolicy::Continue);
    network.method = SLOW;
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    let name = desk.plans[DEAD].peers[0].clone();
    let other = desk.plans.iter().position(|plan| plan.name == name).unwrap();
    desk.link((DEAD, other), false);
    let dropped =
        |d: &Desk, k: usize| d.notes.iter().any(|(n, note)| *n == k && matches!(note, Note::EdgesDropped { .. }));
    desk.run(|d| dropped(d, DEAD) && dropped(d, other));
    desk.link((DEAD, other), true);
    desk.run(|d| d.all_done(None));
    // Of the whole network, the edge included.
    desk.check(&optimum(&network, None), None);
    assert_eq!(desk.outcomes.len(), PARTS);
}

/// A neighbour that did not count at the end may have come back and wait.
#[test]
fn a_part_started_again_after_its_end_stays_until_its_neighbours_know() {
    let mut network = network(DeadPolicy::Wait);
    (network.rounds_max, network.tolerance) = (1, None);
    let plan = network.plans(&[0, 1, 1, 1, 1, 1, 1, 1], 2).unwrap().remove(0);
    let (mut part, _) = begun(&plan);
    let mut effects = Vec::new();
    let leaves = encode(&frame(&plan, Kind::Leave, 0, 0), &[]);
    part.handle(Event::Frame { from: NEIGHBOUR, bytes: &leaves }, &mut effects);
    let last =
        effects.iter().rev().find_map(|e| if let Effect::Persist(bytes) = e { Some(bytes.clone()) } else { None });
    assert!(part.status().settled);
    let mut again = Part::restore(plan, &last.unwrap()).unwrap();
    effects.clear();
    again.handle(Event::Tick { now: 0 }, &mut effects);
    assert!(!again.status().settled);
    again.handle(Event::LinkUp(NEIGHBOUR), &mut effects);
    again.handle(Event::Tick { now: 20 }, &mut effects);
    assert!(headers(&effects).iter().any(|h| h.kind == Kind::Finished && h.round == 1));
    assert!(again.status().settled);
}

/// Rows that came may be lost in a crash: who has only received the last ones may ask for them again.
#[test]
fn a_part_that_has_ended_stays_until_its_neighbours_need_nothing_more() {
    let mut network = network(DeadPolicy::Wait);
    (network.rounds_max, network.tolerance) = (1, None);
    let plan = network.plans(&[0, 1, 1, 1, 1, 1, 1, 1], 2).unwrap().remove(0);
    let nodes = plan.edges.iter().map(|e| &e.neighbour).collect::<std::collections::BTreeSet<_>>().len();
    let (mut part, effects) = begun(&plan);
    let ours = headers(&effects).into_iter().find(|h| h.kind == Kind::Rows).unwrap();
    let rows = Header { received: 1, ..frame(&plan, Kind::Rows, 1, ours.flows) };
    let said = answers(&mut part, &rows, &vec![1.0; nodes * 3]);
    assert!(said.iter().any(|h| h.kind == Kind::Finished) && !part.status().settled);
    answers(&mut part, &frame(&plan, Kind::Finished, 1, 0), &[]);
    assert!(part.status().settled);
}

/// A liar with less than half of the weight cannot take the start of a new part far.
#[test]
fn a_new_part_starts_from_the_median_of_what_its_neighbours_say() {
    let mut network = network(DeadPolicy::Wait);
    network.method = SLOW;
    let plan = Desk::new(&network, None).plans[DEAD].clone();
    let weight =
        |k: usize| plan.edges.iter().filter(|e| e.peer == Some(PeerId(k as u32))).map(|e| e.weight).sum::<f64>();
    let (liar, whole) = (0, (0..plan.peers.len()).map(weight).sum::<f64>());
    assert!(plan.peers.len() >= 3 && weight(liar) < whole / 2.0);
    let (mut part, mut effects) = (Part::joining(plan.clone(), None).unwrap(), Vec::new());
    let says = |k: usize, kind: Kind, round: u64, numbers: &[f64]| {
        let federation = plan.link_name(PeerId(k as u32));
        encode(&Header { federation, received: u64::MAX, ..frame(&plan, kind, round, 0) }, numbers)
    };
    (0..plan.peers.len()).for_each(|k| part.handle(Event::LinkUp(PeerId(k as u32)), &mut effects));
    part.handle(Event::Tick { now: 20 }, &mut effects);
    for k in 0..plan.peers.len() {
        let numbers = if k == liar { [1e9; 3] } else { [1.0; 3] };
        let bytes = says(k, Kind::State, 30, &numbers);
        part.handle(Event::Frame { from: PeerId(k as u32), bytes: &bytes }, &mut effects);
    }
    effects.clear();
    part.handle(Event::Tick { now: 400 }, &mut effects);
    let target = headers(&effects).into_iter().find(|h| h.kind == Kind::Join).unwrap().round;
    for k in 0..plan.peers.len() {
        let bytes = says(k, Kind::Welcome, target, &[]);
        part.handle(Event::Frame { from: PeerId(k as u32), bytes: &bytes }, &mut effects);
    }
    assert!(effects.iter().any(|e| matches!(e, Effect::Note(Note::Joined { .. }))));
    assert!(part.models().as_slice().iter().all(|x| x.abs() < 10.0), "{:?}", part.models());
}
