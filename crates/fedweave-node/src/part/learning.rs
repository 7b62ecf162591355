//! Learning the coupling together, before the rounds: question after question, every part answers with a few sums over its
//! own nodes, passes on what it has heard once, and adds up the answers of all parts in the order of their names. So all
//! have the same totals, and ask the same next question.
//!
//! Answers to one question are a set that only grows: loss, repetition and order do not matter. Nobody can be more than one
//! question ahead of a part whose answer it needs; who is farther behind (it came back with nothing) gets totals, and, when
//! the others have begun their rounds, what was learnt.

use std::sync::Arc;

use fedweave::learn::coupling::shared::{Learner, Member, Question, SharedCoupling, Turn, total};

use super::mutant::Mutant;
use super::send::BACKOFF_MAX;
use super::{Boundary, Effect, Note, Part, Reason, Refusal, State};
use crate::error::Result;
use crate::plan::{DeadPolicy, PeerId};
use crate::wire::{Frame, Header, Kind, NUMBERS_MAX, encode};

/// Totals that go at once to a neighbour that is behind.
const TOTALS_AT_ONCE: u64 = 6;

/// Answers by the places of the members.
type Answers = Vec<Option<Vec<f64>>>;

/// Where a part stands.
pub(super) struct Learning {
    learner: Learner,
    member: Member,
    /// Its own place among the members.
    place: usize,
    question: Option<Question>,
    /// Answers to the question that is open, and to the one after it.
    current: Answers,
    early: Answers,
    /// Questions whose totals each neighbour has.
    answered: Vec<u64>,
}

impl Part {
    /// Asks the first question.
    pub(super) fn begin_learning(&mut self, effects: &mut Vec<Effect>) {
        self.state = State::Learning;
        match self.learning() {
            Ok(learning) => {
                self.learning = Some(Box::new(learning));
                self.ask_next(effects);
            }
            Err(e) => self.give_up(e.to_string(), effects),
        }
    }

    fn learning(&self) -> Result<Learning> {
        let members = self.plan.coupling.as_ref().map_or(&[][..], |coupling| &coupling.members);
        Ok(Learning {
            learner: Learner::new(members.len(), self.plan.data.dim(), self.plan.loss_options.spare_last),
            member: self.plan.member()?,
            place: members.binary_search(&self.plan.name).unwrap_or(0),
            question: None,
            current: vec![None; members.len()],
            early: vec![None; members.len()],
            answered: vec![0; self.peers.len()],
        })
    }

    /// Goes from question to question as long as all answers are there.
    fn ask_next(&mut self, effects: &mut Vec<Effect>) {
        loop {
            let Some(learning) = &mut self.learning else { return };
            match learning.learner.turn() {
                Turn::Ask(question) => {
                    learning.open(question);
                    let own = [learning.place];
                    let retry = self.plan.patience.retry_ms;
                    for k in 0..self.peers.len() {
                        (self.peers[k].interval, self.peers[k].retry_at) = (retry, self.now.saturating_add(retry));
                        self.send_answers(k, &own, false, effects);
                    }
                    if !self.add_up() {
                        return;
                    }
                }
                Turn::Learnt(learnt) => return self.adopt(*learnt, effects),
                Turn::Failed => return self.give_up("the coupling: sums without a meaning".into(), effects),
            }
        }
    }

    /// Adds up the answers to the open question, if all are there.
    fn add_up(&mut self) -> bool {
        let shuffled = self.is(Mutant::AddsFromItselfOn);
        let Some(learning) = &mut self.learning else { return false };
        let Some(question) = learning.question.as_ref().filter(|_| learning.current.iter().all(Option::is_some)) else {
            return false;
        };
        let from = if shuffled { learning.place } else { 0 };
        let (last, first) = learning.current.split_at(from);
        let sum = total(first.iter().chain(last).flatten().map(Vec::as_slice), question);
        learning.learner.answer(sum);
        true
    }

    /// The rounds can begin.
    fn adopt(&mut self, learnt: SharedCoupling, effects: &mut Vec<Effect>) {
        let questions = self.learning.take().map_or(0, |learning| learning.learner.answered() as u64);
        let rho = learnt.coupling.rho;
        match self.prepare_rounds(Arc::new(learnt)) {
            Ok(()) => {
                effects.push(Effect::Note(Note::CouplingLearnt { questions, rho }));
                self.begin_round(effects);
            }
            Err(e) => self.give_up(e.to_string(), effects),
        }
    }

    fn prepare_rounds(&mut self, learnt: Arc<SharedCoupling>) -> Result<()> {
        self.plan = self.plan.clone().with_coupling(learnt)?;
        self.boundary = Boundary::new(&self.plan);
        self.note_plan();
        let (models, flows) = (self.models(), self.flows());
        let zero = |m: &fedweave::Matrix| fedweave::Matrix::zeros(m.rows(), m.cols());
        self.rebuild(zero(&models), &zero(&flows), Vec::new())
    }

    fn give_up(&mut self, what: String, effects: &mut Vec<Effect>) {
        self.learning = None;
        effects.push(Effect::Note(Note::NotFitted { what }));
        self.finish(Reason::Diverged, effects);
    }

    /// Frames about the coupling, whatever this part does.
    pub(super) fn receive_learning(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let k = from.0 as usize;
        if !frame.numbers().all(f64::is_finite) {
            return self.refuse(from, Refusal::NotFinite, effects);
        }
        if self.state != State::Learning {
            // Who still asks is told on the next tick.
            self.peers[k].owes_coupling = frame.header.kind == Kind::Sums && self.plan.learnt().is_some();
            return;
        }
        match frame.header.kind {
            Kind::Sums => self.receive_answers(from, frame, effects),
            Kind::Total => self.receive_total(from, frame, effects),
            _ => {
                let numbers: Vec<f64> = frame.numbers().collect();
                match SharedCoupling::from_numbers(&numbers, self.plan.data.dim()) {
                    Ok(learnt) => self.adopt(learnt, effects),
                    Err(_) => self.refuse(from, Refusal::Shape { numbers: numbers.len() }, effects),
                }
            }
        }
    }

    fn receive_answers(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let (k, now) = (from.0 as usize, self.now);
        let Some(learning) = &mut self.learning else { return };
        let open = learning.learner.answered() as u64;
        let Some(answers) = learning.read(frame) else {
            return self.refuse(from, Refusal::Shape { numbers: frame.len() }, effects);
        };
        learning.answered[k] = learning.answered[k].max(frame.header.received.min(open + 1));
        if frame.header.received < open {
            // It is behind: it gets totals on the next tick. It may have lost what it had.
            learning.answered[k] = frame.header.received;
            self.peers[k].retry_at = self.peers[k].retry_at.min(now);
        }
        let early = frame.header.round == open + 1;
        if frame.header.round != open && !early {
            return;
        }
        let slots = if early { &mut learning.early } else { &mut learning.current };
        let mut news = Vec::new();
        for (place, answer) in answers {
            if slots[place].is_none() {
                slots[place] = Some(answer);
                news.push(place);
            }
        }
        if news.is_empty() {
            return;
        }
        for other in (0..self.peers.len()).filter(|other| *other != k) {
            self.send_answers(other, &news, early, effects);
        }
        if self.add_up() {
            self.ask_next(effects);
        }
    }

    fn receive_total(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let Some(learning) = &mut self.learning else { return };
        let Some(question) = &learning.question else { return };
        if frame.header.round != learning.learner.answered() as u64 {
            return;
        }
        if frame.len() != question.numbers() {
            return self.refuse(from, Refusal::Shape { numbers: frame.len() }, effects);
        }
        learning.learner.answer(frame.numbers().collect());
        self.ask_next(effects);
    }

    /// What neighbours may lack, when it is time.
    pub(super) fn tick_learning(&mut self, effects: &mut Vec<Effect>) {
        for k in 0..self.peers.len() {
            let (now, patience) = (self.now, self.plan.patience);
            let peer = &mut self.peers[k];
            let silent = !peer.up && now.saturating_sub(peer.down_since) >= patience.dead_after_ms;
            if silent && patience.policy == DeadPolicy::Stop {
                effects.push(Effect::Note(Note::PeerDead { peer: peer.name.clone(), round: 0 }));
                self.learning = None;
                return self.finish(Reason::PeerLost, effects);
            }
            if now < peer.retry_at || self.is(Mutant::NoRetransmission) {
                continue;
            }
            let peer = &mut self.peers[k];
            let shortest = patience.retry_ms;
            peer.retry_at = now.saturating_add(peer.interval);
            peer.interval = peer.interval.saturating_mul(2).clamp(shortest, shortest.saturating_mul(BACKOFF_MAX));
            peer.resent += 1;
            self.send_what_is_lacking(k, effects);
        }
    }

    fn send_what_is_lacking(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let Some(learning) = &self.learning else { return };
        let (has, open) = (learning.answered[k], learning.learner.answered() as u64);
        for round in has..open.min(has + TOTALS_AT_ONCE) {
            let Some(learning) = &self.learning else { return };
            let bytes = encode(&self.learning_header(Kind::Total, round), &learning.learner.totals()[round as usize]);
            self.send(k, bytes, effects);
        }
        let known: Vec<usize> = match &self.learning {
            Some(learning) => (0..learning.current.len()).filter(|m| learning.current[*m].is_some()).collect(),
            None => return,
        };
        self.send_answers(k, &known, false, effects);
    }

    /// Answers of some members to the open question, or to the one after it, in as few frames as possible.
    fn send_answers(&mut self, k: usize, places: &[usize], early: bool, effects: &mut Vec<Effect>) {
        let Some(learning) = &self.learning else { return };
        let answers = if early { &learning.early } else { &learning.current };
        let round = learning.learner.answered() as u64 + u64::from(early);
        let numbers = places.iter().filter_map(|m| answers[*m].as_ref()).map(Vec::len).max().unwrap_or(0);
        let mut frames = Vec::new();
        for some in places.chunks(((NUMBERS_MAX - 1) / (numbers + 1)).max(1)) {
            let record = |m: &usize| Some([*m as f64].into_iter().chain(answers[*m].as_ref()?.iter().copied()));
            let records = some.iter().filter_map(record).flatten();
            let body: Vec<f64> = [numbers as f64].into_iter().chain(records).collect();
            frames.push(encode(&self.learning_header(Kind::Sums, round), &body));
        }
        frames.into_iter().for_each(|bytes| self.send(k, bytes, effects));
    }

    /// What was learnt, for a neighbour that still asks.
    pub(super) fn send_coupling(&mut self, k: usize, effects: &mut Vec<Effect>) {
        if let Some(learnt) = self.plan.learnt().filter(|_| self.peers[k].owes_coupling) {
            let bytes = encode(&self.learning_header(Kind::Coupling, 0), &learnt.to_numbers());
            self.send(k, bytes, effects);
        }
        self.peers[k].owes_coupling = false;
    }

    fn learning_header(&self, kind: Kind, round: u64) -> Header {
        let received = self.learning.as_ref().map_or(0, |learning| learning.learner.answered() as u64);
        let federation = self.plan.federation_to_learn();
        Header { kind, chunk: 0, chunks: 1, federation, round, received, residual: 0.0, flows: 0 }
    }
}

impl Learning {
    /// Opens a question: answers that came early are there already, and the own one is added.
    fn open(&mut self, question: Question) {
        let none = vec![None; self.early.len()];
        self.current = std::mem::replace(&mut self.early, none);
        let fits = |answer: &Vec<f64>| answer.len() == question.numbers();
        self.current.iter_mut().for_each(|answer| *answer = answer.take().filter(fits));
        self.current[self.place] = Some(self.member.answer(&question));
        self.question = Some(question);
    }

    /// The answers in a frame; `None` if they cannot be any.
    fn read(&self, frame: &Frame) -> Option<Vec<(usize, Vec<f64>)>> {
        let numbers: Vec<f64> = frame.numbers().collect();
        let (first, rest) = numbers.split_first()?;
        let len = *first as usize;
        let open = frame.header.round == self.learner.answered() as u64;
        let expected = self.question.as_ref().map(Question::numbers).filter(|_| open);
        let fits = len as f64 == *first && (1..NUMBERS_MAX).contains(&len) && expected.is_none_or(|e| e == len);
        if !fits || !rest.len().is_multiple_of(len + 1) {
            return None;
        }
        let place = |x: f64| Some(x as usize).filter(|m| *m as f64 == x && *m < self.current.len());
        rest.chunks_exact(len + 1).map(|record| Some((place(record[0])?, record[1..].to_vec()))).collect()
    }
}
