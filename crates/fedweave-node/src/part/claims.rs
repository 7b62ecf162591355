//! What a neighbour says about this part: that it goes on without it. It may be a lie. Nobody's word moves a part that is in step
//! with others: who says so loses the edges between the two, and that is all. A part leaves its rounds, to join again, only if
//!
//! * nobody is left in step with it, or
//! * it knows by itself that it was away (it began, came back or was held up, and has not yet done some rounds with others since),
//!   and those who go on without it outweigh those in step with it, by the weights of its edges.

use super::mutant::Mutant;
use super::{Effect, Joining, Note, Part, ROUNDS_KEPT, Reason, State};
use crate::plan::DeadPolicy;

impl Part {
    /// A neighbour says that it is in a round that this part cannot reach.
    pub(super) fn goes_on_without_us(&mut self, k: usize, round: u64, effects: &mut Vec<Effect>) {
        if !self.peers[k].counts(self.done + 1) || self.peers[k].elsewhere {
            return;
        }
        if self.plan.patience.policy == DeadPolicy::Stop {
            return self.finish(Reason::PeerFinished, effects);
        }
        if self.is(Mutant::EndsOnAWord) && self.peers[k].finished.is_some() {
            return self.finish(Reason::PeerFinished, effects);
        }
        effects.push(Effect::Note(Note::NotCounted { peer: self.peers[k].name.clone(), round }));
        self.peers[k].elsewhere = true;
        if self.is(Mutant::JoinsOnAWord) {
            return self.start_joining(effects);
        }
        self.judge_claims(effects);
        if self.state == State::Waiting {
            self.drop_edges(k, effects);
        }
    }

    /// Leaves the rounds if there is reason to, see above.
    pub(super) fn judge_claims(&mut self, effects: &mut Vec<Effect>) {
        if self.state != State::Waiting || !self.peers.iter().any(|p| p.elsewhere) {
            return;
        }
        let round = self.done + 1;
        let weigh =
            |of: &dyn Fn(&super::Peer) -> bool| self.peers.iter().filter(|p| of(p)).map(|p| p.weight).sum::<f64>();
        let with = weigh(&|p| p.is_in_step(round));
        let without = weigh(&|p| p.elsewhere);
        let was_away = self.was_away();
        if self.peers.iter().all(|p| !p.is_in_step(round)) || (was_away && without > with) {
            self.start_joining(effects);
        }
    }

    /// True for some rounds after this part has begun, come back, or was held up.
    pub(super) fn was_away(&self) -> bool {
        self.done < self.in_step_from + ROUNDS_KEPT as u64 + 1
    }

    fn start_joining(&mut self, _: &mut Vec<Effect>) {
        self.state = State::Joining;
        self.joining = Some(Joining::new(self.peers.len(), self.done > 0, self.now));
        self.peers.iter_mut().for_each(|p| p.still = None);
    }

    /// A gap between two ticks as long as others wait for the dead: this part was held up.
    pub(super) fn notice_gap(&mut self, now: u64) {
        if self.state == State::Waiting && now.saturating_sub(self.now) >= self.plan.patience.dead_after_ms {
            self.in_step_from = self.done;
            // Frames that came meanwhile may still be waiting.
            self.round_since = now;
        }
    }
}
