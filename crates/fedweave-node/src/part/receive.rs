//! What comes in: frames are checked, counted, and taken once.

use super::mutant::Mutant;
use super::{Effect, LIES_BORNE, Note, Part, Reason, State};
use crate::hash::differs_in_digest;
use crate::plan::{DeadPolicy, PeerId};
use crate::wire::{Fault, Frame, Header, Kind, chunks_of};

impl Part {
    pub(super) fn receive(&mut self, from: PeerId, bytes: &[u8], effects: &mut Vec<Effect>) {
        let Some(peer) = self.peers.get_mut(from.0 as usize) else { return };
        peer.bytes_in += bytes.len() as u64;
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(fault) => return self.refuse(from, Refusal::Frame(fault), effects),
        };
        let about_coupling = matches!(frame.header.kind, Kind::Sums | Kind::Total | Kind::Coupling);
        if about_coupling && self.plan.coupling.is_some() && frame.header.federation == self.plan.federation_to_learn()
        {
            return self.receive_learning(from, &frame, effects);
        }
        if frame.header.kind == Kind::Terms {
            return self.receive_terms(from, &frame, effects);
        }
        let federation = frame.header.federation ^ self.mask(from.0 as usize);
        if about_coupling || federation != self.plan.federation {
            return self.receive_foreign(from, &Header { federation, ..frame.header }, effects);
        }
        // Who waits for others is in the round before at least; only such words are a sign that it is in step.
        let in_reach = frame.header.round.saturating_add(self.plan.method.staleness()) >= self.done;
        if in_reach && matches!(frame.header.kind, Kind::Rows | Kind::Ack) {
            self.peers[from.0 as usize].heard_at = self.now;
        }
        if self.state == State::Learning {
            return;
        }
        match frame.header.kind {
            Kind::Join => return self.receive_join(from, &frame.header, effects),
            Kind::State => return self.receive_state(from, &frame, effects),
            Kind::Welcome => return self.receive_welcome(from, &frame.header, effects),
            _ => (),
        }
        if self.state == State::Joining {
            // Nothing of what others do in their rounds concerns this part now.
            self.peers[from.0 as usize].joins = false;
            return self.peers[from.0 as usize].finished = finish_of(&frame.header);
        }
        if !self.peers[from.0 as usize].counts(self.done + 1) && self.state == State::Waiting {
            // It does not know that it is not counted, or not any more.
            let peer = &mut self.peers[from.0 as usize];
            let waits = matches!(frame.header.kind, Kind::Rows | Kind::Ack);
            peer.owes_answer = waits && peer.lies < LIES_BORNE;
            return;
        }
        if matches!(frame.header.kind, Kind::Rows | Kind::Ack) {
            self.peers[from.0 as usize].is_beyond = self.state == State::Finished && frame.header.round > self.done;
        }
        // Who waits for rows that will never come must hear of it; it may have nothing left to send but that it waits.
        let waits = frame.header.kind == Kind::Ack && frame.header.round > self.done;
        if self.state == State::Finished && (frame.header.kind == Kind::Rows || waits) {
            self.peers[from.0 as usize].owes_answer = true;
            if !self.peers[from.0 as usize].counts(self.done) {
                // Of what length its rows are is nobody's business any more.
                return;
            }
        }
        // Two more than the round in flight: this part may have lost its newest checkpoint.
        let newest = self.done + 4 + self.plan.method.staleness();
        if frame.header.kind == Kind::Finished && frame.header.round > newest && self.state == State::Waiting {
            // It went on without this part, to the end; or it says so.
            self.peers[from.0 as usize].finished = Some(frame.header.round);
            return self.goes_on_without_us(from.0 as usize, frame.header.round, effects);
        }
        if frame.header.round > newest && matches!(frame.header.kind, Kind::Rows | Kind::Ack) {
            return self.note_ahead(from.0 as usize, frame.header.round, effects);
        }
        if frame.header.round > newest || frame.header.received > newest {
            return self.refuse(from, Refusal::Round { round: frame.header.round, done: self.done }, effects);
        }
        match frame.header.kind {
            Kind::Rows => self.receive_rows(from, &frame, effects),
            Kind::Leave => self.receive_leave(from, &frame.header, effects),
            Kind::Finished => self.peer_finished(from, &frame.header, effects),
            _ => self.note_received(from, &frame.header),
        }
    }

    /// A frame of another federation, or of one that differs in what its parts should have in common.
    fn receive_foreign(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        let related = differs_in_digest(header.federation, self.plan.federation);
        if self.state != State::Learning {
            self.peers[from.0 as usize].owes_terms = true;
        }
        let why = match related {
            // It has learnt already what this part is still learning.
            true if self.state == State::Learning => return,
            true if self.plan.models.is_some() => Refusal::PublicRows,
            true if self.plan.coupling.is_some() => Refusal::Coupling,
            _ => Refusal::Federation,
        };
        self.refuse(from, why, effects);
    }

    fn receive_rows(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let (k, round, done) = (from.0 as usize, frame.header.round, self.done);
        let (chunk, chunks) = (usize::from(frame.header.chunk), usize::from(frame.header.chunks));
        let peer = &mut self.peers[k];
        if chunks != chunks_of(peer.len) || frame.len() != peer.chunk_len(chunk) {
            return self.refuse(from, Refusal::Shape { numbers: frame.len() }, effects);
        }
        if !frame.numbers().all(f64::is_finite) {
            return self.refuse(from, Refusal::NotFinite, effects);
        }
        self.note_received(from, &frame.header);
        if self.plan.method.is_async() {
            return self.receive_newest(k, frame);
        }
        let peer = &mut self.peers[k];
        if self.state == State::Finished || round <= done || peer.has(round) {
            // Old news: the neighbour does not know yet that they arrived.
            peer.owes_answer = true;
            if self.is(Mutant::AnswersFrames) {
                self.send_rows(k, done + 1, effects);
            }
        }
        let stale = self.is(Mutant::StaleRoundAccepted) && round == done;
        let early = self.is(Mutant::NextRoundOverwrites) && round == done + 2;
        let in_window = stale || round == done + 1 || round == done + 2;
        if self.state != State::Finished && in_window {
            (self.peers[k].joins, self.peers[k].ahead_noted) = (false, false);
            self.count_arrival(round);
            self.peers[k].take(frame, if stale || early { done + 1 } else { round });
        }
    }

    /// Out of step: the newest rows replace older ones at once.
    fn receive_newest(&mut self, k: usize, frame: &Frame) {
        let (round, d) = (frame.header.round, self.dim);
        let peer = &mut self.peers[k];
        if round <= peer.round || self.state == State::Finished {
            peer.owes_answer = true;
            return;
        }
        peer.take(frame, round);
        if peer.has(round) {
            peer.residual = peer.inbox(round).residual;
            for (&ghost, row) in self.subproblem.receives[k].iter().zip(peer.inbox(round).numbers().chunks_exact(d)) {
                self.kernel.incoming(ghost as usize).copy_from_slice(row);
            }
        }
    }

    /// True if the rows of a neighbour are new enough for a round.
    pub(super) fn has_rows(&self, k: usize, round: u64) -> bool {
        let peer = &self.peers[k];
        if peer.still.is_some() {
            return true;
        }
        match self.plan.method.is_async() {
            true => peer.round + self.staleness(round) >= round,
            false => peer.has(round),
        }
    }

    /// Takes over what a neighbour says it has.
    pub(super) fn note_received(&mut self, from: PeerId, header: &Header) {
        let (in_step, oldest) = (!self.plan.method.is_async(), self.boundary.oldest());
        let peer = &mut self.peers[from.0 as usize];
        if in_step && oldest.is_some_and(|oldest| header.received + 1 < oldest) {
            // It needs rows that are no longer kept.
            (peer.owes_answer, peer.is_behind) = (true, true);
        }
        if header.received > peer.acked {
            peer.interval = self.plan.patience.retry_ms;
        }
        peer.acked = header.received;
    }

    fn peer_finished(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        self.note_received(from, header);
        self.peers[from.0 as usize].finished = Some(header.round);
        // It will never send the rows that this part waits for.
        if header.round <= self.done && self.state == State::Waiting {
            match self.plan.patience.policy {
                DeadPolicy::Stop => self.finish(Reason::PeerFinished, effects),
                _ if self.is(Mutant::EndsWithANeighbour) => self.finish(Reason::PeerFinished, effects),
                _ => self.let_stand(from.0 as usize, effects),
            }
        }
    }

    /// Rows and words from rounds that this part cannot reach: one of the two came back with an old state. Not a lie.
    fn note_ahead(&mut self, k: usize, round: u64, effects: &mut Vec<Effect>) {
        let (done, peer) = (self.done, &mut self.peers[k]);
        if !std::mem::replace(&mut peer.ahead_noted, true) {
            effects.push(Effect::Note(Note::PeerAhead { peer: peer.name.clone(), round, done }));
        }
    }

    pub(super) fn refuse(&mut self, from: PeerId, why: Refusal, effects: &mut Vec<Effect>) {
        let peer = &mut self.peers[from.0 as usize];
        peer.refused += 1;
        *peer.refusals.entry(why.in_a_word()).or_default() += 1;
        peer.lies += u64::from(matches!(why, Refusal::Shape { .. } | Refusal::NotFinite));
        // The first ones are told; a flood of them does not flood the log.
        if peer.refused <= REFUSALS_TOLD || peer.refused.is_power_of_two() {
            let what = format!("{} ({} so far)", why, peer.refused);
            effects.push(Effect::Note(Note::PeerMisbehaved { peer: peer.name.clone(), what }));
        }
    }
}

/// The round after which the sender has finished, if it says so.
fn finish_of(header: &Header) -> Option<u64> {
    matches!(header.kind, Kind::Finished | Kind::Leave).then_some(header.round)
}

/// Refusals told one by one.
const REFUSALS_TOLD: u64 = 4;

/// Why a frame is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Frame(Fault),
    #[error("a frame of another federation or of other settings")]
    Federation,
    #[error("predictions on public rows that are not ours; all parts need the same")]
    PublicRows,
    #[error("another coupling was learnt there; all parts need the same answers")]
    Coupling,
    #[error("round {round} while {done} are done")]
    Round { round: u64, done: u64 },
    #[error("{numbers} numbers, which is not the length of its rows")]
    Shape { numbers: usize },
    #[error("a number that is not finite")]
    NotFinite,
}

impl Refusal {
    /// For counters.
    fn in_a_word(self) -> &'static str {
        match self {
            Refusal::Frame(Fault::Checksum) => "checksum",
            Refusal::Frame(Fault::Version { .. }) => "version",
            Refusal::Frame(_) => "malformed",
            Refusal::Federation => "federation",
            Refusal::PublicRows => "public_rows",
            Refusal::Coupling => "coupling",
            Refusal::Round { .. } => "round",
            Refusal::Shape { .. } => "length",
            Refusal::NotFinite => "not_finite",
        }
    }
}
