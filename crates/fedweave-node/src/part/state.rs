//! The state of a part as bytes: what a checkpoint holds. Everything little-endian; wrong lengths and other plans are
//! refused, numbers that are not finite too.
//!
//! ```text
//! "FWPART3\0" | federation | plan | rounds done | reason | epoch maximum | residual        8 bytes each
//! digest of the rows of data                                                               8 bytes
//! sizes: nodes, edges, parameters, peers, boundary nodes, rounds kept                      8 bytes each
//! per peer: first and last round that count
//! models | flows | memory of the method | per kept round: round, residual, rows, per peer a digest of flows
//! where the coupling is learnt: its numbers, and how many there are (none before it is)
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use fedweave::Matrix;
use fedweave::learn::coupling::shared::SharedCoupling;

use super::boundary::{ROUNDS_KEPT, Sent};
use super::note::Reason;
use crate::error::{Error, Result};
use crate::hash::Fnv;
use crate::plan::Plan;

const MAGIC: u64 = u64::from_le_bytes(*b"FWPART3\0");
const NONE: u64 = u64::MAX;

/// A state between two rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// Rounds done.
    pub done: u64,
    /// Set at the end.
    pub reason: Option<Reason>,
    /// The largest residual heard of in this epoch.
    pub epoch_max: f64,
    /// The largest residual of the network, as last computed.
    pub residual: f64,
    /// For each peer: first and last round that count.
    pub counts: Vec<(u64, Option<u64>)>,
    /// Models, a row per node of the plan.
    pub w: Matrix,
    /// Flows, a row per edge of the plan; none if the method has none.
    pub u: Matrix,
    /// What else the method remembers.
    pub memory: Vec<f64>,
    /// What was sent, oldest first.
    pub sent: VecDeque<Sent>,
}

/// The sizes that a plan implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Parameters of a node.
    pub dim: usize,
    /// Boundary nodes.
    pub boundary: usize,
    /// Edges that have flows.
    pub flows: usize,
    /// Numbers that the method remembers besides.
    pub memory: usize,
    /// A digest of the rows of data.
    pub rows: u64,
}

const REASONS: [Reason; 7] = [
    Reason::Converged,
    Reason::RoundLimit,
    Reason::PeerLost,
    Reason::Left,
    Reason::PeerFinished,
    Reason::Diverged,
    Reason::Spent,
];

/// Identifies the nodes, edges and peers of a plan.
pub fn fingerprint(plan: &Plan) -> u64 {
    let mut hash = Fnv::new().text(&plan.name).word(plan.nodes.len() as u64).word(plan.data.dim() as u64);
    for name in plan.nodes.iter().chain(&plan.peers) {
        hash = hash.text(name);
    }
    for edge in &plan.edges {
        let peer = edge.peer.map_or(NONE, |p| u64::from(p.0));
        hash = hash.text(&edge.node).text(&edge.neighbour).word(edge.weight.to_bits()).word(peer);
    }
    if let Some(models) = &plan.models {
        // Models are fitted again when a part resumes: they must be the same.
        hash = models.specs.iter().zip(&models.seeds).fold(hash, |hash, (m, s)| hash.text(&m.to_string()).word(*s));
    }
    hash.finish()
}

/// Tells the rows of data of a plan apart from others.
pub fn rows_digest(plan: &Plan) -> u64 {
    let data = &plan.data;
    (0..data.nodes())
        .fold(Fnv::new(), |hash, i| {
            let numbers = data.features(i).iter().chain(data.labels(i)).chain(data.weights(i));
            numbers.fold(hash.word(data.labels(i).len() as u64), |hash, x| hash.word(x.to_bits()))
        })
        .finish()
}

impl Saved {
    /// The state as bytes.
    pub fn to_bytes(&self, plan: &Plan, sizes: Sizes) -> Vec<u8> {
        let rows = self.w.as_slice().len()
            + self.u.as_slice().len()
            + sizes.memory
            + (sizes.boundary * sizes.dim + self.counts.len()) * self.sent.len();
        let mut bytes = Vec::with_capacity(8 * (14 + 2 * self.counts.len() + rows + 2 * self.sent.len()));
        let mut put = |word: u64| bytes.extend(word.to_le_bytes());
        let reason = self.reason.and_then(|r| REASONS.iter().position(|x| *x == r)).map_or(NONE, |k| k as u64);
        let head = [MAGIC, plan.federation, fingerprint(plan), self.done, reason];
        head.into_iter().for_each(&mut put);
        [self.epoch_max, self.residual].into_iter().for_each(|x| put(x.to_bits()));
        put(sizes.rows);
        let sizes = [self.w.rows(), self.u.rows(), sizes.dim, self.counts.len(), sizes.boundary, self.sent.len()];
        sizes.into_iter().for_each(|n| put(n as u64));
        self.counts.iter().flat_map(|(from, until)| [*from, until.unwrap_or(NONE)]).for_each(&mut put);
        self.w.as_slice().iter().chain(self.u.as_slice()).chain(&self.memory).for_each(|x| put(x.to_bits()));
        for sent in &self.sent {
            put(sent.round);
            put(sent.residual.to_bits());
            sent.rows.iter().for_each(|x| put(x.to_bits()));
            sent.flows.iter().for_each(|digest| put(u64::from(*digest)));
        }
        bytes
    }

    /// Reads a state of this plan.
    pub fn from_bytes(bytes: &[u8], plan: &Plan, sizes: Sizes) -> Result<Self> {
        let fault = |what| Error::Checkpoint { what };
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() < 14 {
            return Err(fault("it is cut short"));
        }
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().ok_or(fault("it is cut short"));
        if next()? != MAGIC {
            return Err(fault("it does not begin like one of this version"));
        }
        if next()? != plan.federation {
            return Err(fault("it belongs to another federation or other settings"));
        }
        if next()? != fingerprint(plan) {
            return Err(fault("it belongs to other nodes, edges or neighbours"));
        }
        let done = next()?;
        let reason = match next()? {
            NONE => None,
            k => Some(*REASONS.get(k as usize).ok_or(fault("it is damaged"))?),
        };
        let (epoch_max, residual) = (positive(next()?)?, positive(next()?)?);
        if next()? != sizes.rows {
            let what = "the rows of data have changed since: bring back the old ones to go on, or remove the state folder to \
                        start anew with the new ones";
            return Err(fault(what));
        }
        let expected = [plan.nodes.len(), sizes.flows, sizes.dim, plan.peers.len(), sizes.boundary];
        for size in expected {
            if next()? != size as u64 {
                return Err(fault("its sizes are those of another problem"));
            }
        }
        let kept = next()?;
        let rows = (plan.nodes.len() + sizes.flows) * sizes.dim + sizes.memory;
        let boundary = sizes.boundary * sizes.dim;
        let total = 14 + 2 * plan.peers.len() + rows + kept.min(64) as usize * (2 + boundary + plan.peers.len());
        if kept > ROUNDS_KEPT as u64 || 8 * total != bytes.len() {
            return Err(fault("it is cut short or damaged"));
        }
        let mut counts = Vec::with_capacity(plan.peers.len());
        for _ in 0..plan.peers.len() {
            counts.push((next()?, Some(next()?).filter(|last| *last != NONE)));
        }
        let mut numbers = |len: usize| (0..len).map(|_| finite(next()?)).collect::<Result<Vec<f64>>>();
        let w = Matrix::from_rows(sizes.dim, numbers(plan.nodes.len() * sizes.dim)?);
        let u = Matrix::from_rows(sizes.dim, numbers(sizes.flows * sizes.dim)?);
        let memory = numbers(sizes.memory)?;
        let mut sent = VecDeque::with_capacity(ROUNDS_KEPT);
        for _ in 0..kept {
            let (round, residual) = (next()?, positive(next()?)?);
            let rows = (0..boundary).map(|_| finite(next()?)).collect::<Result<Vec<f64>>>()?;
            let flows = (0..plan.peers.len()).map(|_| Ok(next()? as u32)).collect::<Result<Vec<u32>>>()?;
            sent.push_back(Sent { round, residual, rows, flows });
        }
        let in_order = sent.iter().zip(sent.iter().skip(1)).all(|(a, b)| a.round.checked_add(1) == Some(b.round));
        if !in_order || sent.back().is_some_and(|last| last.round != done) || done >= NONE / 4 {
            return Err(fault("its rounds are out of order"));
        }
        Ok(Saved { done, reason, epoch_max, residual, counts, w, u, memory, sent })
    }
}

/// Adds what was learnt about the coupling, where parts learn it: the numbers, and how many there are.
pub fn append_coupling(plan: &Plan, mut bytes: Vec<u8>) -> Vec<u8> {
    if plan.coupling.is_some() {
        let numbers = plan.learnt().map(SharedCoupling::to_numbers).unwrap_or_default();
        numbers.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend((numbers.len() as u64).to_le_bytes());
    }
    bytes
}

/// The plan with what a checkpoint says was learnt, and the rest of the checkpoint.
pub fn with_saved_coupling(plan: Plan, checkpoint: &[u8]) -> Result<(Plan, &[u8])> {
    if plan.coupling.is_none() {
        return Ok((plan, checkpoint));
    }
    let fault = |what| Error::Checkpoint { what };
    let (rest, count) = checkpoint.split_last_chunk::<8>().ok_or(fault("it is cut short"))?;
    let count = u64::from_le_bytes(*count);
    if count == 0 {
        return Ok((plan, rest));
    }
    let dim = plan.data.dim();
    if count != SharedCoupling::numbers(dim) as u64 || rest.len() < 8 * count as usize {
        return Err(fault("its coupling is that of another problem"));
    }
    let (rest, numbers) = rest.split_at(rest.len() - 8 * count as usize);
    let numbers: Vec<f64> = numbers.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect();
    let learnt = SharedCoupling::from_numbers(&numbers, dim).map_err(|_| fault("its coupling cannot be one"))?;
    Ok((plan.with_coupling(Arc::new(learnt))?, rest))
}

fn finite(word: u64) -> Result<f64> {
    let x = f64::from_bits(word);
    if x.is_finite() { Ok(x) } else { Err(Error::Checkpoint { what: "it holds a number that is not finite" }) }
}

fn positive(word: u64) -> Result<f64> {
    let x = f64::from_bits(word);
    if x >= 0.0 { Ok(x) } else { Err(Error::Checkpoint { what: "it holds a residual that cannot be" }) }
}
