//! When a part that has ended may go.

use super::{Part, Peer, State};

impl Part {
    /// Every neighbour has all the rows that it needs.
    pub(super) fn is_settled(&self) -> bool {
        self.state == State::Finished && !self.peers.iter().any(|p| self.lacks(p))
    }

    /// After the end: a neighbour may still need the last rows. Those that it has, it may lose in a crash, until it is in a later round or
    /// has ended as well. Who is started again after its end has something to say to all: they may wait for it.
    pub(super) fn lacks(&self, p: &Peer) -> bool {
        let needs = (p.counts(self.done) && !p.is_beyond) || (self.again && !p.told_end);
        self.state == State::Finished && needs && p.finished.is_none()
    }
}
