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
mod receive;
mod rounds;
mod send;
mod state;

use fedweave::Matrix;

use crate::error::Result;
use crate::ground::Ground;
use crate::kernel::{Kernel, kernel};
use crate::plan::{DeadPolicy, PeerId, Plan};
use boundary::Boundary;
pub use boundary::ROUNDS_KEPT;
use join::Joining;
#[cfg(test)]
pub(crate) use mutant::Mutant;
pub use note::{Note, Outcome, PeerStatus, Reason, State, Status};
use peer::Peer;
use receive::Refusal;
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
            effects.push(Effect::Note(Note::PeerDead { peer: name, round }));
            match patience.policy {
                DeadPolicy::Stop => return self.finish(Reason::PeerLost, effects),
                _ => self.drop_edges(k, effects),
            }
        }
    }
}

/// Who sends so many frames that cannot be right might as well be dead.
const LIES_BORNE: u64 = 8;
