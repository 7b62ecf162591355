//! Hostile bytes: the frame decoder, the checkpoint reader and the event loop of a part must refuse or bear anything, without
//! panics, hangs or growing memory. A seeded mutational fuzzer of our own: inputs that behave in a new way join the corpus.
//!
//! As ordinary tests each target runs a fixed number of inputs. `FEDWEAVE_FUZZ_SECONDS=60` runs for that long instead, from a
//! seed of the clock; `FEDWEAVE_FUZZ_KEEP=1` writes what is new to `fuzz/corpus`. `scripts/fuzz` does both.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fedweave_node::checkpoint::{open, seal};
use fedweave_node::simulator::Scene;
use fedweave_node::wire::{FRAME_BYTES_MAX, Frame, encode};
use fedweave_node::{Effect, Event, Part, PeerId, Plan};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const INPUTS: usize = 3_000;
const CORPUS_MAX: usize = 48;

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Feeds mutated inputs to a target, which returns a number that tells kinds of behaviour apart.
fn fuzz(target: &str, seeds: Vec<Vec<u8>>, run: impl Fn(&[u8]) -> u64) {
    let seconds = std::env::var("FEDWEAVE_FUZZ_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    let mut random = ChaCha8Rng::seed_from_u64(if seconds.is_some() { clock } else { 7 });
    let mut corpus = seeds;
    if let Ok(files) = std::fs::read_dir(folder(target)) {
        let mut paths: Vec<_> = files.flatten().map(|f| f.path()).collect();
        paths.sort();
        corpus.extend(paths.iter().filter_map(|p| std::fs::read(p).ok()));
    }
    let mut seen: BTreeSet<u64> = corpus.iter().map(|input| run(input)).collect();
    let (started, mut count) = (Instant::now(), 0);
    loop {
        let over = match seconds {
            Some(seconds) => started.elapsed() > Duration::from_secs(seconds),
            None => count >= INPUTS,
        };
        if over {
            break;
        }
        count += 1;
        let mut input = corpus[random.random_range(0..corpus.len())].clone();
        let other = &corpus[random.random_range(0..corpus.len())];
        mutate(&mut input, other, &mut random);
        let begun = Instant::now();
        let kind = run(&input);
        assert!(begun.elapsed() < Duration::from_secs(20), "an input of {} bytes takes too long", input.len());
        if seen.insert(kind) && corpus.len() < CORPUS_MAX {
            keep(target, kind, &input);
            corpus.push(input);
        }
    }
    println!("{target}: {count} inputs, {} kinds of behaviour", seen.len());
    assert!(seen.len() > 1, "everything looks the same to {target}");
}

fn keep(target: &str, kind: u64, input: &[u8]) {
    if std::env::var_os("FEDWEAVE_FUZZ_KEEP").is_some() {
        let folder = folder(target);
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(format!("{kind:016x}")), input))
            .unwrap();
    }
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    const EXTREMES: [u64; 7] = [0, 1, u64::MAX, u64::MAX / 4, 0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0000, 1 << 63];
    for _ in 0..random.random_range(1..6) {
        let len = input.len();
        let at = random.random_range(0..=len);
        match random.random_range(0..8) {
            0 if at < len => input[at] ^= 1 << random.random_range(0..8),
            1 if at < len => input[at] = random.random(),
            2 => input.truncate(at),
            3 => input.insert(at, random.random()),
            4 if at + 8 <= len => {
                let word = EXTREMES[random.random_range(0..EXTREMES.len())];
                input[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            5 if at + 8 <= len && at.is_multiple_of(8) => random.fill_bytes(&mut input[at..at + 8]),
            6 if !other.is_empty() => {
                let from = random.random_range(0..other.len());
                let take = random.random_range(0..=(other.len() - from).min(200));
                input.truncate(at);
                input.extend_from_slice(&other[from..from + take]);
            }
            _ if at < len => drop(input.remove(at)),
            _ => (),
        }
    }
    input.truncate(100_000);
}

/// Three parts of a small network.
fn plans() -> Vec<Plan> {
    Scene::new(5, 6, 3, 30, None).unwrap().plans
}

/// Twenty parts with models of any class, which predict classes.
fn plans_on_predictions() -> Vec<Plan> {
    Scene::predictions(2).unwrap().plans
}

/// Six parts that learn the coupling before their rounds.
fn plans_with_coupling() -> Vec<Plan> {
    Scene::coupling(1).unwrap().plans
}

/// What a whole run really makes: frames by who gets them and from whom, and checkpoints by part.
struct Genuine {
    frames: Vec<Vec<(PeerId, Vec<u8>)>>,
    checkpoints: Vec<Vec<Vec<u8>>>,
}

fn genuine(plans: &[Plan]) -> Genuine {
    let mut parts: Vec<Part> = plans.iter().map(|plan| Part::new(plan.clone()).unwrap()).collect();
    let mut made = Genuine { frames: vec![Vec::new(); parts.len()], checkpoints: vec![Vec::new(); parts.len()] };
    let (mut effects, mut next) = (Vec::new(), vec![0; parts.len()]);
    // Learning takes longer than a few rounds.
    let ticks = if plans[0].coupling.is_some() { 1_500 } else { 60 };
    for now in 0..ticks {
        for k in 0..parts.len() {
            parts[k].handle(Event::Tick { now: now * 30 }, &mut effects);
            while let Some((from, bytes)) = made.frames[k].get(next[k]) {
                next[k] += 1;
                parts[k].handle(Event::Frame { from: *from, bytes }, &mut effects);
            }
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { to, bytes } => {
                        let other = plans.iter().position(|p| p.name == plans[k].peers[to.0 as usize]).unwrap();
                        let back = plans[other].peers.iter().position(|n| *n == plans[k].name).unwrap();
                        made.frames[other].push((PeerId(back as u32), bytes));
                    }
                    Effect::Persist(bytes) => made.checkpoints[k].push(bytes),
                    _ => (),
                }
            }
        }
    }
    made
}

#[test]
fn frames() {
    let mut frames = genuine(&plans()).frames.concat();
    let learning = genuine(&plans_with_coupling()).frames.concat();
    frames.extend(learning.into_iter().step_by(97));
    let seeds = frames.into_iter().map(|(_, bytes)| bytes).collect();
    fuzz("frame", seeds, |bytes| {
        // The checksum is right as often as not, or nothing would be seen of what lies behind it.
        let mut fixed = bytes.to_vec();
        if bytes.len() % 2 == 0 && bytes.len() >= 4 {
            fixed = mended(bytes);
        }
        match Frame::decode(&fixed) {
            Ok(frame) => {
                let numbers: Vec<f64> = frame.numbers().collect();
                assert_eq!(encode(&frame.header, &numbers), fixed, "what is read is what was written");
                100 + frame.header.kind as u64
            }
            Err(fault) => format!("{fault}").len() as u64,
        }
    });
}

/// What is sent is a frame, and its numbers are finite, whatever came before. Returns how many were sent.
fn check_frames(effects: &[Effect]) -> usize {
    let sent = effects.iter().filter_map(|e| if let Effect::Send { bytes, .. } = e { Some(bytes) } else { None });
    sent.inspect(|bytes| {
        let frame = Frame::decode(bytes).expect("a frame");
        assert!(bytes.len() <= FRAME_BYTES_MAX && frame.numbers().all(f64::is_finite));
    })
    .count()
}

/// The same bytes with a checksum that fits.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut body = bytes[..bytes.len().saturating_sub(4)].to_vec();
    let checksum = crc32fast::hash(&body);
    body.extend(checksum.to_le_bytes());
    body
}

#[test]
fn checkpoints() {
    fuzz_checkpoints("checkpoint", &plans());
}

/// Models of any class are fitted to whatever a checkpoint says was heard.
#[test]
fn checkpoints_of_predictions() {
    fuzz_checkpoints("checkpoint-predictions", &plans_on_predictions());
}

/// A checkpoint begins with rounds and ends with a coupling.
#[test]
fn checkpoints_of_couplings() {
    fuzz_checkpoints("checkpoint-coupling", &plans_with_coupling());
}

fn fuzz_checkpoints(target: &str, plans: &[Plan]) {
    let plan = plans[0].clone();
    let seeds = genuine(plans).checkpoints.remove(0);
    fuzz(target, seeds, |bytes| {
        if let Some((_, content)) = open(bytes) {
            assert_eq!(seal(1, content).len(), bytes.len());
        }
        match Part::restore(plan.clone(), bytes) {
            Err(error) => error.to_string().len() as u64,
            Ok(mut part) => {
                let mut effects = Vec::new();
                for now in [0, 100, u64::MAX] {
                    part.handle(Event::Tick { now }, &mut effects);
                }
                assert!(effects.len() < 1_000, "{} effects", effects.len());
                check_frames(&effects);
                200 + part.status().state as u64
            }
        }
    });
}

#[test]
fn events() {
    fuzz_events("events", &plans());
}

#[test]
fn events_of_predictions() {
    fuzz_events("events-predictions", &plans_on_predictions());
}

/// Sums, totals and couplings that are none.
#[test]
fn events_of_couplings() {
    fuzz_events("events-coupling", &plans_with_coupling());
}

fn fuzz_events(target: &str, plans: &[Plan]) {
    let plan = plans[1].clone();
    let frames = genuine(plans).frames.remove(1);
    // An input is a list of events: what kind, then how much later, or which genuine frame and what to write over where.
    let whole: Vec<u8> =
        [0, 1].into_iter().chain((0..frames.len().min(250) as u8).flat_map(|k| [5, k, 0, 0])).collect();
    let seeds = vec![vec![0; 64], (0..=255).collect(), whole, (0..200u32).map(|k| (k * 37 % 251) as u8).collect()];
    fuzz(target, seeds, |input| {
        let mut part = Part::new(plan.clone()).unwrap();
        let (mut effects, mut now, mut at) = (Vec::new(), 0u64, 0);
        let mut byte = || {
            at += 1;
            input.get(at - 1).copied()
        };
        let mut sent = 0;
        while let Some(kind) = byte() {
            let peer = PeerId(u32::from(kind >> 5) % (plan.peers.len() as u32 + 1));
            match kind % 8 {
                0 | 1 => {
                    now += 10 * u64::from(byte().unwrap_or(1));
                    part.handle(Event::Tick { now }, &mut effects);
                }
                2 => part.handle(Event::LinkUp(peer), &mut effects),
                3 => part.handle(Event::LinkDown(peer), &mut effects),
                4 if byte() == Some(99) => part.handle(Event::Leave, &mut effects),
                _ => {
                    let (from, mut frame) = frames[usize::from(byte().unwrap_or(0)) % frames.len()].clone();
                    if let (Some(place), Some(value)) = (byte(), byte())
                        && value != 0
                        && let Some(b) = frame.get_mut(usize::from(place))
                    {
                        *b = value;
                    }
                    let from = if kind % 8 == 7 { peer } else { from };
                    part.handle(Event::Frame { from, bytes: &mended(&frame) }, &mut effects);
                }
            }
            assert!(effects.len() < 100, "{} effects of one event", effects.len());
            sent += check_frames(&effects);
            effects.clear();
        }
        let status = part.status();
        status.state as u64 + 10 * status.round.min(20) + 1_000 * u64::from(sent > 100)
    });
}
