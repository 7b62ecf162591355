//! What happens to parts and links.

use rand::RngExt;

use super::Failure;
use super::faults::Incident;
use super::invariants::{Memory, rounds_of};
use super::world::{What, World};
use crate::checkpoint::Store;
use crate::part::{Event, Part};
use crate::plan::PeerId;

/// Delay of a frame when nothing is wrong.
const CALM_MS: u64 = 1;

impl World<'_> {
    pub(super) fn strike(&mut self, incident: Incident) -> Result<(), Failure> {
        self.tell(None, || format!("{incident:?}"));
        match incident {
            Incident::Crash { part, back_after_ms, damage, in_write: true } => {
                self.seats[part].fails_in_write = Some((damage, back_after_ms));
            }
            Incident::Crash { part, back_after_ms, damage, in_write: false } => {
                if self.seats[part].part.is_some() {
                    if let Some(damage) = damage {
                        self.tally.damaged += u64::from(self.seats[part].store.damage(damage));
                    }
                    self.crash(part, back_after_ms);
                }
            }
            Incident::DiskFull { part, for_ms } => self.seats[part].full_until = self.now + for_ms,
            Incident::Rollback { part, to, back_after_ms } => {
                // Who has ended is not turned back.
                if self.seats[part].part.is_some() && !self.seats[part].done {
                    self.seats[part].roll_back(to);
                    self.tally.rollbacks += 1;
                    self.crash(part, back_after_ms);
                }
            }
            Incident::Revoke(part) => self.revoke(part)?,
            Incident::FallBack => self.fall_back(),
            Incident::Cut { cut, for_ms } => self.cuts.push((cut, self.now + for_ms)),
            Incident::Pause { part, for_ms } => self.seats[part].paused_until = self.now + for_ms,
        }
        Ok(())
    }

    /// The transport closes the connections of a part, and opens no others.
    fn revoke(&mut self, part: usize) -> Result<(), Failure> {
        self.revoked.push(part);
        for peer in 0..self.scene.plans[part].peers.len() {
            let (other, back) = self.scene.routes[part][peer];
            self.handle(part, Event::LinkDown(PeerId(peer as u32)))?;
            self.handle(other, Event::LinkDown(PeerId(back)))?;
        }
        Ok(())
    }

    pub(super) fn crash(&mut self, k: usize, back_after_ms: u64) {
        let seat = &mut self.seats[k];
        (seat.part, seat.done, seat.paused_until, seat.fails_in_write) = (None, false, 0, None);
        seat.settled_at = None;
        self.tally.crashes += 1;
        self.at(self.now + back_after_ms, What::Back(k));
    }

    /// A part starts, from its checkpoint if there is one.
    pub(super) fn start(&mut self, k: usize) -> Result<(), Failure> {
        if self.seats[k].part.is_some() {
            return Ok(());
        }
        #[cfg(test)]
        self.seats[k].store.plant(self.mutant);
        let mut plan = match &self.other_plan {
            Some((part, plan)) if *part == k => plan.clone(),
            _ => self.scene.plans[k].clone(),
        };
        if let Some(noise) = &mut plan.noise
            && !noise.recall(&self.seats[k].ledger.concat())
        {
            return Err(self.failure(Some(k), "its ledger is damaged".into()));
        }
        #[cfg(test)]
        Part::spoil_noise(&mut plan, self.mutant, self.seats[k].life);
        let checkpoint = self.seats[k].store.load().map_err(|e| self.failure(Some(k), e.to_string()))?;
        let part = match &checkpoint {
            Some(bytes) => Part::restore(plan, bytes),
            None => Part::new(plan),
        };
        #[cfg_attr(not(test), allow(unused_mut))]
        let mut part = part.map_err(|e| self.failure(Some(k), e.to_string()))?;
        #[cfg(test)]
        part.plant(self.mutant);
        let durable = checkpoint.as_deref().and_then(rounds_of);
        (self.seats[k].settled_at, self.seats[k].away) = (None, false);
        self.seats[k].memory = Memory { durable, done: part.round(), frame: false };
        self.seats[k].part = Some(part);
        self.seats[k].life += 1;
        for peer in 0..self.scene.plans[k].peers.len() {
            let other = self.scene.routes[k][peer].0;
            if !self.revoked.contains(&k) && !self.revoked.contains(&other) {
                self.handle(k, Event::LinkUp(PeerId(peer as u32)))?;
            }
        }
        self.at(self.now, What::Tick(k, self.seats[k].life));
        Ok(())
    }

    /// Loses, delays and doubles a frame.
    pub(super) fn transmit(&mut self, from: usize, peer: usize, bytes: Vec<u8>) {
        let (to, back) = self.scene.routes[from][peer];
        self.tally.frames += 1;
        if self.revoked.contains(&from) || self.revoked.contains(&to) {
            return;
        }
        let mut frames = match &mut self.liars {
            Some(liars) => liars.tell(from, peer, bytes, &mut self.random),
            None => vec![bytes],
        };
        let Some(bytes) = frames.pop() else { return };
        for more in frames {
            let at = if self.now >= self.faults.heal_ms { self.now + CALM_MS } else { self.arrival(from) };
            self.at(at, What::Deliver { to, from: PeerId(back), bytes: more });
        }
        let healed = self.now >= self.faults.heal_ms;
        if healed {
            return self.at(self.now + CALM_MS, What::Deliver { to, from: PeerId(back), bytes });
        }
        let now = self.now;
        self.cuts.retain(|(_, until)| *until > now);
        if self.cuts.iter().any(|(cut, _)| cut.blocks(from, to)) || self.random.random_bool(self.faults.loss) {
            self.tally.lost += 1;
            return;
        }
        if self.random.random_bool(self.faults.duplication) {
            self.tally.doubled += 1;
            let at = self.arrival(from);
            self.at(at, What::Deliver { to, from: PeerId(back), bytes: bytes.clone() });
        }
        let at = self.arrival(from);
        self.at(at, What::Deliver { to, from: PeerId(back), bytes });
    }

    fn arrival(&mut self, from: usize) -> u64 {
        self.now + self.random.random_range(1..=self.faults.delay_ms) + self.faults.slow_ms[from]
    }
}
