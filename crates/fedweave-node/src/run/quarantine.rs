//! Neighbours whose models do badly on the rows of this part are kept out, for as long as their owner does not pardon them: the part behaves as if the
//! link to them were down. What is done, and why, is noted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fedweave::loss::{Loss, LossOptions};

use super::events::LocalEvent;
use super::{Driver, RunError, now_ms};
use crate::part::{Event, Part};
use crate::plan::PeerId;

/// So many looks in a row must find a neighbour guilty.
const LOOKS: u32 = 3;
/// Before so many rounds models are not yet worth judging.
const ROUNDS_MIN: u64 = 20;
/// How often scores are noted in the log.
const SCORES_EVERY: Duration = Duration::from_secs(1);

/// How neighbours are judged, and who asks for their pardon.
pub struct Quarantine<'a> {
    /// A neighbour is guilty that predicts our rows so many times as badly as the median neighbour.
    pub factor: f64,
    /// Names of those that are let in again.
    pub pardons: &'a mut dyn FnMut() -> Vec<String>,
}

/// What is known about neighbours.
pub(super) struct Guard {
    loss: Box<dyn Loss>,
    /// Looks in a row that found each guilty.
    guilty: Vec<u32>,
    /// Those that are kept out.
    pub held: Vec<bool>,
    looked_at: u64,
    noted: Option<Instant>,
}

impl Guard {
    /// Judges neighbours by the rows of a part.
    pub fn new(part: &mut Part) -> Option<Guard> {
        part.listen();
        let plan = part.plan();
        let loss = plan.loss.build(plan.data.clone(), &LossOptions::default()).ok()?;
        let peers = plan.peers.len();
        Some(Guard { loss, guilty: vec![0; peers], held: vec![false; peers], looked_at: 0, noted: None })
    }
}

impl Driver<'_, '_> {
    /// True if nothing of this neighbour is let in.
    pub(super) fn is_held(&self, peer: usize) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.held[peer])
    }

    /// Looks at all neighbours.
    pub(super) fn judge(&mut self) -> Result<(), RunError> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        let done = self.judge_with(&mut guard);
        self.guard = Some(guard);
        // Only now: who is held is not listened to.
        for (peer, up) in done? {
            let peer = PeerId(peer as u32);
            self.handle(if up { Event::LinkUp(peer) } else { Event::LinkDown(peer) })?;
        }
        Ok(())
    }

    /// Links that go down, and those that come up.
    fn judge_with(&mut self, guard: &mut Guard) -> Result<Vec<(usize, bool)>, RunError> {
        let mut links = self.pardon(guard)?;
        let (round, Some(quarantine)) = (self.part.round(), &self.around.quarantine) else { return Ok(links) };
        let factor = quarantine.factor;
        if round == guard.looked_at || round < ROUNDS_MIN || self.outcome.is_some() {
            return Ok(links);
        }
        guard.looked_at = round;
        let scores = self.part.guilt(&*guard.loss);
        let mut shown = BTreeMap::new();
        for (k, score) in scores.into_iter().enumerate() {
            if guard.held[k] {
                continue;
            }
            let name = self.snapshot.neighbours[k].name.clone();
            self.snapshot.neighbours[k].suspicion = score.filter(|score| score.is_finite());
            let Some(score) = score else { continue };
            shown.insert(name.clone(), if score.is_finite() { score } else { f64::MAX });
            guard.guilty[k] = if score > factor { guard.guilty[k] + 1 } else { 0 };
            if guard.guilty[k] >= LOOKS {
                guard.held[k] = true;
                self.snapshot.neighbours[k].quarantined = true;
                self.log(&LocalEvent::Quarantined { neighbour: name, round, score, factor })?;
                links.push((k, false));
            }
        }
        if !shown.is_empty() && guard.noted.is_none_or(|noted| noted.elapsed() >= SCORES_EVERY) {
            guard.noted = Some(Instant::now());
            self.around.log.write(now_ms(), &LocalEvent::Suspicions { round, scores: shown })?;
        }
        Ok(links)
    }

    fn pardon(&mut self, guard: &mut Guard) -> Result<Vec<(usize, bool)>, RunError> {
        let Some(quarantine) = &mut self.around.quarantine else { return Ok(Vec::new()) };
        let (names, mut links) = ((quarantine.pardons)(), Vec::new());
        for name in names {
            let Some(k) = self.snapshot.neighbours.iter().position(|n| n.name == name) else { continue };
            if std::mem::take(&mut guard.held[k]) {
                guard.guilty[k] = 0;
                self.snapshot.neighbours[k].quarantined = false;
                self.log(&LocalEvent::Pardoned { neighbour: name })?;
                if self.snapshot.neighbours[k].up {
                    links.push((k, true));
                }
            }
        }
        Ok(links)
    }
}
