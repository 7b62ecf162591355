//! The other side of joining and leaving: what a neighbour answers.

use super::{Effect, LIES_BORNE, Note, Part, Peer, Reason, State};
use crate::plan::{DeadPolicy, PeerId};
use crate::wire::{Header, Kind, NUMBERS_MAX, encode};

impl Part {
    /// A part wants to know where we are, or to be counted.
    pub(super) fn receive_join(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        let (k, round) = (from.0 as usize, header.round);
        (self.peers[k].joins, self.peers[k].elsewhere) = (true, false);
        self.go_on_without(k, effects);
        if self.peers[k].lies >= LIES_BORNE || self.now < self.peers[k].barred_until {
            return;
        }
        match self.state {
            State::Finished => return self.send_finished(k, effects),
            State::Joining | State::Learning => return,
            State::New | State::Waiting => (),
        }
        let (done, peer) = (self.done, &mut self.peers[k]);
        if round > done + 1 && round < u64::MAX / 4 {
            if (peer.from, peer.until) != (round, None) {
                (peer.from, peer.until, peer.acked, peer.round) = (round, None, round - 1, round - 1);
                (peer.finished, peer.still) = (None, None);
                peer.forget();
                effects.push(Effect::Note(Note::PeerJoins { peer: peer.name.clone(), round }));
            }
            self.send_word(k, Kind::Welcome, round, effects);
        } else if round > 0 && peer.from == round && peer.until.is_none() {
            self.send_word(k, Kind::Welcome, round, effects);
        } else {
            self.send_state(k, effects);
        }
    }

    /// Who asks to join is not in step: its rows of this round will not come.
    fn go_on_without(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let (round, continues) = (self.done + 1, self.plan.patience.policy == DeadPolicy::Continue);
        if continues && self.state == State::Waiting && self.peers[k].counts(round) && !self.has_rows(k, round) {
            self.drop_edges(k, effects);
        }
    }

    /// The round and the models of the boundary, where they fit into a frame.
    pub(super) fn send_state(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let (models, boundary) = (self.models(), &self.boundary);
        let rows = boundary.of_peer[k].iter().flat_map(|&b| models.row(boundary.nodes[b as usize] as usize));
        let numbers: Vec<f64> = rows.copied().collect();
        let fits = if numbers.len() <= NUMBERS_MAX { &numbers[..] } else { &[] };
        self.send(k, encode(&self.header(k, Kind::State, self.done), fits), effects);
    }

    /// A neighbour leaves after a round; what it sent until then counts.
    pub(super) fn receive_leave(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        self.note_received(from, header);
        let (k, stops) = (from.0 as usize, self.plan.patience.policy == DeadPolicy::Stop);
        let peer = &mut self.peers[k];
        if peer.until.is_some() || header.round < peer.from {
            return;
        }
        peer.until = Some(header.round);
        peer.finished = Some(header.round);
        let name = peer.name.clone();
        effects.push(Effect::Note(Note::PeerLeft { peer: name, round: header.round }));
        if stops && self.state == State::Waiting {
            self.finish(Reason::PeerLost, effects);
        }
    }
}

impl Peer {
    /// Rows of other rounds are of no use.
    fn forget(&mut self) {
        let len = self.len;
        self.clear(len);
    }
}
