//! Residuals by node and time, and the search for those that tell most about a place and time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::kernel::{COMMON, FAR, Kernel, Pair};
use super::patch::Patch;
use super::space::Space;
use super::{Residuals, Time};

/// Rows of one node that are looked at: what lies beyond the nearest in time adds little to them.
const PER_NODE: usize = 8;
/// Rows whose covariance is below this share of the variance are left out.
const NEGLIGIBLE: f64 = 1e-4;

/// The residuals of all nodes.
pub struct Index {
    node: Vec<u32>,
    time: Vec<f64>,
    value: Vec<f64>,
    clock: Time,
    /// Rows by node, then by time; those of node `i` are `by_node[starts[i]..starts[i + 1]]`.
    by_node: Vec<u32>,
    starts: Vec<u32>,
    by_time: Vec<u32>,
    /// Place of every row in `by_time`: ties are decided by it, so that the order of the rows does not matter.
    order: Vec<u32>,
}

/// A place and a time to be told about.
#[derive(Clone, Copy)]
pub struct Place {
    /// The node.
    pub node: u32,
    /// The time.
    pub time: f64,
}

impl Index {
    /// Sorts the residuals.
    pub fn new(residuals: &Residuals, clock: Time) -> Self {
        let Residuals { node, time, value } = residuals.clone();
        let mut by_time: Vec<u32> = (0..node.len() as u32).collect();
        let at = |r: u32| (time[r as usize], node[r as usize], value[r as usize]);
        by_time.sort_by(|&a, &b| {
            let (a, b) = (at(a), at(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2))
        });
        let mut order = vec![0; by_time.len()];
        (0..).zip(&by_time).for_each(|(k, &row)| order[row as usize] = k);
        let mut by_node = by_time.clone();
        by_node.sort_by_key(|&r| node[r as usize]);
        let nodes = node.iter().max().map_or(0, |n| *n as usize + 1);
        let mut starts = vec![0u32; nodes + 1];
        node.iter().for_each(|n| starts[*n as usize + 1] += 1);
        (0..nodes).for_each(|n| starts[n + 1] += starts[n]);
        Index { node, time, value, clock, by_node, starts, by_time, order }
    }

    /// Number of residuals.
    pub fn len(&self) -> usize {
        self.value.len()
    }

    /// Divides all residuals.
    pub fn divide(&mut self, unit: f64) {
        self.value.iter_mut().for_each(|v| *v /= unit);
    }

    /// Rows in the order of their times.
    pub fn by_time(&self) -> &[u32] {
        &self.by_time
    }

    /// The residual of a row.
    pub fn value(&self, row: u32) -> f64 {
        self.value[row as usize]
    }

    /// Node and time of a row.
    pub fn place(&self, row: u32) -> Place {
        Place { node: self.node[row as usize], time: self.time[row as usize] }
    }

    /// What the covariance of two places depends on.
    pub fn pair(&self, space: &Space, a: Place, b: Place) -> Pair {
        let gap = match self.clock {
            _ if a.time == b.time => 0.0,
            Time::Numbers => (a.time - b.time).abs(),
            Time::Labels => FAR,
        };
        Pair { near: space.near(a.node, b.node), gap, same_node: a.node == b.node }
    }

    /// A place with the `count` allowed rows whose shocks are most like the one there.
    pub fn patch(
        &self,
        space: &Space,
        kernel: &Kernel,
        at: Place,
        count: usize,
        allowed: impl Fn(u32) -> bool,
    ) -> Patch {
        let rows = self.search(space, kernel, at, count, allowed);
        let places: Vec<Place> = rows.iter().map(|&r| self.place(r)).chain([at]).collect();
        let mut pairs = Vec::with_capacity(places.len() * (places.len() + 1) / 2);
        for (p, a) in places.iter().enumerate() {
            pairs.extend(places[..=p].iter().map(|b| self.pair(space, *a, *b)));
        }
        Patch { pairs, others: rows.iter().map(|&r| self.value(r)).collect() }
    }

    fn search(
        &self,
        space: &Space,
        kernel: &Kernel,
        at: Place,
        count: usize,
        allowed: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let floor = NEGLIGIBLE * kernel.covariance(&self.pair(space, at, at));
        let mut best = Best { heap: BinaryHeap::with_capacity(count + 1), count, floor };
        let relevance = |r: u32| kernel.covariance(&self.pair(space, at, self.place(r)));
        let mut seen = 0;
        self.walk(self.rows_of(at.node), at.time, PER_NODE, &allowed, |r| {
            best.offer(relevance(r), self.order[r as usize])
        });
        for &node in space.around(at.node) {
            // No row of this node or of a farther one is more like the place than one of the same time.
            if !best.wants(kernel.covariance(&self.pair(space, at, Place { node, ..at }))) {
                break;
            }
            seen += 1;
            self.walk(self.rows_of(node), at.time, PER_NODE, &allowed, |r| {
                best.offer(relevance(r), self.order[r as usize])
            });
        }
        if kernel.variance[COMMON] > 0.0 {
            let seen = &space.around(at.node)[..seen];
            let new = |r: u32| {
                let node = self.node[r as usize];
                node != at.node && !seen.contains(&node) && allowed(r)
            };
            let offer = |r: u32| {
                best.offer(relevance(r), self.order[r as usize]);
                true
            };
            self.walk(&self.by_time, at.time, 2 * count, new, offer);
        }
        let found = best.heap.into_sorted_vec();
        found.into_iter().map(|Reverse(candidate)| self.by_time[candidate.order as usize]).collect()
    }

    fn rows_of(&self, node: u32) -> &[u32] {
        match self.starts.get(node as usize + 1) {
            Some(end) => &self.by_node[self.starts[node as usize] as usize..*end as usize],
            None => &[],
        }
    }

    /// Offers up to `limit` allowed rows, nearest in time first, until one is refused. Of two equally far the earlier is first.
    fn walk(
        &self,
        rows: &[u32],
        time: f64,
        limit: usize,
        allowed: impl Fn(u32) -> bool,
        mut offer: impl FnMut(u32) -> bool,
    ) {
        let when = |k: usize| self.time[rows[k] as usize];
        let mut right = rows.partition_point(|&r| self.time[r as usize] < time);
        let (mut left, mut taken) = (right, 0);
        while taken < limit && (left > 0 || right < rows.len()) {
            let leftwards = right == rows.len() || (left > 0 && time - when(left - 1) <= when(right) - time);
            let row = match leftwards {
                true => {
                    left -= 1;
                    rows[left]
                }
                false => {
                    right += 1;
                    rows[right - 1]
                }
            };
            if allowed(row) {
                if !offer(row) {
                    return;
                }
                taken += 1;
            }
        }
    }
}

/// The most relevant rows so far.
struct Best {
    heap: BinaryHeap<Reverse<Candidate>>,
    count: usize,
    floor: f64,
}

impl Best {
    /// True if a row of this relevance would be taken.
    fn wants(&self, relevance: f64) -> bool {
        let full = self.heap.len() >= self.count;
        let worst = self.heap.peek().filter(|_| full).map_or(0.0, |Reverse(worst)| worst.relevance);
        self.count > 0 && relevance > self.floor.max(worst)
    }

    fn offer(&mut self, relevance: f64, order: u32) -> bool {
        let wanted = self.wants(relevance);
        if wanted {
            if self.heap.len() == self.count {
                self.heap.pop();
            }
            self.heap.push(Reverse(Candidate { relevance, order }));
        }
        wanted
    }
}

/// A row and the covariance of its shock with the one sought.
#[derive(PartialEq)]
struct Candidate {
    relevance: f64,
    order: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.relevance.total_cmp(&other.relevance).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
