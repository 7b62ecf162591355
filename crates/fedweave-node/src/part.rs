//! One part of a federation as a plain state machine: events in, effects out. No clock, socket, thread or random source of
//! its own, so a simulator, one process and many hosts run the same code and get the same bits.
//!
//! Round `r`: the nodes update, the state is made durable, the boundary rows of round `r` go to every neighbouring part, and
//! when theirs are there the edges update. See `docs/protocol.md`.

mod boundary;
mod join;
mod mutant;
mod note;
mod peer;
mod rounds;
mod send;
mod state;

use fedweave::Matrix;

use crate::error::Result;
use crate::ground::Ground;
use crate::kernel::{Kernel, kernel};
use crate::plan::{DeadPolicy, PeerId, Plan};
use crate::wire::{Fault, Frame, Header, Kind};
use boundary::Boundary;
pub use boundary::ROUNDS_KEPT;
use join::Joining;
#[cfg(test)]
pub(crate) use mutant::Mutant;
#[cfg(not(test))]
use mutant::Mutant;
pub use note::{Note, Outcome, PeerStatus, Reason, State, Status};
use peer::Peer;
pub use state::fingerprint;
use state::{Saved, Sizes};

/// Something that happens to a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A frame came from a neighbour. Who it is comes from the transport, never from the frame.
    Frame {
        /// The neighbour.
        from: PeerId,
        /// The frame.
        bytes: &'a [u8],
    },
    /// Time passes. The first tick starts the first round.
    Tick {
        /// The time, in milliseconds since any fixed moment.
        now: u64,
    },
    /// A neighbour can be reached.
    LinkUp(PeerId),
    /// A neighbour cannot be reached.
    LinkDown(PeerId),
    /// The operator wants the part to leave: it ends after the round in flight, and its neighbours go on without it.
    Leave,
}

/// Something a part wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Make these bytes durable before handing over the frames that follow.
    Persist(Vec<u8>),
    /// Send a frame. It may be lost, doubled or late.
    Send {
        /// To whom.
        to: PeerId,
        /// The frame.
        bytes: Vec<u8>,
    },
    /// For the event log.
    Note(Note),
    /// The part is done; it should be kept running until [`Status::settled`], so that neighbours get its last rows.
    Done(Box<Outcome>),
}

/// One part of a federation.
pub struct Part {
    plan: Plan,
    ground: Ground,
    kernel: Box<dyn Kernel>,
    boundary: Boundary,
    peers: Vec<Peer>,
    state: State,
    joining: Option<Joining>,
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
    /// Rounds are left that need nobody.
    more: bool,
    dim: usize,
    /// Rows on their way out.
    numbers: Vec<f64>,
    #[cfg(test)]
    mutant: Option<Mutant>,
    #[cfg(test)]
    arrivals: usize,
}

impl Part {
    /// A part that starts from zero.
    pub fn new(plan: Plan) -> Result<Self> {
        let (ground, problem) = Ground::build(&plan, |_| true)?;
        let kernel = kernel(&plan, &ground, problem, None);
        Ok(Self::with(plan, ground, kernel))
    }

    /// A part that goes on from a checkpoint: the bytes of the last [`Effect::Persist`] that is still there.
    pub fn restore(plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        let mut part = Self::new(plan)?;
        let saved = Saved::from_bytes(checkpoint, &part.plan, part.sizes())?;
        for (peer, &(from, until)) in part.peers.iter_mut().zip(&saved.counts) {
            (peer.from, peer.until) = (from, until);
        }
        part.done = saved.done;
        part.reason = saved.reason;
        (part.epoch_max, part.residual) = (saved.epoch_max, saved.residual);
        part.boundary.sent = saved.sent;
        part.rebuild(saved.w, &saved.u)?;
        let done = part.done;
        part.peers.iter_mut().for_each(|p| p.acked = done);
        if part.reason.is_some() {
            part.state = State::Finished;
        }
        Ok(part)
    }

    fn with(plan: Plan, ground: Ground, kernel: Box<dyn Kernel>) -> Self {
        let dim = kernel.w().cols();
        let mut peers: Vec<Peer> = plan.peers.iter().map(|name| Peer::new(name.clone())).collect();
        peers.iter_mut().zip(&ground.receives).for_each(|(peer, rows)| peer.clear(rows.len() * dim));
        Part {
            boundary: Boundary::new(&plan),
            plan,
            ground,
            kernel,
            peers,
            state: State::New,
            joining: None,
            done: 0,
            reason: None,
            epoch_max: f64::INFINITY,
            residual: f64::INFINITY,
            now: 0,
            leaving: false,
            told: false,
            more: false,
            dim,
            numbers: Vec::new(),
            #[cfg(test)]
            mutant: None,
            #[cfg(test)]
            arrivals: 0,
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

    /// Rounds done.
    pub fn round(&self) -> u64 {
        self.done
    }

    /// Where the part stands.
    pub fn status(&self) -> Status {
        let peers = self.peers.iter().map(|p| PeerStatus {
            name: p.name.clone(),
            up: p.up,
            counted: p.counts(self.done + 1),
            round: p.round,
            bytes_in: p.bytes_in,
            bytes_out: p.bytes_out,
            resent: p.resent,
            refused: p.refused,
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
        let mut models = Matrix::zeros(self.ground.own.len(), self.dim);
        let w = self.kernel.w();
        for (k, &i) in self.ground.own.iter().enumerate() {
            models.row_mut(k).copy_from_slice(w.row(i as usize));
        }
        models
    }

    /// The flows as they are, a row per edge of the plan; zero where an edge does not count.
    pub fn flows(&self) -> Matrix {
        let mut flows = Matrix::zeros(self.ground.edges.len(), self.dim);
        let u = self.kernel.u();
        for (k, e) in self.ground.edges.iter().enumerate() {
            if let Some(e) = e {
                flows.row_mut(k).copy_from_slice(u.row(*e as usize));
            }
        }
        flows
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn sizes(&self) -> Sizes {
        Sizes { dim: self.dim, boundary: self.boundary.nodes.len() }
    }

    /// Every neighbour has all the rows that it needs.
    fn is_settled(&self) -> bool {
        self.state == State::Finished
            && self.peers.iter().all(|p| !p.counts(self.done) || p.acked >= self.done || p.finished.is_some())
    }

    fn link(&mut self, peer: PeerId, up: bool, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(p) = self.peers.get_mut(peer.0 as usize) else { return };
        if p.up == up {
            return;
        }
        p.up = up;
        p.down_since = now;
        let peer = p.name.clone();
        effects.push(Effect::Note(if up { Note::LinkUp { peer } } else { Note::LinkDown { peer } }));
    }

    fn receive(&mut self, from: PeerId, bytes: &[u8], effects: &mut Vec<Effect>) {
        let Some(peer) = self.peers.get_mut(from.0 as usize) else { return };
        peer.bytes_in += bytes.len() as u64;
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(fault) => return self.refuse(from, Refusal::Frame(fault), effects),
        };
        if frame.header.federation != self.plan.federation {
            return self.refuse(from, Refusal::Federation, effects);
        }
        match frame.header.kind {
            Kind::Join => return self.receive_join(from, &frame.header, effects),
            Kind::State => return self.receive_state(from, &frame, effects),
            Kind::Welcome => return self.receive_welcome(from, &frame.header, effects),
            Kind::Rows | Kind::Ack | Kind::Finished | Kind::Leave => (),
        }
        if self.state == State::Joining {
            // Nothing of what others do in their rounds concerns this part now.
            return self.peers[from.0 as usize].finished = finish_of(&frame.header);
        }
        if !self.peers[from.0 as usize].counts(self.done + 1) && self.state == State::Waiting {
            // It does not know that it is not counted, or not any more.
            let peer = &mut self.peers[from.0 as usize];
            peer.owes_answer = frame.header.kind == Kind::Rows && peer.lies < LIES_BORNE;
            return;
        }
        if self.state == State::Finished && frame.header.kind == Kind::Rows {
            self.peers[from.0 as usize].owes_answer = true;
        }
        // Two more than the round in flight: this part may have lost its newest checkpoint.
        let newest = self.done + 4 + self.plan.method.staleness();
        if frame.header.kind == Kind::Finished && frame.header.round > newest && self.state == State::Waiting {
            // It went on without this part, to the end.
            return self.finish(Reason::PeerFinished, effects);
        }
        if frame.header.round > newest || frame.header.received > newest {
            return self.refuse(from, Refusal::Round { round: frame.header.round, done: self.done }, effects);
        }
        match frame.header.kind {
            Kind::Rows => self.receive_rows(from, &frame, effects),
            Kind::Leave => self.receive_leave(from, &frame.header, effects),
            Kind::Finished => self.peer_finished(from, &frame.header, effects),
            _ => self.note_received(from, &frame.header),
        }
    }

    fn receive_rows(&mut self, from: PeerId, frame: &Frame, effects: &mut Vec<Effect>) {
        let (k, round, done) = (from.0 as usize, frame.header.round, self.done);
        let (chunk, chunks) = (usize::from(frame.header.chunk), usize::from(frame.header.chunks));
        let peer = &mut self.peers[k];
        if chunks != crate::wire::chunks_of(peer.len) || frame.len() != peer.chunk_len(chunk) {
            return self.refuse(from, Refusal::Shape { numbers: frame.len() }, effects);
        }
        if !frame.numbers().all(f64::is_finite) {
            return self.refuse(from, Refusal::NotFinite, effects);
        }
        self.note_received(from, &frame.header);
        if self.plan.method.is_async() {
            return self.receive_newest(k, frame);
        }
        let peer = &mut self.peers[k];
        if self.state == State::Finished || round <= done || peer.has(round) {
            // Old news: the neighbour does not know yet that they arrived.
            peer.owes_answer = true;
            if self.is(Mutant::AnswersFrames) {
                self.send_rows(k, done + 1, effects);
            }
        }
        let stale = self.is(Mutant::StaleRoundAccepted) && round == done;
        let early = self.is(Mutant::NextRoundOverwrites) && round == done + 2;
        let in_window = stale || round == done + 1 || round == done + 2;
        if self.state != State::Finished && in_window {
            self.count_arrival(round);
            self.peers[k].take(frame, if stale || early { done + 1 } else { round });
        }
    }

    /// Out of step: the newest rows replace older ones at once.
    fn receive_newest(&mut self, k: usize, frame: &Frame) {
        let (round, d) = (frame.header.round, self.dim);
        let peer = &mut self.peers[k];
        if round <= peer.round || self.state == State::Finished {
            peer.owes_answer = true;
            return;
        }
        peer.take(frame, round);
        if peer.has(round) {
            for (&ghost, row) in self.ground.receives[k].iter().zip(peer.inbox(round).numbers().chunks_exact(d)) {
                self.kernel.incoming(ghost as usize).copy_from_slice(row);
            }
        }
    }

    /// True if the rows of a neighbour are new enough for a round.
    fn has_rows(&self, k: usize, round: u64) -> bool {
        let peer = &self.peers[k];
        match self.plan.method.is_async() {
            true => peer.round + self.plan.method.staleness() >= round,
            false => peer.has(round),
        }
    }

    /// Takes over what a neighbour says it has.
    fn note_received(&mut self, from: PeerId, header: &Header) {
        let peer = &mut self.peers[from.0 as usize];
        if header.received > peer.acked {
            peer.interval = self.plan.patience.retry_ms;
        }
        peer.acked = header.received;
    }

    fn peer_finished(&mut self, from: PeerId, header: &Header, effects: &mut Vec<Effect>) {
        self.note_received(from, header);
        self.peers[from.0 as usize].finished = Some(header.round);
        // It will never send the rows that this part waits for.
        if header.round <= self.done && self.state == State::Waiting && !self.plan.method.is_async() {
            self.finish(Reason::PeerFinished, effects);
        }
    }

    fn refuse(&mut self, from: PeerId, why: Refusal, effects: &mut Vec<Effect>) {
        let peer = &mut self.peers[from.0 as usize];
        peer.refused += 1;
        peer.lies += u64::from(matches!(why, Refusal::Shape { .. } | Refusal::NotFinite));
        // The first ones are told; a flood of them does not flood the log.
        if peer.refused <= REFUSALS_TOLD || peer.refused.is_power_of_two() {
            let what = format!("{} ({} so far)", why, peer.refused);
            effects.push(Effect::Note(Note::PeerMisbehaved { peer: peer.name.clone(), what }));
        }
    }

    /// What the policy says about neighbours that are silent for too long.
    fn judge_silence(&mut self, effects: &mut Vec<Effect>) {
        let (patience, now, round) = (self.plan.patience, self.now, self.done + 1);
        if patience.policy == DeadPolicy::Wait || self.state != State::Waiting {
            return;
        }
        for k in 0..self.peers.len() {
            let peer = &self.peers[k];
            let silent = !peer.up && now.saturating_sub(peer.down_since) >= patience.dead_after_ms;
            let dead = silent || peer.lies >= LIES_BORNE;
            if !dead || !peer.counts(round) || self.has_rows(k, round) {
                continue;
            }
            let name = peer.name.clone();
            effects.push(Effect::Note(Note::PeerDead { peer: name.clone(), round }));
            match patience.policy {
                DeadPolicy::Stop => return self.finish(Reason::PeerLost, effects),
                _ => {
                    self.peers[k].until = Some(self.done);
                    effects.push(Effect::Note(Note::EdgesDropped { peer: name, round }));
                }
            }
        }
    }
}

/// The round after which the sender has finished, if it says so.
fn finish_of(header: &Header) -> Option<u64> {
    matches!(header.kind, Kind::Finished | Kind::Leave).then_some(header.round)
}

/// Who sends so many frames that cannot be right might as well be dead.
const LIES_BORNE: u64 = 8;
/// Refusals told one by one.
const REFUSALS_TOLD: u64 = 4;

/// Why a frame is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Frame(Fault),
    #[error("a frame of another federation or of other settings")]
    Federation,
    #[error("round {round} while {done} are done")]
    Round { round: u64, done: u64 },
    #[error("{numbers} numbers, which is not the length of its rows")]
    Shape { numbers: usize },
    #[error("a number that is not finite")]
    NotFinite,
}
