//! What a part remembers of a neighbour: its rows of two rounds, what it has of ours, and when to send again.

use std::collections::BTreeMap;

use super::mend::Mending;
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
    /// The digest of flows that came with them.
    pub flows: u32,
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
    /// The largest residual that it knew of when it sent its newest rows.
    pub residual: f64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub resent: u64,
    pub refused: u64,
    /// The same by reason.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Frames whose content cannot be right.
    pub lies: u64,
    /// The weight of the edges to it.
    pub weight: f64,
    /// Goes into the name of the federation in every frame to and from it: what both ends know of the edges between them.
    pub mask: u64,
    /// When a frame of this federation last came from it.
    pub heard_at: u64,
    /// When it was last told that we are here.
    pub told_at: u64,
    /// How often it was given up because it was silent, and until when it is not counted on again.
    pub given_up: u32,
    pub barred_until: u64,
    /// The round in which its silence was mentioned.
    pub silence_noted: u64,
    /// It says that it goes on without this part.
    pub elsewhere: bool,
    /// It asks to be counted anew.
    pub joins: bool,
    /// It needs rows that are no longer kept.
    pub is_behind: bool,
    /// That it is far ahead was mentioned.
    pub ahead_noted: bool,
    /// It ended before this part; its last rows, which stand from then on.
    pub still: Option<Vec<f64>>,
    /// A proposal to count its edges again.
    pub mending: Mending,
    /// After the end of this part: it does rounds after that one, so that it never needs the last rows again.
    pub is_beyond: bool,
    /// It was told that this part has ended.
    pub told_end: bool,
    /// What the two disagree about: it is told when it is time.
    pub owes_terms: bool,
    pub terms_at: u64,
    pub terms_noted: Option<String>,
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
            residual: f64::INFINITY,
            bytes_in: 0,
            bytes_out: 0,
            resent: 0,
            refused: 0,
            refusals: BTreeMap::new(),
            lies: 0,
            weight: 0.0,
            mask: 0,
            heard_at: 0,
            told_at: 0,
            given_up: 0,
            barred_until: 0,
            silence_noted: 0,
            elsewhere: false,
            joins: false,
            is_behind: false,
            ahead_noted: false,
            still: None,
            mending: Mending::default(),
            is_beyond: false,
            told_end: false,
            owes_terms: false,
            terms_at: 0,
            terms_noted: None,
        }
    }

    /// True if its edges count in this round.
    pub fn counts(&self, round: u64) -> bool {
        self.from <= round && self.until.is_none_or(|last| round <= last)
    }

    /// True if it joins in a later round.
    pub fn is_expected(&self, round: u64) -> bool {
        self.from > round && self.until.is_none()
    }

    /// True until its first rows come after an agreement, which either end may have forgotten in a crash.
    pub fn is_unconfirmed(&self) -> bool {
        self.round < self.from
    }

    /// The rows of a round, if that is one of the two that are kept.
    pub fn inbox(&self, round: u64) -> &Inbox {
        &self.inbox[(round % 2) as usize]
    }

    /// True if all rows of the round are there.
    pub fn has(&self, round: u64) -> bool {
        self.inbox(round).is_complete(round)
    }

    /// The rows for a round: those that came, or the last ones of a part that has ended.
    pub fn rows(&self, round: u64) -> &[f64] {
        self.still.as_deref().unwrap_or(self.inbox(round).numbers())
    }

    /// True if it takes part in our rounds, as far as it says.
    pub fn is_in_step(&self, round: u64) -> bool {
        self.counts(round) && self.still.is_none() && !self.elsewhere && !self.joins
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
        inbox.flows = frame.header.flows;
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
