//! What a part remembers of a neighbour: its rows of two rounds, what it has of ours, and when to send again.

use crate::wire::{Frame, NUMBERS_MAX, chunks_of};

/// The rows of one round, as they come in.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    round: u64,
    numbers: Vec<f64>,
    have: Vec<bool>,
    missing: usize,
    /// The residual that came with them.
    pub residual: f64,
}

impl Inbox {
    fn reset(&mut self, round: u64, len: usize) {
        let chunks = chunks_of(len);
        (self.round, self.missing, self.residual) = (round, chunks, 0.0);
        self.numbers.resize(len, 0.0);
        self.have.clear();
        self.have.resize(chunks, false);
    }

    /// True if all rows of the round are there.
    pub fn is_complete(&self, round: u64) -> bool {
        self.round == round && self.missing == 0
    }

    /// The rows, one after another.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }
}

/// A neighbouring part.
#[derive(Debug, Clone)]
pub struct Peer {
    pub name: String,
    /// Numbers that it sends in a round.
    pub len: usize,
    inbox: [Inbox; 2],
    /// First round in which its edges count, and the last.
    pub from: u64,
    pub until: Option<u64>,
    /// All rounds up to this one have reached it.
    pub acked: u64,
    pub up: bool,
    pub down_since: u64,
    pub retry_at: u64,
    pub interval: u64,
    /// It sent something that it would not have sent, had it known what we have.
    pub owes_answer: bool,
    /// It asked about the coupling, which this part has learnt.
    pub owes_coupling: bool,
    /// The round after which it finished.
    pub finished: Option<u64>,
    pub round: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub resent: u64,
    pub refused: u64,
    /// Frames whose content cannot be right.
    pub lies: u64,
}

impl Peer {
    pub fn new(name: String) -> Self {
        Peer {
            name,
            len: 0,
            inbox: Default::default(),
            from: 0,
            until: None,
            acked: 0,
            up: false,
            down_since: 0,
            retry_at: 0,
            interval: 0,
            owes_answer: false,
            owes_coupling: false,
            finished: None,
            round: 0,
            bytes_in: 0,
            bytes_out: 0,
            resent: 0,
            refused: 0,
            lies: 0,
        }
    }

    /// True if its edges count in this round.
    pub fn counts(&self, round: u64) -> bool {
        self.from <= round && self.until.is_none_or(|last| round <= last)
    }

    /// The rows of a round, if that is one of the two that are kept.
    pub fn inbox(&self, round: u64) -> &Inbox {
        &self.inbox[(round % 2) as usize]
    }

    /// True if all rows of the round are there.
    pub fn has(&self, round: u64) -> bool {
        self.inbox(round).is_complete(round)
    }

    /// Takes a chunk of rows of the round in flight or the next, once. Shape and numbers were checked.
    pub fn take(&mut self, frame: &Frame, round: u64) {
        let chunk = usize::from(frame.header.chunk);
        let len = self.len;
        let inbox = &mut self.inbox[(round % 2) as usize];
        if inbox.round != round || inbox.have.is_empty() {
            inbox.reset(round, len);
        }
        if std::mem::replace(&mut inbox.have[chunk], true) {
            return;
        }
        inbox.missing -= 1;
        inbox.residual = inbox.residual.max(frame.header.residual);
        let room = inbox.numbers[chunk * NUMBERS_MAX..].iter_mut();
        room.zip(frame.numbers()).for_each(|(slot, x)| *slot = x);
        self.round = self.round.max(if inbox.missing == 0 { round } else { 0 });
    }

    /// What was kept no longer fits: the number of rows changed.
    pub fn clear(&mut self, len: usize) {
        self.len = len;
        self.inbox = Default::default();
    }

    /// The length that a chunk of its rows must have.
    pub fn chunk_len(&self, chunk: usize) -> usize {
        self.len.saturating_sub(chunk * NUMBERS_MAX).min(NUMBERS_MAX)
    }
}
