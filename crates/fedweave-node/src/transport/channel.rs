//! Neighbours in the same process, for tests: reliable, ordered, always up.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::{Arrival, Transport};

/// One end of a network of channels.
pub struct ChannelTransport {
    /// For each neighbour: its inbox, and our place in its list.
    neighbours: Vec<(Sender<Arrival>, usize)>,
    inbox: Receiver<Arrival>,
}

/// Joins the parts of a network; `neighbours[p]` lists those of part `p`, and neighbourhood must be mutual.
pub fn network(neighbours: &[Vec<usize>]) -> Vec<ChannelTransport> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = neighbours.iter().map(|_| channel()).unzip();
    let place = |of: usize, at: usize| neighbours[at].iter().position(|&q| q == of).expect("neighbourhood is mutual");
    let join = |(p, inbox): (usize, Receiver<Arrival>)| {
        let towards = |&q: &usize| (senders[q].clone(), place(p, q));
        (0..neighbours[p].len()).for_each(|k| senders[p].send(Arrival::Up(k)).expect("the inbox is here"));
        ChannelTransport { neighbours: neighbours[p].iter().map(towards).collect(), inbox }
    };
    inboxes.into_iter().enumerate().map(join).collect()
}

impl Transport for ChannelTransport {
    fn send(&mut self, to: usize, frame: &[u8]) {
        let (inbox, from) = &self.neighbours[to];
        // A neighbour that has finished needs no more frames.
        let _ = inbox.send(Arrival::Frame { from: *from, bytes: frame.to_vec() });
    }

    fn receive(&mut self, wait: Duration) -> Option<Arrival> {
        self.inbox.recv_timeout(wait).ok()
    }
}

impl Drop for ChannelTransport {
    fn drop(&mut self) {
        self.neighbours.iter().for_each(|(inbox, from)| drop(inbox.send(Arrival::Down(*from))));
    }
}
