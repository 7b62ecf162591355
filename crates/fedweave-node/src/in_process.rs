//! All parts in one process, frames handed over in order and without loss.

use std::collections::VecDeque;

use crate::part::{Effect, Event, Outcome, Part};
use crate::plan::PeerId;

/// Runs parts that name each other as peers until all are done; the outcomes are in the order of the parts. `None` if they
/// stop making progress: a part that is named is not among them, or waits for one that has left.
pub fn run(parts: &mut [Part]) -> Option<Vec<Outcome>> {
    let routes = routes(parts);
    let mut outcomes: Vec<Option<Outcome>> = parts.iter().map(|_| None).collect();
    let mut frames: VecDeque<(usize, PeerId, Vec<u8>)> = VecDeque::new();
    let (mut effects, mut idle) = (Vec::new(), 0);
    for now in 0.. {
        if outcomes.iter().all(Option::is_some) {
            break;
        }
        idle += 1;
        for (k, part) in parts.iter_mut().enumerate() {
            if now == 0 || part.wants_tick() || idle > 2 {
                idle = if part.wants_tick() { 0 } else { idle };
                // Time stands still while frames flow: nothing is sent twice.
                part.handle(Event::Tick { now: idle }, &mut effects);
                take(k, &mut effects, &routes, &mut frames, &mut outcomes);
            }
        }
        while let Some((to, from, bytes)) = frames.pop_front() {
            idle = 0;
            parts[to].handle(Event::Frame { from, bytes: &bytes }, &mut effects);
            take(to, &mut effects, &routes, &mut frames, &mut outcomes);
        }
        if idle > 10_000 {
            return None;
        }
    }
    outcomes.into_iter().collect()
}

/// For each part and each of its peers: the other part's position, and the peer that this one is to the other.
pub(crate) fn routes(parts: &[Part]) -> Vec<Vec<Option<(usize, PeerId)>>> {
    let find = |from: &Part, name: &String| {
        let to = parts.iter().position(|p| p.plan().name == *name)?;
        let back = parts[to].plan().peers.iter().position(|n| *n == from.plan().name)?;
        Some((to, PeerId(back as u32)))
    };
    parts.iter().map(|part| part.plan().peers.iter().map(|name| find(part, name)).collect()).collect()
}

fn take(
    from: usize,
    effects: &mut Vec<Effect>,
    routes: &[Vec<Option<(usize, PeerId)>>],
    frames: &mut VecDeque<(usize, PeerId, Vec<u8>)>,
    outcomes: &mut [Option<Outcome>],
) {
    for effect in effects.drain(..) {
        match effect {
            Effect::Send { to, bytes } => {
                if let Some((to, back)) = routes[from][to.0 as usize] {
                    frames.push_back((to, back, bytes));
                }
            }
            Effect::Done(outcome) => outcomes[from] = Some(*outcome),
            Effect::Persist(_) | Effect::Spend(_) | Effect::Note(_) => (),
        }
    }
}
