//! Coming back and coming new. A part that its neighbours no longer (or not yet) count asks them for their rounds and models,
//! proposes a round that is far enough ahead of all, and takes part from there on once everybody has agreed. Its edges start
//! without flow at both ends.
//!
//! ```text
//! joiner                      neighbour
//!   Join 0        ->                         "where are you?"
//!                 <-          State r        its round and models
//!   Join R        ->                         R > r, a multiple of the epoch
//!                 <-          Welcome R      it counts the joiner from round R on
//!                 <-          State r        too late: the joiner proposes a later round
//! ```
//!
//! Neighbours may lie. The round is chosen by those who hold more than half of the weight of all that answer; who is too far
//! ahead of them, or late too often, is left out, unless those are most of them: then rounds are fast, and proposals go farther
//! ahead. A new part starts from the median of the models, by weight.

use super::mend::{MARGIN, MARGIN_MAX, Mending};
use super::mutant::Mutant;
use super::welcome::NO_AGREEMENT;
use super::{Effect, Note, Part, Reason, Refusal, State};
use crate::error::Result;
use crate::plan::{DeadPolicy, PeerId, Plan};
use crate::wire::{Frame, Header, Kind};

/// Who is too late for so many proposals is left out, where most others are not.
const LATE_MAX: u32 = 4;

/// What a joiner has heard.
#[derive(Debug, Clone)]
pub struct Joining {
    /// The round proposed; 0 while neighbours are asked.
    target: u64,
    margin: u64,
    /// Rounds of the neighbours.
    offers: Vec<Option<u64>>,
    pub(super) welcomed: Vec<bool>,
    /// Proposals for which each neighbour was too late.
    late: Vec<u32>,
    /// Models of the neighbours' nodes.
    pub(super) models: Vec<Vec<f64>>,
    /// The own models are worth keeping.
    warm: bool,
    retry_at: u64,
    /// When the neighbours were asked, or the last round was proposed.
    since: u64,
}

impl Joining {
    pub(super) fn new(peers: usize, warm: bool, now: u64) -> Self {
        Joining {
            target: 0,
            margin: MARGIN,
            offers: vec![None; peers],
            welcomed: vec![false; peers],
            late: vec![0; peers],
            models: vec![Vec::new(); peers],
            warm,
            retry_at: 0,
            since: now,
        }
    }

    /// True if a neighbour could take part from the proposed round on.
    fn can_make_it(&self, k: usize) -> bool {
        self.offers[k].is_some_and(|round| round + 1 < self.target)
    }
}

impl Part {
    /// A part that joins a federation which is under way: with the models of a checkpoint, or with the mean of its neighbours'.
    pub fn joining(plan: Plan, checkpoint: Option<&[u8]>) -> Result<Self> {
        if plan.is_to_learn() && checkpoint.is_none() {
            let needs = "all its parts from the start: what a new one has cannot be learnt from any more";
            return Err(fedweave::Error::Method { method: "learnt coupling", needs }.into());
        }
        let mut part = match checkpoint {
            Some(bytes) => Part::restore(plan, bytes)?,
            None => Part::new(plan)?,
        };
        if !part.peers.is_empty() {
            (part.state, part.reason) = (State::Joining, None);
            part.joining = Some(Joining::new(part.peers.len(), checkpoint.is_some(), 0));
        }
        Ok(part)
    }

    /// The joiner's side of a tick.
    pub(super) fn ask_to_join(&mut self, effects: &mut Vec<Effect>) {
        let Some(mut joining) = self.joining.take() else { return };
        if joining.since == 0 {
            joining.since = self.now;
        }
        // Silent neighbours are waited for only by those who wait for the dead; other joiners never: they wait as well.
        let waited = self.now.saturating_sub(joining.since) >= self.plan.patience.dead_after_ms;
        let proposed = joining.target > 0;
        let patient = self.plan.patience.policy == DeadPolicy::Wait || !waited;
        let is_there = |k: usize| self.peers[k].up && self.peers[k].finished.is_none();
        let joins = |k: usize| self.peers[k].joins && !self.is(Mutant::WaitsForJoiners);
        // Who joins itself no longer is where it said it was.
        (0..self.peers.len()).filter(|&k| !is_there(k) || joins(k)).for_each(|k| joining.offers[k] = None);
        let waits_for = |k: usize| is_there(k) && !joins(k) && patient;
        let heard_all = (0..self.peers.len()).all(|k| !waits_for(k) || joining.offers[k].is_some());
        if joining.target == 0 && heard_all {
            self.propose(&mut joining);
        }
        // It may be too late: neighbours have finished, or will have before the round that is proposed, and the others are silent or
        // joiners, who wait for each other.
        let finished = |k: usize| self.peers[k].finished.is_some();
        let is_gone = |k: usize| finished(k) || (!patient && joining.offers[k].is_none()) || (waited && joins(k));
        let nobody_is_left = (0..self.peers.len()).any(finished) && (0..self.peers.len()).all(is_gone);
        if nobody_is_left || joining.target > self.plan.stop.rounds_max {
            return self.stay_behind(effects);
        }
        if !patient && proposed {
            if joining.welcomed.contains(&true) {
                return self.enter(&joining, effects);
            }
            joining = Joining::new(self.peers.len(), joining.warm, self.now);
        }
        if self.now >= joining.retry_at {
            joining.retry_at = self.now.saturating_add(self.plan.patience.retry_ms);
            for k in 0..self.peers.len() {
                match joining.offers[k] {
                    None if self.peers[k].finished.is_none() => self.send_word(k, Kind::Join, 0, effects),
                    Some(_) if joining.can_make_it(k) && !joining.welcomed[k] => {
                        self.send_word(k, Kind::Join, joining.target, effects);
                    }
                    _ => (),
                }
            }
        }
        self.joining = Some(joining);
        self.enter_if_agreed(effects);
    }

    /// Nobody is left to join. A part that was away stops as it is; one that was not goes on alone: nobody's word ends it.
    fn stay_behind(&mut self, effects: &mut Vec<Effect>) {
        if self.was_away() {
            return self.finish(Reason::PeerFinished, effects);
        }
        let round = self.done + 1;
        self.peers.iter_mut().filter(|p| p.counts(round)).for_each(|p| p.until = Some(round - 1));
        effects.push(Effect::Note(Note::Alone { round }));
        match self.recount() {
            Ok(()) => self.begin_round(effects),
            Err(_) => self.finish(Reason::Diverged, effects),
        }
    }

    /// The first round far enough ahead of the others in which an epoch begins.
    fn propose(&self, joining: &mut Joining) {
        let Some(sure) = self.majority(joining) else { return };
        let near =
            |k: usize, round: u64| round <= sure.saturating_add(2 * joining.margin) && !self.is_left_out(joining, k);
        let offers = joining.offers.iter().enumerate().filter_map(|(k, offer)| Some((k, (*offer)?)));
        let newest = match self.is(Mutant::BelievesTheFarthest) {
            true => joining.offers.iter().flatten().copied().max().unwrap_or(sure),
            false => offers.filter(|(k, round)| near(*k, *round)).map(|(_, round)| round).max().unwrap_or(sure),
        };
        // Nor does it go back itself: rows of a round are sent once.
        let ahead = |round: u64, margin: u64| (round.max(self.done) + margin).next_multiple_of(self.epoch());
        // Only the majority puts a proposal beyond the last round.
        joining.target = match ahead(newest.max(sure), joining.margin) {
            target if target > self.plan.stop.rounds_max && !self.is(Mutant::BelievesTheFarthest) => {
                ahead(sure, MARGIN)
            }
            target => target,
        };
        joining.welcomed.fill(false);
        joining.since = self.now;
    }

    /// A neighbour that was late too often, while those who hold at least half of the weight of all that answered were not.
    fn is_left_out(&self, joining: &Joining, k: usize) -> bool {
        let weigh = |of: &dyn Fn(usize) -> bool| {
            (0..self.peers.len()).filter(|&k| joining.offers[k].is_some() && of(k)).map(|k| self.peers[k].weight).sum()
        };
        let is_late = |k: usize| joining.late[k] >= LATE_MAX;
        let (late, all): (f64, f64) = (weigh(&is_late), weigh(&|_| true));
        is_late(k) && late <= all / 2.0
    }

    /// The largest round that neighbours have reached who hold more than half of the weight of all that answered.
    fn majority(&self, joining: &Joining) -> Option<u64> {
        let mut offers: Vec<(u64, f64)> =
            joining.offers.iter().zip(&self.peers).filter_map(|(offer, p)| Some(((*offer)?, p.weight))).collect();
        offers.sort_by_key(|(round, _)| std::cmp::Reverse(*round));
        let total: f64 = offers.iter().map(|(_, weight)| weight).sum();
        let mut reached = 0.0;
        let passed = offers.iter().find(|(_, weight)| {
            reached += weight;
            reached > total / 2.0
        });
        passed.or(offers.last()).map(|(round, _)| *round)
    }

    /// A neighbour's answer. Without having asked, it means: you are not counted.
    pub(super) fn receive_state(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let (k, round) = (from.0 as usize, frame.header.round);
        if !frame.numbers().all(f64::is_finite) || round > u64::MAX / 4 {
            return self.refuse(from, Refusal::NotFinite, effects);
        }
        self.peers[k].joins = false;
        let agreed = frame.header.received;
        // A word from before the agreement is about a round before it.
        let disowns = agreed != self.peers[k].from && round + 1 >= self.peers[k].from;
        if self.joining.is_none() && self.state == State::Waiting && (round > self.done + 2 || disowns) {
            self.goes_on_without_us(k, round, effects);
        }
        self.mend_later(k, &frame.header);
        let Some(mut joining) = self.joining.take() else { return };
        // It takes no agreement back for an earlier one.
        let round = if agreed == NO_AGREEMENT { round } else { round.max(agreed) };
        if joining.target == 0 || agreed != joining.target {
            joining.offers[k] = Some(round);
        }
        joining.models[k] = frame.numbers().collect();
        joining.welcomed[k] |= joining.target > 0 && agreed == joining.target && joining.can_make_it(k);
        let is_late = joining.target > 0 && round + 1 >= joining.target && !joining.welcomed[k];
        if is_late && !self.is_left_out(&joining, k) {
            joining.late[k] += 1;
            joining.margin = (2 * joining.margin).min(MARGIN_MAX);
            self.propose(&mut joining);
        }
        self.joining = Some(joining);
        self.enter_if_agreed(effects);
    }

    /// A neighbour will count on this part from the proposed round on.
    pub(super) fn receive_welcome(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        let k = from.0 as usize;
        if header.round == self.peers[k].from {
            // It is on its way to the round from which both count.
            self.peers[k].heard_at = self.now;
        }
        self.mended(k, header.round, effects);
        let Some(joining) = &mut self.joining else { return };
        if header.round == joining.target && joining.can_make_it(k) {
            joining.welcomed[k] = true;
            self.enter_if_agreed(effects);
        }
    }

    /// Takes part once all who can have agreed.
    fn enter_if_agreed(&mut self, effects: &mut Vec<Effect>) {
        let Some(joining) = self.joining.take_if(|j| {
            let agreed = |k: usize| j.welcomed[k] || !j.can_make_it(k);
            j.target > 0 && j.welcomed.contains(&true) && (0..j.offers.len()).all(agreed)
        }) else {
            return;
        };
        self.enter(&joining, effects);
    }

    /// Everybody has agreed.
    fn enter(&mut self, joining: &Joining, effects: &mut Vec<Effect>) {
        self.done = joining.target - 1;
        self.in_step_from = self.done;
        for (peer, welcomed) in self.peers.iter_mut().zip(&joining.welcomed) {
            // Another joiner, welcomed by this part before it had to join itself: that round still holds.
            let promised = peer.is_expected(self.done);
            (peer.from, peer.until) = match *welcomed {
                true => (joining.target, None),
                false if promised => (peer.from, None),
                false => (0, Some(0)),
            };
            let before = self.done.max(peer.from.saturating_sub(1));
            (peer.acked, peer.round, peer.elsewhere, peer.still) = (before, before, false, None);
            (peer.ahead_noted, peer.finished, peer.mending) = (false, None, Mending::default());
        }
        self.boundary.sent.clear();
        (self.epoch_max, self.residual) = (f64::INFINITY, f64::INFINITY);
        let mut models = self.models();
        // Predictions need no warm start: after one round nothing is left of a model but what its neighbours say.
        if !joining.warm && !self.plan.method.is_on_predictions() {
            self.warm_start(joining, &mut models);
        }
        let (flows, memory) = (self.flows(), self.kernel.memory());
        if let Err(e) = self.rebuild(models, &flows, memory) {
            effects.push(Effect::Note(Note::NotFitted { what: e.to_string() }));
            return self.finish(Reason::Diverged, effects);
        }
        effects.push(Effect::Note(Note::Joined { round: joining.target }));
        self.begin_round(effects);
    }
}
