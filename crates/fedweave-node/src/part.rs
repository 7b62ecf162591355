//! One part of a federation as a plain state machine: events in, effects out. No clock, socket, thread or random source of
//! its own, so a simulator, one process and many hosts run the same code and get the same bits.
//!
//! Round `r`: the nodes update, the state is made durable, the boundary rows of round `r` go to every neighbouring part, and
//! when theirs are there the edges update. See `docs/protocol.md`.

mod boundary;
mod claims;
mod ending;
mod event;
mod in_step;
mod join;
mod learning;
mod mend;
mod mutant;
mod note;
mod pay;
mod peer;
mod receive;
mod rounds;
mod send;
mod silence;
mod standstill;
mod state;
mod suspect;
mod terms;
mod warm_start;
mod welcome;

use fedweave::Matrix;
use fedweave::model::Fitted;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, kernel, memory_len};
use crate::plan::{PeerId, Plan};
use crate::subproblem::Subproblem;
use crate::wire::chunks_of;
use boundary::Boundary;
pub use boundary::ROUNDS_KEPT;
pub use event::{Effect, Event};
pub use in_step::InStep;
use join::Joining;
use learning::Learning;
#[cfg(test)]
pub(crate) use mutant::Mutant;
pub use note::{Note, Outcome, PeerStatus, Reason, State, Status};
use peer::Peer;
use receive::Refusal;
use silence::LIES_BORNE;
pub use state::fingerprint;
use state::{Saved, Sizes, rows_digest};

/// See [`Part::burden_borne`].
const BURDEN_BORNE: u64 = 256;

/// One part of a federation.
pub struct Part {
    plan: Plan,
    subproblem: Subproblem,
    kernel: Box<dyn Kernel>,
    boundary: Boundary,
    peers: Vec<Peer>,
    state: State,
    joining: Option<Joining>,
    learning: Option<Box<Learning>>,
    done: u64,
    reason: Option<Reason>,
    /// The largest residual heard of in this epoch.
    epoch_max: f64,
    /// The largest residual of the network, as last computed.
    residual: f64,
    now: u64,
    leaving: bool,
    /// The end was told.
    told: bool,
    /// It was started again after its end.
    again: bool,
    /// Rounds are left that need nobody.
    more: bool,
    dim: usize,
    /// Rows on their way out.
    numbers: Vec<f64>,
    /// The round after which it last began, came back, or was held up: from some rounds later on it knows that it is in step.
    in_step_from: u64,
    /// When the round in flight began.
    round_since: u64,
    /// A digest of the rows of data.
    rows: u64,
    /// What neighbours said last, if they are judged.
    heard: Option<suspect::Heard>,
    #[cfg(test)]
    mutant: Option<Mutant>,
    #[cfg(test)]
    arrivals: usize,
}

impl Part {
    /// A part that starts from zero.
    pub fn new(plan: Plan) -> Result<Self> {
        let (subproblem, problem) = Subproblem::build(&plan, |_| true)?;
        let kernel = kernel(&plan, &subproblem, problem, None)?;
        let part = Self::with(plan, subproblem, kernel);
        // The number of a frame among those of a round has two bytes.
        let largest = part.peers.iter().map(|p| p.len).max().unwrap_or(0);
        if chunks_of(largest) > usize::from(u16::MAX) {
            let needs = "at most 524280000; use fewer public rows or smaller parts";
            return Err(Error::Setting { name: "numbers for a neighbour", value: largest as f64, needs });
        }
        Ok(part)
    }

    /// A part that goes on from a checkpoint: the bytes of the last [`Effect::Persist`] that is still there.
    pub fn restore(plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        let (plan, checkpoint) = state::with_saved_coupling(plan, checkpoint)?;
        let mut part = Self::new(plan)?;
        let saved = Saved::from_bytes(checkpoint, &part.plan, part.sizes())?;
        for (peer, &(from, until)) in part.peers.iter_mut().zip(&saved.counts) {
            (peer.from, peer.until) = (from, until);
        }
        part.done = saved.done;
        part.reason = saved.reason;
        (part.epoch_max, part.residual) = (saved.epoch_max, saved.residual);
        part.boundary.sent = saved.sent;
        let memory = part.check_releases(saved.memory)?;
        part.rebuild(saved.w, &saved.u, memory)?;
        let done = part.done;
        part.in_step_from = done;
        // Who is started again after its end is so because somebody may lack its last rows: nobody is believed to have them.
        let known = if part.reason.is_none() { done } else { 0 };
        part.peers.iter_mut().for_each(|p| p.acked = known);
        if part.reason.is_some() {
            (part.state, part.again) = (State::Finished, true);
        }
        Ok(part)
    }

    fn with(plan: Plan, subproblem: Subproblem, kernel: Box<dyn Kernel>) -> Self {
        let dim = kernel.models().cols();
        let mut peers: Vec<Peer> = plan.peers.iter().map(|name| Peer::new(name.clone())).collect();
        peers.iter_mut().zip(&subproblem.receives).for_each(|(peer, rows)| peer.clear(rows.len() * dim));
        let mut part = Part {
            boundary: Boundary::new(&plan),
            plan,
            subproblem,
            kernel,
            peers,
            state: State::New,
            joining: None,
            learning: None,
            done: 0,
            reason: None,
            epoch_max: f64::INFINITY,
            residual: f64::INFINITY,
            now: 0,
            leaving: false,
            told: false,
            again: false,
            more: false,
            dim,
            numbers: Vec::new(),
            in_step_from: 0,
            round_since: 0,
            rows: 0,
            heard: None,
            #[cfg(test)]
            mutant: None,
            #[cfg(test)]
            arrivals: 0,
        };
        part.note_plan();
        part
    }

    /// What follows from the plan and is needed often.
    fn note_plan(&mut self) {
        self.rows = rows_digest(&self.plan);
        for k in 0..self.peers.len() {
            let id = PeerId(k as u32);
            self.peers[k].mask = self.plan.link_mask(id);
            self.peers[k].weight = self.plan.edges.iter().filter(|e| e.peer == Some(id)).map(|e| e.weight).sum();
        }
    }

    /// Takes in what happened and appends what is to be done.
    pub fn handle(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Frame { from, bytes } => self.receive(from, bytes, effects),
            Event::Tick { now } => self.tick(now, effects),
            Event::LinkUp(peer) => self.link(peer, true, effects),
            Event::LinkDown(peer) => self.link(peer, false, effects),
            Event::Leave => self.leaving = true,
        }
        self.advance(effects);
    }

    /// True if rounds are left that need nobody else: the next tick may come at once.
    pub fn wants_tick(&self) -> bool {
        self.more
    }

    /// True before the rounds, while the coupling is learnt.
    pub(crate) fn is_learning(&self) -> bool {
        self.state == State::Learning
    }

    /// Rounds done.
    pub fn round(&self) -> u64 {
        self.done
    }

    /// The round of the newest rows that came from a neighbour.
    pub fn newest_rows_of(&self, peer: usize) -> u64 {
        self.peers[peer].round
    }

    /// Kilobytes, and a bit for each frame, that may well come from a neighbour without anything new in them; more are a flood.
    pub fn burden_borne(&self, peer: usize) -> u64 {
        let len = self.peers[peer].len;
        match self.is_learning() {
            true => u64::MAX,
            false => BURDEN_BORNE + 4 * (chunks_of(len) as u64 + 8 * len as u64 / 1024),
        }
    }

    /// The digest of flows that went to a neighbour with the rows of a round, if these are still kept.
    pub(crate) fn flows_sent(&self, to: PeerId, round: u64) -> Option<u32> {
        self.boundary.flows_of(to.0 as usize, round)
    }

    /// Where the part stands.
    pub fn status(&self) -> Status {
        let peers = self.peers.iter().enumerate().map(|(k, p)| PeerStatus {
            name: p.name.clone(),
            up: p.up,
            counted: p.counts(if self.reason.is_some() { self.done } else { self.done + 1 }) && p.still.is_none(),
            round: p.round,
            bytes_in: p.bytes_in,
            bytes_out: p.bytes_out,
            resent: p.resent,
            refused: p.refused,
            refusals: p.refusals.clone(),
            stands: p.still.is_some(),
            lacks: self.lacks(p),
            in_step: p.is_in_step(self.done + 1),
            awaited: self.state == State::Waiting && p.counts(self.done + 1) && !self.has_rows(k, self.done + 1),
        });
        Status {
            round: self.done,
            state: self.state,
            residual: Some(self.residual).filter(|r| r.is_finite()),
            settled: self.is_settled(),
            peers: peers.collect(),
        }
    }

    /// The models as they are, a row per node of the plan.
    pub fn models(&self) -> Matrix {
        let mut models = Matrix::zeros(self.subproblem.own.len(), self.dim);
        let w = self.kernel.models();
        for (k, &i) in self.subproblem.own.iter().enumerate() {
            models.row_mut(k).copy_from_slice(w.row(i as usize));
        }
        models
    }

    /// The flows as they are, a row per edge of the plan; zero where an edge does not count.
    pub fn flows(&self) -> Matrix {
        let mut flows = Matrix::zeros(self.subproblem.edges.len(), self.dim);
        let u = self.kernel.flows();
        if u.rows() == 0 {
            return Matrix::zeros(self.sizes().flows, self.dim);
        }
        for (k, e) in self.subproblem.edges.iter().enumerate() {
            if let Some(e) = e {
                flows.row_mut(k).copy_from_slice(u.row(*e as usize));
            }
        }
        flows
    }

    /// Models of any class, one for each node of the plan, if the method has such.
    pub fn fitted(&self) -> Vec<Option<Fitted>> {
        self.kernel.fitted()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn sizes(&self) -> Sizes {
        let flows = if self.plan.method.is_on_predictions() { 0 } else { self.plan.edges.len() };
        Sizes {
            dim: self.dim,
            boundary: self.boundary.nodes.len(),
            flows,
            memory: memory_len(&self.plan),
            rows: self.rows,
        }
    }
}
