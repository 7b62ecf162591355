//! Out of step with a tolerance: parts move for some rounds, each as fast as it can, and then stand still together. While they stand
//! still, models do not change, and a round needs the rows of the same round from everybody: then residuals of all parts belong
//! to one state of the network. The largest one travels as it does in step, all decide the same, and who has converged answers
//! with the models that were judged.

use super::{Part, Peer};

/// More rounds of standing still than the largest residual needs to travel: one of residuals before, and two because a part that
/// fell back to an older checkpoint may correct its rows.
const STANDING_MORE: u64 = 3;
/// For each round of standing still, and for each round that parts may be apart.
const MOVING: u64 = 2;

impl Part {
    /// Rounds in which models move and then stand still, if parts go out of step and yet stop at a tolerance.
    fn phases(&self) -> Option<(u64, u64)> {
        let plan = &self.plan;
        let judged = plan.method.is_async() && plan.stop.tolerance.is_some() && !self.peers.is_empty();
        let standing = u64::from(plan.stop.diameter) + STANDING_MORE;
        judged.then(|| (MOVING * (standing + plan.method.staleness()), standing))
    }

    /// Rounds from one decision to the next.
    pub(super) fn epoch(&self) -> u64 {
        let in_step = if self.peers.is_empty() { 1 } else { u64::from(self.plan.stop.diameter) + 1 };
        self.phases().map_or(in_step, |(moving, standing)| moving + standing)
    }

    /// True if models stand still in this round.
    pub(super) fn stands_still(&self, round: u64) -> bool {
        self.phases().is_some_and(|(moving, standing)| round % (moving + standing) >= moving)
    }

    /// By how many rounds the rows of neighbours may be old.
    pub(super) fn staleness(&self, round: u64) -> u64 {
        match self.stands_still(round) {
            true => 0,
            false => self.plan.method.staleness(),
        }
    }

    /// The largest residual known after a round out of step: infinite while models move.
    pub(super) fn residual_standing(&self, round: u64) -> f64 {
        if !self.stands_still(round) {
            return f64::INFINITY;
        }
        let own = self.kernel.residual();
        // In the first one neighbours have nothing to say yet.
        if !self.stands_still(round - 1) {
            return own;
        }
        let speaks = |p: &&Peer| p.counts(round) && p.still.is_none();
        let heard = self.peers.iter().filter(speaks).map(|p| p.residual).fold(own, f64::max);
        self.epoch_max.max(heard)
    }

    /// After a change of the problem: what neighbours said last counts, out of step, until they say more.
    pub(super) fn hear_again(&mut self) {
        let d = self.dim;
        for (peer, ghosts) in self.peers.iter().zip(&self.subproblem.receives) {
            if peer.has(peer.round) {
                for (&ghost, row) in ghosts.iter().zip(peer.inbox(peer.round).numbers().chunks_exact(d)) {
                    self.kernel.incoming(ghost as usize).copy_from_slice(row);
                }
            }
        }
    }
}
