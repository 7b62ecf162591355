//! A coupling learnt by parts: the same bits as on one machine, whatever the parts are, and no row on the wire.

use std::collections::{BTreeSet, VecDeque};

use fedweave::Matrix;
use fedweave::loss::{Family, LossSpec};
use fedweave::solve::{Method, PrimalDualRounds};
use fedweave_node::simulator::Scene;
use fedweave_node::wire::{Frame, Header, Kind, encode};
use fedweave_node::{Effect, Event, MethodSpec, Network, Note, Part, PeerId, Plan, Reason, State, in_process};

fn network(k: u64) -> Network {
    Scene::coupling(k).unwrap().network
}

fn reference(network: &Network, part: &[usize]) -> Matrix {
    let (_, problem) = network.learn(part).unwrap();
    let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else { unreachable!() };
    let mut method = PrimalDualRounds::new(&problem, Some(step_ratio), relaxation).unwrap();
    (0..network.rounds_max).for_each(|_| method.round());
    method.models().clone()
}

#[test]
fn parts_learn_and_solve_with_the_bits_of_one_machine() {
    // As many parts as nodes have no edges inside: then only the common mean is left.
    for (k, counts) in [(0, &[1, 2, 4, 24][..]), (1, &[1, 4]), (2, &[4]), (3, &[3])] {
        let network = network(k);
        for &parts in counts {
            let part = network.cut(parts).part;
            let expected = reference(&network, &part);
            let plans = network.plans(&part, parts).unwrap();
            let mut parts: Vec<Part> = plans.into_iter().map(|plan| Part::new(plan).unwrap()).collect();
            let outcomes = in_process::run(&mut parts).expect("it ends");
            assert!(outcomes.iter().all(|o| o.reason == Reason::RoundLimit && o.round == network.rounds_max));
            for (part, outcome) in parts.iter().zip(&outcomes) {
                for (at, name) in part.plan().nodes.iter().enumerate() {
                    let i = network.names.binary_search(name).unwrap();
                    let same = outcome
                        .models
                        .row(at)
                        .iter()
                        .map(|x| x.to_bits())
                        .eq(expected.row(i).iter().map(|x| x.to_bits()));
                    assert!(same, "scene {k}, {} parts, node {name}", parts.len());
                }
            }
        }
    }
}

/// All frames of a run, by the part that sent them.
fn frames_of(plans: &[Plan]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Part> = plans.iter().map(|plan| Part::new(plan.clone()).unwrap()).collect();
    let (mut all, mut effects, mut queue) = (Vec::new(), Vec::new(), VecDeque::new());
    for now in 0..2_000 {
        for k in 0..parts.len() {
            parts[k].handle(Event::Tick { now: 20 * now }, &mut effects);
            queue.extend(effects.drain(..).map(|effect| (k, effect)));
        }
        while let Some((k, effect)) = queue.pop_front() {
            let Effect::Send { to, bytes } = effect else { continue };
            let other = plans.iter().position(|p| p.name == plans[k].peers[to.0 as usize]).unwrap();
            let back = plans[other].peers.iter().position(|n| *n == plans[k].name).unwrap();
            parts[other].handle(Event::Frame { from: PeerId(back as u32), bytes: &bytes }, &mut effects);
            queue.extend(effects.drain(..).map(|effect| (other, effect)));
            all.push(bytes);
        }
        if parts.iter().all(|part| part.status().settled) {
            return all;
        }
    }
    panic!("it does not end");
}

#[test]
fn no_number_of_a_row_is_in_a_frame() {
    let network = network(0);
    let plans = network.plans(&network.cut(4).part, 4).unwrap();
    let cells: BTreeSet<u64> = (0..network.data.len())
        .flat_map(|r| network.data.x(r).iter().chain([&network.data.y()[r]]))
        .filter(|x| **x != 1.0)
        .map(|x| x.to_bits())
        .collect();
    let frames = frames_of(&plans);
    let kinds: BTreeSet<u8> = frames.iter().map(|bytes| Frame::decode(bytes).unwrap().header.kind as u8).collect();
    assert!(kinds.contains(&(Kind::Sums as u8)) && kinds.contains(&(Kind::Rows as u8)), "{kinds:?}");
    let leaked =
        frames.iter().find(|bytes| Frame::decode(bytes).unwrap().numbers().any(|x| cells.contains(&x.to_bits())));
    assert!(leaked.is_none());
}

fn notes(effects: &[Effect]) -> Vec<&Note> {
    effects.iter().filter_map(|e| if let Effect::Note(note) = e { Some(note) } else { None }).collect()
}

/// Who was told another coupling is found out by its frames: they carry a digest of it.
#[test]
fn another_coupling_is_noticed_and_nonsense_is_refused() {
    let network = network(1);
    let part = network.cut(2).part;
    let plans = network.plans(&part, 2).unwrap();
    let (learnt, _) = network.learn(&part).unwrap();
    let header = |kind, received| Header {
        kind,
        chunk: 0,
        chunks: 1,
        federation: plans[0].federation,
        round: 0,
        received,
        residual: 0.0,
        flows: 0,
    };
    let coupling = |numbers: &[f64]| encode(&header(Kind::Coupling, 0), numbers);
    let started = |plan: &Plan| {
        let (mut part, mut effects) = (Part::new(plan.clone()).unwrap(), Vec::new());
        part.handle(Event::Tick { now: 0 }, &mut effects);
        (part, effects)
    };
    let (mut misled, _) = started(&plans[0]);
    let (mut honest, _) = started(&plans[1]);
    let mut effects = Vec::new();
    for nonsense in [
        coupling(&[0.0; 5]),
        coupling(&vec![-1.0; learnt.to_numbers().len()]),
        coupling(&vec![f64::NAN; learnt.to_numbers().len()]),
        encode(&header(Kind::Sums, 0), &[1e300, 0.0, 1.0]),
        encode(&header(Kind::Sums, 0), &[2.0, 9.0, 1.0, 1.0]),
        encode(&header(Kind::Total, 0), &[1.0]),
    ] {
        misled.handle(Event::Frame { from: PeerId(0), bytes: &nonsense }, &mut effects);
        let refused = matches!(notes(&effects)[..], [Note::PeerMisbehaved { .. }, ..]);
        assert!(refused || effects.is_empty(), "{effects:?}");
        assert_eq!(misled.status().state, State::Learning);
        effects.clear();
    }
    let mut numbers = learnt.to_numbers();
    honest.handle(Event::Frame { from: PeerId(0), bytes: &coupling(&numbers) }, &mut effects);
    numbers[2] = 0.5 * (1.0 + numbers[2]);
    let mut forged = Vec::new();
    misled.handle(Event::Frame { from: PeerId(0), bytes: &coupling(&numbers) }, &mut forged);
    assert_eq!((misled.status().state, honest.status().state), (State::Waiting, State::Waiting));
    effects.clear();
    for effect in forged {
        if let Effect::Send { bytes, .. } = effect {
            honest.handle(Event::Frame { from: PeerId(0), bytes: &bytes }, &mut effects);
        }
    }
    let told = notes(&effects).into_iter().any(|note| format!("{note:?}").contains("another coupling"));
    assert!(told, "{effects:?}");
}

#[test]
fn what_cannot_be_learnt_is_refused() {
    let network = network(1);
    let plan = network.plans(&network.cut(2).part, 2).unwrap().remove(0);
    let change = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        Part::new(plan).err().expect("it is refused").to_string()
    };
    assert!(change(&|plan| plan.method = MethodSpec::FedRelax).contains("primal-dual"));
    assert!(change(&|plan| plan.loss = LossSpec::Same(Family::Absolute)).contains("squared loss"));
    assert!(change(&|plan| plan.coupling.as_mut().unwrap().members.reverse()).contains("order"));
    assert!(change(&|plan| drop(plan.coupling.as_mut().unwrap().members.remove(0))).contains("not among"));
    assert!(Part::joining(plan, None).err().expect("it is refused").to_string().contains("from the start"));
}

/// A count that no `usize` can hold, where nothing is known yet of how long an answer is.
#[test]
fn an_answer_of_impossible_length_is_refused() {
    let network = network(1);
    let plans = network.plans(&network.cut(2).part, 2).unwrap();
    for len in [2f64.powi(64), 2f64.powi(63), f64::MAX, 8_000.0, 7_999.5, 0.0, -1.0] {
        for round in [0, 1] {
            let (mut part, mut effects) = (Part::new(plans[0].clone()).unwrap(), Vec::new());
            part.handle(Event::Tick { now: 0 }, &mut effects);
            effects.clear();
            let federation = plans[0].federation;
            let header = Header {
                kind: Kind::Sums,
                chunk: 0,
                chunks: 1,
                federation,
                round,
                received: 0,
                residual: 0.0,
                flows: 0,
            };
            for rest in [0, 1, 9] {
                let numbers: Vec<f64> = [len].into_iter().chain(vec![0.0; rest]).collect();
                part.handle(Event::Frame { from: PeerId(0), bytes: &encode(&header, &numbers) }, &mut effects);
            }
            assert_eq!(part.status().state, State::Learning);
        }
    }
}
