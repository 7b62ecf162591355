//! Rounds: beginning, completing, deciding together when to stop.
//!
//! Convergence is decided without a centre. Every `diameter + 1` rounds an epoch begins with the residual of that round;
//! frames carry the largest one heard of, and after `diameter` more rounds everybody knows the same maximum and decides the
//! same. Out of step, see `standstill`.

use fedweave::Matrix;

use super::mutant::Mutant;
use super::state::append_coupling;
use super::{Effect, Note, Outcome, Part, Peer, Reason, Saved, State};
use crate::error::Result;
use crate::kernel::{KernelState, kernel};
use crate::plan::DeadPolicy;
use crate::subproblem::Subproblem;

/// Rounds done in one go when nobody has to be waited for.
const ROUNDS_PER_EVENT: usize = 256;

impl Part {
    /// Completes rounds as long as all rows are there.
    pub(super) fn advance(&mut self, effects: &mut Vec<Effect>) {
        self.more = false;
        for _ in 0..ROUNDS_PER_EVENT {
            if self.state != State::Waiting || !self.is_ready() {
                return;
            }
            self.complete_round(effects);
        }
        self.more = self.state == State::Waiting && self.is_ready();
    }

    fn is_ready(&self) -> bool {
        let round = self.done + 1;
        if self.is(Mutant::NoDedup) {
            return self.has_enough_arrivals();
        }
        (0..self.peers.len()).all(|k| !self.peers[k].counts(round) || self.has_rows(k, round))
    }

    /// Makes the rows of the next round, makes the state durable, and sends them.
    pub(super) fn begin_round(&mut self, effects: &mut Vec<Effect>) {
        self.state = State::Waiting;
        self.round_since = self.now;
        let (round, flows) = (self.done + 1, self.flows());
        let saved = Effect::Persist(self.save(&flows));
        self.kernel.begin();
        self.boundary.record(round, self.epoch_max, &*self.kernel, &self.subproblem.own, &flows);
        if !self.boundary.is_finite(round) {
            return self.finish(Reason::Diverged, effects);
        }
        let late = self.is(Mutant::CheckpointAfterSend);
        if !late {
            effects.push(saved.clone());
        }
        for k in 0..self.peers.len() {
            if self.peers[k].counts(round) {
                self.send_rows(k, round, effects);
                (self.peers[k].interval, self.peers[k].retry_at) =
                    (self.plan.patience.retry_ms, self.now.saturating_add(self.plan.patience.retry_ms));
            }
        }
        if late {
            effects.push(saved);
        }
    }

    fn complete_round(&mut self, effects: &mut Vec<Effect>) {
        let (round, d) = (self.done + 1, self.dim);
        let wrong_sign = self.is(Mutant::WrongSignAtOneEnd);
        let stands = self.stands_still(round);
        let (kernel, said, in_step) = (&mut self.kernel, &mut self.heard, !self.plan.method.is_async());
        let mut heard = 0.0f64;
        for (k, (peer, ghosts)) in self.peers.iter().zip(&self.subproblem.receives).enumerate().filter(|_| in_step) {
            if !peer.counts(round) {
                continue;
            }
            if peer.still.is_none() {
                heard = heard.max(peer.inbox(round).residual);
            }
            if let Some(said) = said {
                said.note(k, peer.rows(round));
            }
            for (&ghost, row) in ghosts.iter().zip(peer.rows(round).chunks_exact(d)) {
                let place = kernel.incoming(ghost as usize);
                place.copy_from_slice(row);
                if wrong_sign && self.plan.name < peer.name {
                    place.iter_mut().for_each(|x| *x = -*x);
                }
            }
        }
        if !self.pay(round, effects) {
            return self.finish(Reason::Spent, effects);
        }
        match stands {
            true => self.kernel.stand_still(),
            false => self.kernel.complete(),
        }
        if self.is(Mutant::DualFromWire) {
            self.take_duals_from_wire();
        }
        let forgets = self.forget_flows_that_differ(round);
        self.done = round;
        self.forget_arrivals();
        if let Some(what) = self.kernel.failure() {
            effects.push(Effect::Note(Note::NotFitted { what }));
            return self.finish(Reason::Diverged, effects);
        }
        let stop = self.decide(heard, forgets, effects);
        match stop {
            Some(reason) => self.finish(reason, effects),
            None => match self.recount() {
                Ok(()) => self.begin_round(effects),
                Err(e) => {
                    effects.push(Effect::Note(Note::NotFitted { what: e.to_string() }));
                    self.finish(Reason::Diverged, effects);
                }
            },
        }
    }

    /// Both ends of an edge begin a round with the same flow, or else both forget it: what they began with went with their rows. A part
    /// that came back may have done rounds again in another way than before.
    fn forget_flows_that_differ(&mut self, round: u64) -> bool {
        let Some(sent) = self.boundary.of_round(round).filter(|_| !self.plan.method.is_async()) else { return false };
        let differs = |(peer, ours): (&Peer, &u32)| {
            peer.counts(round) && peer.still.is_none() && peer.inbox(round).flows != *ours
        };
        let differ: Vec<bool> = self.peers.iter().zip(&sent.flows).map(differs).collect();
        if self.is(Mutant::KeepsFlowsThatDiffer) {
            return false;
        }
        for k in (0..differ.len()).filter(|&k| differ[k]) {
            for &e in self.boundary.edges_to(k) {
                self.subproblem.edges[e as usize].iter().for_each(|&e| self.kernel.forget_flow(e as usize));
            }
        }
        differ.contains(&true)
    }

    /// The reason to stop after this round, if there is one.
    fn decide(&mut self, heard: f64, forgets: bool, effects: &mut Vec<Effect>) -> Option<Reason> {
        let (round, stop) = (self.done, self.plan.stop);
        let mut reason = None;
        if let Some(tolerance) = stop.tolerance {
            let epoch = self.epoch();
            // Who was promised to be counted is waited for, and what was heard before a neighbour went is about another network.
            let comes = self.peers.iter().any(|p| p.is_expected(round));
            let changes = forgets || comes || !self.has_right_subproblem(round);
            self.epoch_max = match round % epoch {
                _ if changes => f64::INFINITY,
                _ if self.plan.method.is_async() && !self.peers.is_empty() => self.residual_standing(round),
                0 => self.kernel.residual(),
                _ => self.epoch_max.max(heard),
            };
            let last = if self.is(Mutant::DecidesTooSoon) { epoch / 2 } else { epoch - 1 };
            if round % epoch == last {
                self.residual = self.epoch_max;
                if self.residual.is_finite() && !self.peers.is_empty() {
                    let note = Note::NetworkResidual { round: round - last, residual: self.residual };
                    effects.push(Effect::Note(note));
                }
                reason = (self.residual <= tolerance).then_some(Reason::Converged);
            }
        }
        if self.leaving {
            reason = reason.or(Some(Reason::Left));
        }
        if round < stop.rounds_max && reason.is_none() {
            reason = self.judge_finished(round, effects);
        }
        reason.or((round >= stop.rounds_max).then_some(Reason::RoundLimit))
    }

    /// Neighbours that have ended before this part: their last rows stand from now on.
    fn judge_finished(&mut self, round: u64, effects: &mut Vec<Effect>) -> Option<Reason> {
        for k in 0..self.peers.len() {
            let peer = &self.peers[k];
            let ended = peer.until.is_none() && peer.still.is_none() && peer.finished.is_some_and(|last| last <= round);
            if peer.counts(round) && ended {
                if self.plan.patience.policy == DeadPolicy::Stop || self.is(Mutant::EndsWithANeighbour) {
                    return Some(Reason::PeerFinished);
                }
                self.let_stand(k, effects);
            }
        }
        None
    }

    /// A neighbour has ended, for whatever reason: nobody but this part decides when it ends itself. The last rows of the
    /// neighbour stand; if they are not there any more, its edges are dropped.
    pub(super) fn let_stand(&mut self, k: usize, effects: &mut Vec<Effect>) {
        let done = self.done;
        let peer = &mut self.peers[k];
        if peer.still.is_some() {
            return;
        }
        let known = self.plan.method.is_async() || (peer.has(done) && done > 0);
        if !known {
            return self.drop_edges(k, effects);
        }
        let peer = &mut self.peers[k];
        peer.still = Some(peer.inbox(done).numbers().to_vec());
        effects.push(Effect::Note(Note::PeerEnded { peer: peer.name.clone(), round: done }));
    }

    /// Goes on without a neighbour from the next round on that is not complete.
    pub(super) fn drop_edges(&mut self, k: usize, effects: &mut Vec<Effect>) {
        self.peers[k].until = Some(self.done);
        let peer = self.peers[k].name.clone();
        effects.push(Effect::Note(Note::EdgesDropped { peer, round: self.done + 1 }));
    }

    pub(super) fn finish(&mut self, reason: Reason, effects: &mut Vec<Effect>) {
        self.state = State::Finished;
        self.told = true;
        // The round in flight never ends.
        self.boundary.forget_after(self.done);
        self.reason = Some(reason);
        // Everybody leaves after this: no checkpoint before the last one may be what is left.
        let last = Effect::Persist(self.save(&self.flows()));
        effects.extend([last.clone(), last]);
        for k in 0..self.peers.len() {
            self.send_finished(k, effects);
        }
        effects.push(Effect::Note(Note::Finished { round: self.done, reason }));
        effects.push(Effect::Done(Box::new(self.outcome(reason))));
    }

    /// The end, as it stands.
    pub(super) fn outcome(&self, reason: Reason) -> Outcome {
        let models = self.kernel.answer().unwrap_or_else(|| self.models());
        Outcome { reason, round: self.done, residual: self.residual, models, flows: self.flows() }
    }

    pub(super) fn save(&self, flows: &Matrix) -> Vec<u8> {
        let saved = Saved {
            done: self.done,
            reason: self.reason,
            epoch_max: self.epoch_max,
            residual: self.residual,
            // Rows that stand are not kept: after a crash the edges are dropped.
            counts: self.peers.iter().map(|p| (p.from, p.until.or(p.still.as_ref().map(|_| self.done)))).collect(),
            w: self.models(),
            u: flows.clone(),
            memory: self.memory(),
            sent: self.boundary.sent.clone(),
        };
        append_coupling(&self.plan, saved.to_bytes(&self.plan, self.sizes()))
    }

    /// Neighbours come and go between rounds: the problem is built anew with those that count in the next one.
    pub(super) fn recount(&mut self) -> Result<()> {
        let (now, next) = (self.done, self.done + 1);
        if self.peers.iter().all(|p| p.counts(now) == p.counts(next)) && self.has_right_subproblem(next) {
            return Ok(());
        }
        let (w, u, memory) = (self.models(), self.flows(), self.kernel.memory());
        self.epoch_max = f64::INFINITY;
        self.rebuild(w, &u, memory)
    }

    fn has_right_subproblem(&self, round: u64) -> bool {
        self.peers.iter().zip(&self.subproblem.counted).all(|(p, counted)| p.counts(round) == *counted)
    }

    /// The problem with the peers that count in the next round, from models of the plan's nodes and flows of its edges.
    pub(super) fn rebuild(&mut self, models: Matrix, flows: &Matrix, memory: Vec<f64>) -> Result<()> {
        let next = self.done + 1;
        let counted: Vec<bool> = self.peers.iter().map(|p| p.counts(next)).collect();
        let (subproblem, problem) = Subproblem::build(&self.plan, |k| counted[k])?;
        let mut w = Matrix::zeros(problem.nodes(), self.dim);
        let mut u = Matrix::zeros(problem.graph().edges(), self.dim);
        for (k, &i) in subproblem.own.iter().enumerate() {
            w.row_mut(i as usize).copy_from_slice(models.row(k));
        }
        for (k, e) in subproblem.edges.iter().enumerate().take(flows.rows()) {
            if let Some(e) = e {
                u.row_mut(*e as usize).copy_from_slice(flows.row(k));
            }
        }
        self.kernel = kernel(&self.plan, &subproblem, problem, Some(KernelState { w, u, memory }))?;
        for (peer, rows) in self.peers.iter_mut().zip(&subproblem.receives) {
            if peer.len != rows.len() * self.dim {
                peer.clear(rows.len() * self.dim);
            }
        }
        self.subproblem = subproblem;
        if self.plan.method.is_async() {
            self.hear_again();
        }
        Ok(())
    }
}
