//! What leaves a part. Rows go once when a round begins; everything else waits for a tick, so that no frame is ever the
//! answer to a frame of the same kind.

use super::mutant::Mutant;
use super::welcome::IN_NO_ROUND;
use super::{Effect, Note, Part, Reason, State};
use crate::plan::PeerId;
use crate::wire::{Header, Kind, NUMBERS_MAX, chunks_of, encode};

/// The time between two tries grows up to so many times the first.
pub(super) const BACKOFF_MAX: u64 = 16;

impl Part {
    pub(super) fn tick(&mut self, now: u64, effects: &mut Vec<Effect>) {
        self.notice_gap(now);
        self.now = now.max(self.now);
        if self.state == State::New {
            let note = if self.done == 0 { Note::Started } else { Note::Restored { round: self.done } };
            effects.push(Effect::Note(note));
            self.peers.iter_mut().filter(|p| !p.up).for_each(|p| p.down_since = now);
            match self.plan.is_to_learn() {
                true => self.begin_learning(effects),
                false => self.begin_round(effects),
            }
        }
        if let Some(reason) = self.reason.filter(|_| !self.told) {
            // Restored after the end.
            self.told = true;
            effects.push(Effect::Done(Box::new(self.outcome(reason))));
        }
        (0..self.peers.len()).for_each(|k| self.send_terms(k, effects));
        if self.state == State::Joining {
            return self.ask_to_join(effects);
        }
        if self.state == State::Learning {
            return self.tick_learning(effects);
        }
        self.judge_silence(effects);
        self.judge_claims(effects);
        if self.state == State::Joining {
            return;
        }
        for k in 0..self.peers.len() {
            self.send_coupling(k, effects);
            self.mend(k, effects);
            self.send_again(k, effects);
        }
    }

    /// The last round whose rows were made.
    fn newest(&self) -> u64 {
        if self.state == State::Waiting { self.done + 1 } else { self.done }
    }

    /// Rows that a neighbour does not have, when it is time, and what it owes an answer to.
    fn send_again(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let leaves = self.state == State::Finished && self.is(Mutant::LeavesAtOnce);
        if leaves || self.is(Mutant::NoRetransmission) {
            return;
        }
        let (now, newest) = (self.now, self.newest());
        let peer = &self.peers[k];
        let counts = peer.counts(newest) && newest > 0;
        let lacks = (counts && peer.acked < newest) || self.lacks(peer);
        // It may believe that its rows arrived: they did, before this part fell back to an older checkpoint.
        let waits = counts && self.state == State::Waiting && !self.has_rows(k, newest);
        let peer = &mut self.peers[k];
        let due = (lacks || waits) && now >= peer.retry_at;
        // Out of step, only the newest rows matter.
        let kept = if self.plan.method.is_async() { newest } else { self.boundary.oldest().unwrap_or(newest) };
        // Who has the last rows and says no more is asked by sending them once more.
        let first = kept.max(peer.acked + 1).min(newest);
        if due {
            let shortest = self.plan.patience.retry_ms;
            peer.retry_at = now.saturating_add(peer.interval);
            peer.interval = peer.interval.saturating_mul(2).clamp(shortest, shortest.saturating_mul(BACKOFF_MAX));
            peer.resent += (newest + 1).saturating_sub(first);
        }
        let owes = std::mem::take(&mut peer.owes_answer);
        let behind = std::mem::take(&mut peer.is_behind) && owes && !self.is(Mutant::IgnoresRollback);
        if (!counts || behind) && owes && self.state == State::Waiting {
            return self.send_state(k, effects);
        }
        if due && waits && self.peers[k].is_unconfirmed() && !self.is(Mutant::NeverAsksAgain) {
            self.send_word(k, Kind::Join, self.peers[k].from, effects);
        }
        let quiet = counts && self.state == State::Waiting && now >= self.peers[k].told_at;
        if due && lacks {
            (first..=newest).for_each(|round| self.send_rows(k, round, effects));
        } else if due || quiet || (owes && self.state != State::Finished) {
            self.send_word(k, Kind::Ack, newest, effects);
        }
        if owes && self.state == State::Finished {
            self.send_finished(k, effects);
        }
    }

    /// The rows of a round, in as many frames as needed.
    pub(super) fn send_rows(&mut self, k: usize, round: u64, effects: &mut Vec<Effect>) {
        let mut numbers = std::mem::take(&mut self.numbers);
        let newest = self.newest();
        if self.is(Mutant::ForgetsOldRows) && round != newest {
            return;
        }
        let of = if self.is(Mutant::ResendsNewestRows) { newest } else { round };
        let Some(sent) = self.boundary.of_round(of) else { return };
        self.boundary.gather(k, &sent.rows, self.dim, &mut numbers);
        let chunks = chunks_of(numbers.len()) as u16;
        let mut header = self.header(k, Kind::Rows, round);
        (header.chunks, header.residual, header.flows) = (chunks, sent.residual, sent.flows[k]);
        for chunk in 0..chunks {
            let from = usize::from(chunk) * NUMBERS_MAX;
            let piece = &numbers[from..(from + NUMBERS_MAX).min(numbers.len())];
            self.send(k, encode(&Header { chunk, ..header }, piece), effects);
        }
        self.numbers = numbers;
    }

    pub(super) fn send_finished(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let kind = if self.reason == Some(Reason::Left) { Kind::Leave } else { Kind::Finished };
        self.peers[k].told_end = self.peers[k].up;
        self.send_word(k, kind, self.done, effects);
    }

    /// A frame without numbers.
    pub(super) fn send_word(&mut self, k: usize, kind: Kind, round: u64, effects: &mut Vec<Effect>) {
        self.send(k, encode(&self.header(k, kind, round), &[]), effects);
    }

    pub(super) fn header(&self, k: usize, kind: Kind, round: u64) -> Header {
        let (federation, residual, received) = (self.plan.federation ^ self.mask(k), 0.0, self.received(k));
        Header { kind, chunk: 0, chunks: 1, federation, round, received, residual, flows: 0 }
    }

    /// See [`crate::plan::Plan::link_name`].
    pub(super) fn mask(&self, k: usize) -> u64 {
        if self.is(Mutant::IgnoresEdges) { 0 } else { self.peers[k].mask }
    }

    /// All rounds up to this one have come from a neighbour; of no use to a part that joins.
    fn received(&self, k: usize) -> u64 {
        let (peer, done) = (&self.peers[k], self.done);
        if self.state == State::Joining {
            return IN_NO_ROUND;
        }
        if self.is(Mutant::AckTooEarly) {
            return done + 2;
        }
        if self.plan.method.is_async() {
            return peer.round;
        }
        match (peer.has(done + 1), peer.has(done + 2)) {
            (true, true) => done + 2,
            (true, false) => done + 1,
            _ => done,
        }
    }

    pub(super) fn send(&mut self, k: usize, bytes: Vec<u8>, effects: &mut Vec<Effect>) {
        self.peers[k].bytes_out += bytes.len() as u64;
        self.peers[k].told_at = self.now.saturating_add(self.sign_of_life_ms());
        effects.push(Effect::Send { to: PeerId(k as u32), bytes });
    }
}
