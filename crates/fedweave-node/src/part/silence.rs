//! Links that go up and down, and what the policy says about neighbours that are silent for too long.

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
        let peer = p.name.clone();
        effects.push(Effect::Note(if up { Note::LinkUp { peer } } else { Note::LinkDown { peer } }));
    }

    /// What the policy says about neighbours that are silent for too long.
    pub(super) fn judge_silence(&mut self, effects: &mut Vec<Effect>) {
        let (patience, now, round) = (self.plan.patience, self.now, self.done + 1);
        if patience.policy == DeadPolicy::Wait || self.state != State::Waiting {
            return;
        }
        for k in 0..self.peers.len() {
            let peer = &self.peers[k];
            let silent = !peer.up && now.saturating_sub(peer.down_since) >= patience.dead_after_ms;
            let dead = silent || peer.lies >= LIES_BORNE;
            if !dead || !peer.counts(round) || self.has_rows(k, round) {
                continue;
            }
            let name = peer.name.clone();
            effects.push(Effect::Note(Note::PeerDead { peer: name, round }));
            match patience.policy {
                DeadPolicy::Stop => return self.finish(Reason::PeerLost, effects),
                _ => self.drop_edges(k, effects),
            }
        }
    }
}
