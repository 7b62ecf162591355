//! Edges that do not count although both ends do their rounds: their ends had to join at the same time, lost each other for a while,
//! or forgot in a crash what they had agreed. The end with the smaller name proposes a round ahead of both from which on they
//! count; the other end agrees, as with a part that joins, or says where it is.

use super::mutant::Mutant;
use super::send::BACKOFF_MAX;
use super::welcome::NO_AGREEMENT;
use super::{Effect, LIES_BORNE, Part, State};
use crate::plan::DeadPolicy;
use crate::wire::{Header, Kind};

/// Rounds that the first proposal is ahead; doubled when it comes too late.
pub(super) const MARGIN: u64 = 16;
pub(super) const MARGIN_MAX: u64 = 1 << 20;

/// A proposal to a neighbour whose edges do not count.
#[derive(Debug, Clone, Copy)]
pub struct Mending {
    /// The round proposed; 0 if none is.
    target: u64,
    margin: u64,
    /// Where the neighbour said to be.
    there: u64,
    retry_at: u64,
}

impl Default for Mending {
    fn default() -> Self {
        Mending { target: 0, margin: MARGIN, there: 0, retry_at: 0 }
    }
}

impl Mending {
    /// The round proposed lies behind, here or there.
    fn fail(&mut self, there: u64) {
        let margin = (2 * self.margin).min(MARGIN_MAX);
        (self.target, self.margin, self.there) = (0, margin, there);
    }
}

impl Part {
    /// Proposes a round from which on the edges to a neighbour count again, if they do not and it is up to this part.
    pub(super) fn mend(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let (peer, now, done) = (&self.peers[k], self.now, self.done);
        let lost = !peer.counts(done + 1) && !peer.is_expected(done) && peer.finished.is_none();
        let fit = peer.up && peer.lies < LIES_BORNE && now >= peer.barred_until && peer.terms_noted.is_none();
        let proposes = self.plan.name < peer.name && self.plan.patience.policy != DeadPolicy::Stop;
        let waits = self.state == State::Waiting && now >= peer.mending.retry_at;
        if !(lost && fit && proposes && waits) || self.is(Mutant::LeavesEdgesLost) {
            return;
        }
        let epoch = self.epoch();
        let mending = &mut self.peers[k].mending;
        if mending.target > 0 && mending.target <= done + 1 {
            mending.fail(mending.there);
        }
        if mending.target == 0 {
            let there = if mending.there > self.plan.stop.rounds_max { 0 } else { mending.there };
            mending.target = (done.max(there) + mending.margin).next_multiple_of(epoch);
        }
        mending.retry_at = now.saturating_add(self.plan.patience.retry_ms.saturating_mul(BACKOFF_MAX / 4));
        let target = mending.target;
        if target < self.plan.stop.rounds_max {
            self.send_word(k, Kind::Join, target, effects);
        }
    }

    /// A neighbour says where it is: the round proposed to it lies behind.
    pub(super) fn mend_later(&mut self, k: usize, header: &Header) {
        let (mending, agreed) = (&mut self.peers[k].mending, header.received);
        let there = if agreed == NO_AGREEMENT { header.round } else { header.round.max(agreed) };
        if mending.target > 0 && mending.target <= there.saturating_add(1) {
            mending.fail(there);
            mending.retry_at = 0;
        }
    }

    /// A neighbour agrees to a proposal.
    pub(super) fn mended(&mut self, k: usize, round: u64, effects: &mut Vec<Effect>) {
        let peer = &self.peers[k];
        let open = self.state == State::Waiting && !peer.counts(self.done + 1) && !peer.is_expected(self.done);
        if open && round == peer.mending.target && round > self.done + 1 {
            self.agree(k, round, effects);
        }
    }
}
