//! The other side of joining and leaving: what a neighbour answers.

use super::mend::Mending;
use super::{Effect, LIES_BORNE, Note, Part, Peer, Reason, State};
use crate::plan::{DeadPolicy, PeerId};
use crate::wire::{Header, Kind, NUMBERS_MAX, encode};

/// A neighbour does not count, and will not.
pub(super) const NO_AGREEMENT: u64 = u64::MAX;
/// What a joiner says to have received.
pub(super) const IN_NO_ROUND: u64 = u64::MAX;

impl Part {
    /// A part wants to know where we are, or to be counted.
    pub(super) fn receive_join(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        let (k, round) = (from.0 as usize, header.round);
        // Who is in step may ask, too: whether this part knows of an agreement, or agrees to another one.
        (self.peers[k].joins, self.peers[k].elsewhere) = (header.received == IN_NO_ROUND, false);
        if self.peers[k].lies >= LIES_BORNE || self.now < self.peers[k].barred_until {
            return;
        }
        match self.state {
            State::Finished => return self.send_finished(k, effects),
            State::Joining | State::Learning => return,
            State::New | State::Waiting => (),
        }
        // Agreements grow: an old word takes no newer one back.
        if round > self.peers[k].from.max(self.done + 1) && round < u64::MAX / 4 {
            self.agree(k, round, effects);
        }
        match round > 0 && self.peers[k].agreement() == round {
            true => self.send_word(k, Kind::Welcome, round, effects),
            false => self.send_state(k, effects),
        }
    }

    /// The edges to a neighbour count from a round on that is still to come, and not before.
    pub(super) fn agree(&mut self, k: usize, round: u64, effects: &mut Vec<Effect>) {
        let peer = &mut self.peers[k];
        (peer.from, peer.until, peer.acked, peer.round) = (round, None, round - 1, round - 1);
        (peer.finished, peer.still, peer.elsewhere) = (None, None, false);
        peer.mending = Mending::default();
        peer.forget();
        effects.push(Effect::Note(Note::PeerJoins { peer: peer.name.clone(), round }));
    }

    /// The round, from which round on the neighbour counts, and the models of the boundary, where they fit into a frame.
    pub(super) fn send_state(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let (models, boundary) = (self.models(), &self.boundary);
        let rows = boundary.of_peer[k].iter().flat_map(|&b| models.row(boundary.nodes[b as usize] as usize));
        let numbers: Vec<f64> = rows.copied().collect();
        let fits = if numbers.len() <= NUMBERS_MAX { &numbers[..] } else { &[] };
        let header = Header { received: self.peers[k].agreement(), ..self.header(k, Kind::State, self.done) };
        self.send(k, encode(&header, fits), effects);
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
    /// The round from which on its edges count, as was agreed.
    fn agreement(&self) -> u64 {
        if self.until.is_none() { self.from } else { NO_AGREEMENT }
    }

    /// Rows of other rounds are of no use.
    fn forget(&mut self) {
        let len = self.len;
        self.clear(len);
    }
}
