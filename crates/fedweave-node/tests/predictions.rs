//! FedRelax on predictions in parts: the models of one machine, no row in a checkpoint, other public rows refused by name.

use std::sync::Arc;

use fedweave::Matrix;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::model::Task;
use fedweave::model::relax::{PublicRows, PublicSource, Relax, RelaxOptions, sample_public, seed_of};
use fedweave::synthetic::{Options, generate};
use fedweave_node::wire::{FRAME_BYTES_MAX, Frame, Kind, encode};
use fedweave_node::{
    Effect, Event, MethodSpec, Models, Network, Note, Part, Patience, PeerId, PenaltyKind, PublicSets, in_process,
};

const KINDS: [&str; 8] = [
    "tree max-depth=4",
    "nearest neighbours=3",
    "forest trees=4",
    "boosting trees=5",
    "linear",
    "ridge alpha=0.2",
    "kernel-ridge",
    "mlp hidden=4 epochs=4",
];

fn network(seed: u64, rows: usize, kinds: &[&str]) -> Network {
    let nodes = 9;
    let options = Options { nodes, clusters: 2, dim: 3, rows: 6, without_rows: 0.2, seed, ..Default::default() };
    let made = generate(&options).unwrap();
    let sets = sample_public(&made.data, PublicSource::Normal, rows, seed).unwrap();
    let names: Vec<String> = (0..nodes).map(|i| format!("n{i}")).collect();
    let models = Models {
        task: Task::Regression,
        specs: (0..nodes).map(|i| kinds[i % kinds.len()].parse().unwrap()).collect(),
        seeds: (0..nodes).map(|i| seed_of(seed, i)).collect(),
        public: Arc::new(PublicSets::PerNode(names.iter().cloned().zip(sets).collect())),
    };
    Network {
        names,
        graph: made.graph,
        data: made.data,
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions::default(),
        penalty: PenaltyKind::Squared,
        lambda: 0.4,
        method: MethodSpec::FedRelaxPredictions { both: false, plain: false },
        rounds_max: 6,
        tolerance: None,
        patience: Patience::default(),
        models: Some(models),
        hub: None,
    }
}

/// The models of one machine after all rounds, as JSON.
fn one_machine(network: &Network) -> Vec<String> {
    let models = network.models.as_ref().unwrap();
    let public = network.names.iter().map(|n| models.public.of(n).unwrap().clone()).collect();
    let local = models.specs.iter().zip(&models.seeds).map(|(m, s)| m.build(models.task, *s).unwrap()).collect();
    let options = RelaxOptions { lambda: network.lambda, ..Default::default() };
    let mut relax = Relax::with_models(&network.graph, &network.data, models.task, local, public, options).unwrap();
    (0..network.rounds_max).for_each(|_| relax.round().unwrap());
    (0..network.names.len()).map(|i| serde_json::to_string(&relax.model(i).fitted()).unwrap()).collect()
}

fn parts(network: &Network, count: usize) -> Vec<Part> {
    let part_of: Vec<usize> = (0..network.names.len()).map(|i| i % count).collect();
    network.plans(&part_of, count).unwrap().into_iter().map(|plan| Part::new(plan).unwrap()).collect()
}

fn fitted(network: &Network, parts: &[Part]) -> Vec<String> {
    let mut all = vec![String::new(); network.names.len()];
    for part in parts {
        for (name, model) in part.plan().nodes.iter().zip(part.fitted()) {
            all[network.names.binary_search(name).unwrap()] = serde_json::to_string(&model).unwrap();
        }
    }
    all
}

#[test]
fn models_are_those_of_one_machine_however_the_network_is_cut() {
    for seed in 0..4 {
        let network = network(seed, 5, &KINDS);
        let expected = one_machine(&network);
        for count in [1, 3, 9] {
            let mut parts = parts(&network, count);
            in_process::run(&mut parts).expect("it ends");
            assert_eq!(fitted(&network, &parts), expected, "seed {seed}, {count} parts");
        }
    }
}

/// Frames of so many predictions are cut, and none is longer than allowed.
#[test]
fn many_public_rows_travel_in_several_frames() {
    let mut network = network(1, 8_100, &["ridge"]);
    network.rounds_max = 2;
    let mut all = parts(&network, 9);
    in_process::run(&mut all).expect("it ends");
    assert_eq!(fitted(&network, &all), one_machine(&network));
    let mut effects = Vec::new();
    parts(&network, 9)[0].handle(Event::Tick { now: 0 }, &mut effects);
    let frames: Vec<usize> = effects
        .iter()
        .filter_map(|e| if let Effect::Send { bytes, .. } = e { Some(bytes.len()) } else { None })
        .collect();
    assert!(frames.len() >= 2 && frames.iter().all(|len| *len <= FRAME_BYTES_MAX), "{frames:?}");
}

/// Delivers frames in order; restores parts from their checkpoints again and again.
#[test]
fn a_part_restored_at_any_moment_goes_on_with_the_same_models_and_its_checkpoint_holds_no_row() {
    let mut network = network(2, 5, &["nearest neighbours=3", "kernel-ridge", "forest trees=3 min-samples-leaf=3"]);
    network.rounds_max = 40;
    let expected = one_machine(&network);
    let mut all = parts(&network, 3);
    let mut saved: Vec<Vec<u8>> = vec![Vec::new(); 3];
    let mut frames: std::collections::VecDeque<(usize, PeerId, Vec<u8>)> = Default::default();
    let (mut restored, mut scanned, mut events) = (0, 0, 0usize);
    for now in 0..4_000u64 {
        let mut effects: Vec<(usize, Effect)> = Vec::new();
        let mut out = Vec::new();
        match frames.pop_front() {
            Some((to, from, bytes)) => {
                all[to].handle(Event::Frame { from, bytes: &bytes }, &mut out);
                effects.extend(out.drain(..).map(|e| (to, e)));
                events += 1;
                // One time in eight, by no pattern that rounds could fall into step with.
                if events.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0 {
                    // It crashes before anything is done, and comes back.
                    all[to] = Part::restore(all[to].plan().clone(), &saved[to]).unwrap();
                    effects.clear();
                    restored += 1;
                }
            }
            None => (0..3).for_each(|k| {
                all[k].handle(Event::Tick { now: 50 * now }, &mut out);
                effects.extend(out.drain(..).map(|e| (k, e)));
            }),
        }
        for (k, effect) in effects {
            match effect {
                Effect::Persist(bytes) => {
                    scanned += bytes.len();
                    assert!(!holds_a_cell(&bytes, &network), "a row is in the checkpoint of part {k}");
                    saved[k] = bytes;
                }
                Effect::Send { to, bytes } => {
                    let name = all[k].plan().peers[to.0 as usize].clone();
                    let other = all.iter().position(|p| p.plan().name == name).unwrap();
                    let back = all[other].plan().peers.iter().position(|n| *n == all[k].plan().name).unwrap();
                    frames.push_back((other, PeerId(back as u32), bytes));
                }
                _ => (),
            }
        }
        if all.iter().all(|p| p.round() == network.rounds_max) {
            break;
        }
    }
    assert!(all.iter().all(|p| p.round() == network.rounds_max), "it does not end");
    assert_eq!(fitted(&network, &all), expected);
    assert!(restored > 10 && scanned > 10_000, "{restored} {scanned}");
    // The search finds a row where there is one.
    let row: Vec<u8> = network.data.y()[..1].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(holds_a_cell(&row, &network));
}

fn holds_a_cell(bytes: &[u8], network: &Network) -> bool {
    let data = &network.data;
    let cells = (0..data.nodes()).flat_map(|i| data.features(i)).chain(data.y());
    cells.into_iter().any(|v| bytes.windows(8).any(|w| w == v.to_le_bytes()))
}

#[test]
fn other_public_rows_are_refused_by_name() {
    let network = network(3, 5, &["ridge"]);
    let mut other = network.clone();
    let models = other.models.as_mut().unwrap();
    let PublicSets::PerNode(mut sets) = (*models.public).clone() else { unreachable!() };
    let mut x = sets["n0"].x().as_slice().to_vec();
    x[0] += 1e-9;
    sets.insert("n0".into(), PublicRows::new(Matrix::from_rows(3, x)).unwrap());
    models.public = Arc::new(PublicSets::PerNode(sets));
    let (mut ours, mut theirs) = (parts(&network, 2), parts(&other, 2));
    let mut effects = Vec::new();
    theirs[1].handle(Event::Tick { now: 0 }, &mut effects);
    let frames: Vec<Vec<u8>> =
        effects.drain(..).filter_map(|e| if let Effect::Send { bytes, .. } = e { Some(bytes) } else { None }).collect();
    ours[0].handle(Event::Tick { now: 0 }, &mut effects);
    ours[0].handle(Event::Frame { from: PeerId(0), bytes: &frames[0] }, &mut effects);
    let told = |e: &Effect| matches!(e, Effect::Note(Note::PeerMisbehaved { peer, what }) if peer == "part-0001" && what.contains("public rows"));
    assert!(effects.iter().any(told), "{effects:?}");
    assert_eq!(ours[0].round(), 0);
}

/// Predictions of classes that are no probabilities, and numbers at the end of the range: no panic, and an end.
#[test]
fn lies_about_predictions_do_no_harm() {
    for (task, lie) in [
        (Task::Regression, 1e308),
        (Task::Regression, -1.0),
        (Task::Classification { classes: 2 }, -4.0),
        (Task::Classification { classes: 2 }, 1e308),
    ] {
        let mut network = network(4, 5, &["ridge", "tree", "nearest", "mlp epochs=2 hidden=2"]);
        let models = network.models.as_mut().unwrap();
        models.task = task;
        if task != Task::Regression {
            let d = &network.data;
            let offsets = std::iter::once(0).chain((0..d.nodes()).map(|i| d.rows(i).end)).collect();
            let x: Vec<f64> = (0..d.nodes()).flat_map(|i| d.features(i)).copied().collect();
            let (y, weight) = (d.y().iter().map(|y| f64::from(u8::from(*y > 0.0))).collect(), vec![1.0; d.len()]);
            network.data = fedweave::Dataset::new(offsets, Matrix::from_rows(3, x), y, weight).unwrap();
        }
        let mut all = parts(&network, 2);
        let mut effects = Vec::new();
        all[1].handle(Event::Tick { now: 0 }, &mut effects);
        let sent =
            effects.iter().find_map(|e| if let Effect::Send { bytes, .. } = e { Some(bytes.clone()) } else { None });
        let frame = sent.unwrap();
        let frame = Frame::decode(&frame).unwrap();
        let mut header = frame.header;
        effects.clear();
        all[0].handle(Event::Tick { now: 0 }, &mut effects);
        for round in 1..=network.rounds_max {
            assert_eq!(header.kind, Kind::Rows);
            header.round = round;
            let lies = encode(&header, &vec![lie; frame.len()]);
            all[0].handle(Event::Frame { from: PeerId(0), bytes: &lies }, &mut effects);
        }
        let done = effects.iter().any(|e| matches!(e, Effect::Done(_)));
        assert!(done, "{task:?}, {lie}: it ends");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let good = network(5, 4, &["ridge"]);
    let error = |change: fn(&mut Network)| {
        let mut bad = good.clone();
        change(&mut bad);
        let plan = bad.plans(&[0; 9], 1).map(|mut plans| plans.remove(0));
        plan.and_then(Part::new).err().expect("it is refused").to_string()
    };
    let models = |n: &mut Network, text: &str| n.models.as_mut().unwrap().specs[2] = text.parse().unwrap();
    assert!(error(|n| n.models = None).contains("public rows"));
    assert!(
        error(|n| n.method = MethodSpec::FedRelaxPredictions { both: true, plain: false }).contains("the same for all")
    );
    assert!(error(|n| n.models.as_mut().unwrap().specs.truncate(3)).contains("models"));
    assert!(
        error(|n| n.models.as_mut().unwrap().public = Arc::new(PublicSets::PerNode([].into()))).contains("public rows")
    );
    let mut warm = good.clone();
    models(&mut warm, "mlp warm-start=true");
    let refused = Part::new(warm.plans(&[0; 9], 1).unwrap().remove(0)).err().unwrap().to_string();
    assert!(refused.contains("warm-start"), "{refused}");
    let mut logistic = good.clone();
    models(&mut logistic, "logistic");
    let refused = Part::new(logistic.plans(&[0; 9], 1).unwrap().remove(0)).err().unwrap().to_string();
    assert!(refused.contains("n2") && refused.contains("logistic"), "{refused}");
}
