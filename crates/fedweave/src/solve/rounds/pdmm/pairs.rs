//! Every edge as two ordered pairs of users.

use std::ops::Range;

use super::PdmmOptions;
use crate::graph::Graph;

/// The pair `(from, to)`.
#[derive(Clone, Copy)]
pub struct Pair {
    pub from: u32,
    pub to: u32,
    pub edge: u32,
    /// Position of `(to, from)`.
    pub reverse: u32,
}

/// All pairs, those of one user next to each other.
pub struct Pairs {
    pairs: Vec<Pair>,
    offsets: Vec<usize>,
}

impl Pairs {
    pub fn new(graph: &Graph) -> Self {
        let (mut pairs, mut offsets) = (Vec::with_capacity(2 * graph.edges()), vec![0]);
        for i in 0..graph.nodes() {
            let pair = |end: &crate::graph::End| Pair { from: i as u32, to: end.neighbour, edge: end.edge, reverse: 0 };
            pairs.extend(graph.ends(i).iter().map(pair));
            offsets.push(pairs.len());
        }
        let mut first: Vec<Option<usize>> = vec![None; graph.edges()];
        for p in 0..pairs.len() {
            match first[pairs[p].edge as usize] {
                None => first[pairs[p].edge as usize] = Some(p),
                Some(q) => (pairs[p].reverse, pairs[q].reverse) = (q as u32, p as u32),
            }
        }
        Pairs { pairs, offsets }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn get(&self, p: usize) -> Pair {
        self.pairs[p]
    }

    pub fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter()
    }

    /// The pairs that start at a user.
    pub fn of(&self, user: usize) -> Range<usize> {
        self.offsets[user]..self.offsets[user + 1]
    }

    /// A pair that is neither updated nor sent any more. Where both directions matter to a user, both must be idle.
    pub fn is_ceased(&self, p: usize, idle: &[u32], options: &PdmmOptions) -> bool {
        let enough = |p: usize, limit: u32| idle[p] >= limit;
        options.cease_after.is_some_and(|limit| {
            enough(p, limit) && (options.as_printed || enough(self.pairs[p].reverse as usize, limit))
        })
    }
}
