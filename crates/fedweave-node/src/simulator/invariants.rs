//! What must hold after every event.

use super::scene::Scene;
use crate::part::{Outcome, Part};
use crate::wire::{FRAME_BYTES_MAX, Frame, Kind, NUMBERS_MAX};

/// What is remembered of a part from event to event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// Rounds done at the last durable checkpoint.
    pub durable: Option<u64>,
    /// Rounds done before the event.
    pub done: u64,
    /// The event was a frame, and the rounds had begun.
    pub frame: bool,
}

/// The state after `done` rounds was made durable: it is among the first words of a checkpoint.
pub fn rounds_of(checkpoint: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(checkpoint.get(24..32)?.try_into().ok()?))
}

/// Checks a frame before it leaves. Returns what is wrong with it.
pub fn check_frame(scene: &Scene, part: usize, to: usize, bytes: &[u8], memory: &Memory) -> Option<String> {
    if bytes.len() > FRAME_BYTES_MAX {
        return Some(format!("a frame of {} bytes", bytes.len()));
    }
    let frame = match Frame::decode(bytes) {
        Ok(frame) => frame,
        Err(fault) => return Some(format!("sends what is not a frame: {fault}")),
    };
    let round = frame.header.round;
    if frame.header.kind != Kind::Rows {
        return None;
    }
    if round == 0 || round > scene.rounds {
        return Some(format!("sends rows of round {round}, beyond the end"));
    }
    if memory.durable.is_none_or(|durable| durable + 1 < round) {
        return Some(format!("sends rows of round {round} before round {} is durable", round - 1));
    }
    if memory.frame && round <= memory.done + 1 {
        return Some(format!("a frame made it send rows of round {round} again"));
    }
    if scene.trusting {
        return (!frame.numbers().all(f64::is_finite)).then(|| "sends a number that is not finite".into());
    }
    let from = usize::from(frame.header.chunk) * NUMBERS_MAX;
    let expected = scene.rows(part, to, round).skip(from).take(NUMBERS_MAX);
    if !frame.numbers().map(f64::to_bits).eq(expected.map(|x| x.to_bits())) {
        return Some(format!("sends rows of round {round} that differ from those of one machine"));
    }
    let boundary = scene.boundary[part][to].len();
    if bytes.len() > 8 * frame.len() + 64 * boundary.max(1) {
        return Some("a frame costs more than 8 d + 64 bytes per row".into());
    }
    None
}

/// Checks that what a frame holds was paid for: rows of round `r` follow from the gradients of the round before.
pub fn check_paid(bytes: &[u8], ledger: &[Vec<u8>]) -> Option<String> {
    let frame = Frame::decode(bytes).ok()?;
    let round = frame.header.round;
    let paid = |record: &Vec<u8>| record[..8] == (round - 1).to_le_bytes();
    let owes = frame.header.kind == Kind::Rows && round > 1 && !ledger.iter().any(paid);
    owes.then(|| format!("sends rows of round {round} without having paid for the gradients behind them"))
}

/// Checks a record before it is written down.
pub fn check_record(record: &[u8], ledger: &[Vec<u8>], budget: u64) -> Option<String> {
    if ledger.len() as u64 >= budget {
        return Some(format!("releases more than {budget} gradients"));
    }
    let mark = |record: &[u8]| record[8..24].to_vec();
    ledger.iter().any(|old| mark(old) == mark(record)).then(|| "pays twice for the same gradients".into())
}

/// Checks a part after an event that made it want so many frames sent.
pub fn check_part(scene: &Scene, part: &Part, peers: usize, memory: &Memory, sends: usize) -> Option<String> {
    let round = part.round();
    if round < memory.done {
        return Some(format!("went back from round {} to {round}", memory.done));
    }
    if round > scene.rounds {
        return Some(format!("did {round} rounds instead of {}", scene.rounds));
    }
    let allowed = (round - memory.done + 4) as usize * peers * 2;
    (sends > allowed).then(|| format!("{sends} frames after one event"))
}

/// Checks the answer.
pub fn check_outcome(scene: &Scene, part: usize, outcome: &Outcome) -> Option<String> {
    // What parts that come back with old states end with is judged when all have ended.
    if scene.trusting && scene.network.tolerance.is_some() {
        return None;
    }
    if outcome.round != scene.rounds {
        return Some(format!("stops after round {} instead of {}", outcome.round, scene.rounds));
    }
    for (k, name) in scene.plans[part].nodes.iter().enumerate().filter(|_| !scene.trusting) {
        let node = scene.network.names.binary_search(name).ok()?;
        let same = outcome.models.row(k).iter().zip(scene.models.row(node)).all(|(a, b)| a.to_bits() == b.to_bits());
        if !same {
            return Some(format!("the model of node {name} differs from that of one machine"));
        }
    }
    None
}
