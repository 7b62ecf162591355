//! The nodes of a part that others need to hear of, and what was sent of them in the last rounds: a neighbour that lost its
//! newest checkpoint asks for rows of two rounds ago.

use std::collections::VecDeque;

use fedweave::Matrix;

use crate::kernel::Kernel;
use crate::plan::{Plan, PlanEdge};

/// Rounds of which rows are kept: the one in flight, the one before, and one more for a lost checkpoint.
pub const ROUNDS_KEPT: usize = 3;

/// Who needs which rows, and the rows.
#[derive(Debug, Clone)]
pub struct Boundary {
    /// Nodes of the plan with a neighbour elsewhere.
    pub nodes: Vec<u32>,
    /// For each peer: positions in `nodes`, in byte order of the names.
    pub of_peer: Vec<Vec<u32>>,
    /// For each peer: edges of the plan, in an order that both ends know.
    shared: Vec<Vec<u32>>,
    /// What was sent, oldest first.
    pub sent: VecDeque<Sent>,
}

/// What was sent in a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The round.
    pub round: u64,
    /// The residual that went with it.
    pub residual: f64,
    /// A row per boundary node.
    pub rows: Vec<f64>,
    /// For each peer: a digest of the flows before the round on the edges to it.
    pub flows: Vec<u32>,
}

impl Boundary {
    /// The boundary of a plan whose edges were checked.
    pub fn new(plan: &Plan) -> Self {
        let index = |name: &String| plan.nodes.binary_search(name).unwrap_or(0) as u32;
        let crossing = || {
            plan.edges.iter().filter(|e| plan.takes_part(e)).filter_map(|e| Some((e.peer?.0 as usize, index(&e.node))))
        };
        let mut nodes: Vec<u32> = crossing().map(|(_, node)| node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut of_peer = vec![Vec::new(); plan.peers.len()];
        for (peer, node) in crossing() {
            of_peer[peer].push(nodes.binary_search(&node).unwrap_or(0) as u32);
        }
        for list in &mut of_peer {
            list.sort_unstable();
            list.dedup();
        }
        Boundary { nodes, of_peer, shared: shared(plan), sent: VecDeque::new() }
    }

    /// Keeps the rows of a round that began with these flows.
    pub fn record(&mut self, round: u64, residual: f64, kernel: &dyn Kernel, own: &[u32], flows: &Matrix) {
        let mut rows = Vec::new();
        if self.sent.len() >= ROUNDS_KEPT {
            rows = self.sent.pop_front().map(|old| old.rows).unwrap_or_default();
        }
        rows.clear();
        self.nodes.iter().for_each(|&k| rows.extend_from_slice(kernel.outgoing(own[k as usize] as usize)));
        let flows = self.shared.iter().map(|edges| digest(edges, flows)).collect();
        self.sent.push_back(Sent { round, residual, rows, flows });
    }

    /// The edges of the plan to a peer.
    pub fn edges_to(&self, peer: usize) -> &[u32] {
        &self.shared[peer]
    }

    /// The digest of flows that went to a peer with the rows of a round.
    pub fn flows_of(&self, peer: usize, round: u64) -> Option<u32> {
        Some(self.of_round(round)?.flows[peer])
    }

    /// What was sent in a round, if it is still kept.
    pub fn of_round(&self, round: u64) -> Option<&Sent> {
        self.sent.iter().find(|sent| sent.round == round)
    }

    /// Forgets the rows of rounds after this one.
    pub fn forget_after(&mut self, round: u64) {
        self.sent.retain(|sent| sent.round <= round);
    }

    /// True if all numbers of a round are finite.
    pub fn is_finite(&self, round: u64) -> bool {
        self.of_round(round).is_some_and(|sent| sent.rows.iter().all(|x| x.is_finite()))
    }

    /// The oldest round that is kept.
    pub fn oldest(&self) -> Option<u64> {
        self.sent.front().map(|sent| sent.round)
    }

    /// `out <-` the rows for a peer.
    pub fn gather(&self, peer: usize, rows: &[f64], d: usize, out: &mut Vec<f64>) {
        out.clear();
        for &k in &self.of_peer[peer] {
            out.extend_from_slice(&rows[k as usize * d..(k as usize + 1) * d]);
        }
    }
}

/// For each peer the edges to it, by the names of their ends.
fn shared(plan: &Plan) -> Vec<Vec<u32>> {
    let mut shared = vec![Vec::new(); plan.peers.len()];
    for (k, edge) in plan.edges.iter().enumerate().filter(|(_, e)| plan.takes_part(e)) {
        edge.peer.iter().for_each(|peer| shared[peer.0 as usize].push(k as u32));
    }
    let ends = |k: &u32| {
        let PlanEdge { node, neighbour, .. } = &plan.edges[*k as usize];
        (node.min(neighbour), node.max(neighbour))
    };
    shared.iter_mut().for_each(|edges| edges.sort_by(|a, b| ends(a).cmp(&ends(b))));
    shared
}

/// Tells flows apart; 0 for a method without.
fn digest(edges: &[u32], flows: &Matrix) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    for &e in edges.iter().filter(|e| (**e as usize) < flows.rows()) {
        flows.row(e as usize).iter().for_each(|x| hash.update(&x.to_le_bytes()));
    }
    hash.finalize()
}
