//! Links that go up and down, and what the policy says about neighbours that are silent for too long.

use super::mutant::Mutant;
use super::send::BACKOFF_MAX;
use super::{Effect, Note, Part, Reason, State};
use crate::plan::{DeadPolicy, PeerId};

/// Who sends so many frames that cannot be right might as well be dead.
pub(super) const LIES_BORNE: u64 = 8;

impl Part {
    pub(super) fn link(&mut self, peer: PeerId, up: bool, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(p) = self.peers.get_mut(peer.0 as usize) else { return };
        if p.up == up {
            return;
        }
        p.up = up;
        p.down_since = now;
        // It may wait for this part, and not know that it has ended.
        p.owes_answer |= up && self.state == State::Finished;
        let peer = p.name.clone();
        effects.push(Effect::Note(if up { Note::LinkUp { peer } } else { Note::LinkDown { peer } }));
    }

    /// Who waits for others says so, so often that nobody takes it for dead.
    pub(super) fn sign_of_life_ms(&self) -> u64 {
        let patience = &self.plan.patience;
        patience.retry_ms.saturating_mul(BACKOFF_MAX).min(patience.dead_after_ms / 4).max(1)
    }

    /// True if nothing is heard of a neighbour, connected or not, although its rows are waited for.
    fn is_silent(&self, k: usize) -> bool {
        let (peer, now, patience) = (&self.peers[k], self.now, self.plan.patience.dead_after_ms);
        let heard = peer.heard_at.max(self.round_since);
        let mute = peer.up && now.saturating_sub(heard) >= patience && !self.is(Mutant::TrustsConnections);
        (!peer.up && now.saturating_sub(peer.down_since) >= patience) || mute
    }

    /// What the policy says about neighbours that are silent for too long.
    pub(super) fn judge_silence(&mut self, effects: &mut Vec<Effect>) {
        let (policy, round) = (self.plan.patience.policy, self.done + 1);
        if self.state != State::Waiting {
            return;
        }
        for k in 0..self.peers.len() {
            let silent = self.is_silent(k);
            let dead = silent || self.peers[k].lies >= LIES_BORNE;
            if !dead || !self.peers[k].counts(round) || self.has_rows(k, round) {
                continue;
            }
            let peer = &mut self.peers[k];
            let name = peer.name.clone();
            if policy == DeadPolicy::Wait {
                if silent && std::mem::replace(&mut peer.silence_noted, round) != round {
                    effects.push(Effect::Note(Note::PeerSilent { peer: name, round }));
                }
                continue;
            }
            effects.push(Effect::Note(Note::PeerDead { peer: name, round }));
            // Who comes and falls silent again and again holds the others up for half of the time, a quarter, an eighth, ...
            let pause = (1u64 << peer.given_up.min(20)) - 1;
            peer.barred_until = self.now.saturating_add(pause.saturating_mul(self.plan.patience.dead_after_ms));
            peer.given_up += 1;
            match policy {
                DeadPolicy::Stop => return self.finish(Reason::PeerLost, effects),
                _ => self.drop_edges(k, effects),
            }
        }
    }
}
