//! The transportation problem behind a degree budget: every node sends `k` units and receives `k`, at most one along an arc,
//! at the least cost. Successive shortest paths with potentials: each path is found by Dijkstra's algorithm on reduced costs,
//! which stops at the first node that still wants a unit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Arcs from senders to receivers, sender by sender.
pub struct Transport {
    offsets: Vec<usize>,
    to: Vec<u32>,
    cost: Vec<f64>,
    used: Vec<bool>,
    /// Who sends to each receiver: `(sender, arc)`.
    senders: Vec<Vec<(u32, u32)>>,
    /// Potentials of senders, then of receivers.
    potential: Vec<f64>,
    search: Search,
}

/// Scratch of the searches.
struct Search {
    distance: Vec<f64>,
    /// The arc by which a receiver was reached, the receiver by which a sender was.
    reached_by: Vec<u32>,
    done: Vec<bool>,
    touched: Vec<u32>,
}

struct Next {
    distance: f64,
    vertex: u32,
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Next {}
impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Next {
    /// The nearest is the greatest, the first of equals.
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then(other.vertex.cmp(&self.vertex))
    }
}

impl Transport {
    /// Arcs `(receiver, cost)` of every sender.
    pub fn new(arcs: &[Vec<(u32, f64)>]) -> Self {
        let n = arcs.len();
        let mut offsets = vec![0];
        arcs.iter().for_each(|list| offsets.push(offsets[offsets.len() - 1] + list.len()));
        let to: Vec<u32> = arcs.iter().flatten().map(|arc| arc.0).collect();
        let search = Search {
            distance: vec![f64::INFINITY; 2 * n],
            reached_by: vec![u32::MAX; 2 * n],
            done: vec![false; 2 * n],
            touched: Vec::new(),
        };
        Transport {
            offsets,
            used: vec![false; to.len()],
            to,
            cost: arcs.iter().flatten().map(|arc| arc.1).collect(),
            senders: vec![Vec::new(); n],
            potential: vec![0.0; 2 * n],
            search,
        }
    }

    fn nodes(&self) -> usize {
        self.senders.len()
    }

    /// Sends `k` units from every node; false if that is impossible along these arcs.
    pub fn solve(&mut self, k: usize) -> bool {
        (0..k).all(|_| (0..self.nodes()).all(|sender| self.send(sender as u32, k)))
    }

    /// The arcs that are used, `(sender, receiver)`.
    pub fn sent(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let arcs = |sender: usize| self.offsets[sender]..self.offsets[sender + 1];
        let of = move |sender| arcs(sender).filter(|&a| self.used[a]).map(move |a| (sender, self.to[a] as usize));
        (0..self.nodes()).flat_map(of)
    }

    /// What an arc from `i` to `j` must cost at least for the flow to be optimal without it: less would be a better way.
    pub fn price(&self, i: usize, j: usize) -> f64 {
        self.potential[self.nodes() + j] - self.potential[i]
    }

    /// No [`price`](Transport::price) of a sender is larger.
    pub fn prices_max(&self) -> Vec<f64> {
        let (senders, receivers) = self.potential.split_at(self.nodes());
        let highest = receivers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        senders.iter().map(|p| highest - p).collect()
    }

    /// Total cost of the flow.
    pub fn value(&self) -> f64 {
        self.cost.iter().zip(&self.used).filter(|(_, used)| **used).map(|(cost, _)| cost).sum()
    }

    /// A lower bound on the cost of every flow along the arcs: the value of the potentials as a dual solution.
    pub fn bound(&self, k: usize) -> f64 {
        let n = self.nodes();
        let ends: f64 = (0..n).map(|i| self.potential[n + i] - self.potential[i]).sum();
        let saved = |i: usize| {
            let arcs = self.offsets[i]..self.offsets[i + 1];
            arcs.map(|a| (self.cost[a] - self.price(i, self.to[a] as usize)).min(0.0)).sum::<f64>()
        };
        k as f64 * ends + (0..n).map(saved).sum::<f64>()
    }

    /// One more unit from `sender` along the cheapest way.
    fn send(&mut self, sender: u32, k: usize) -> bool {
        let Some((target, length)) = self.shortest(sender, k) else { return false };
        let n = self.nodes();
        // Vertices that were reached for good keep reduced costs non-negative.
        for t in 0..self.search.touched.len() {
            let v = self.search.touched[t] as usize;
            if self.search.done[v] {
                self.potential[v] += self.search.distance[v] - length;
            }
        }
        let mut receiver = target;
        loop {
            let arc = self.search.reached_by[n + receiver as usize];
            let from = (self.offsets.partition_point(|&o| o <= arc as usize) - 1) as u32;
            self.used[arc as usize] = true;
            self.senders[receiver as usize].push((from, arc));
            if from == sender {
                break;
            }
            // The unit that `from` sent elsewhere goes here instead.
            receiver = self.search.reached_by[from as usize];
            let list = &mut self.senders[receiver as usize];
            let place = list.iter().position(|s| s.0 == from).expect("the way goes back along an arc in use");
            self.used[list.swap_remove(place).1 as usize] = false;
        }
        self.clear();
        true
    }

    /// The nearest receiver that wants a unit, and how far it is in reduced costs.
    fn shortest(&mut self, sender: u32, k: usize) -> Option<(u32, f64)> {
        let n = self.nodes();
        let mut heap = BinaryHeap::new();
        self.search.reach(sender as usize, 0.0, u32::MAX);
        heap.push(Next { distance: 0.0, vertex: sender });
        while let Some(Next { distance, vertex }) = heap.pop() {
            let v = vertex as usize;
            if self.search.done[v] {
                continue;
            }
            self.search.done[v] = true;
            if v < n {
                for arc in (self.offsets[v]..self.offsets[v + 1]).filter(|&a| !self.used[a]) {
                    let w = n + self.to[arc] as usize;
                    let reduced = (self.cost[arc] + self.potential[v] - self.potential[w]).max(0.0);
                    if self.search.reach(w, distance + reduced, arc as u32) {
                        heap.push(Next { distance: distance + reduced, vertex: w as u32 });
                    }
                }
            } else if self.senders[v - n].len() < k {
                return Some(((v - n) as u32, distance));
            } else {
                for &(from, arc) in &self.senders[v - n] {
                    let w = from as usize;
                    let reduced = (self.potential[v] - self.potential[w] - self.cost[arc as usize]).max(0.0);
                    if self.search.reach(w, distance + reduced, (v - n) as u32) {
                        heap.push(Next { distance: distance + reduced, vertex: from });
                    }
                }
            }
        }
        self.clear();
        None
    }

    fn clear(&mut self) {
        for v in self.search.touched.drain(..) {
            self.search.distance[v as usize] = f64::INFINITY;
            self.search.done[v as usize] = false;
        }
    }
}

impl Search {
    /// True if the vertex was farther away until now.
    fn reach(&mut self, vertex: usize, distance: f64, by: u32) -> bool {
        let nearer = !self.done[vertex] && distance < self.distance[vertex];
        if nearer {
            if self.distance[vertex].is_infinite() {
                self.touched.push(vertex as u32);
            }
            self.distance[vertex] = distance;
            self.reached_by[vertex] = by;
        }
        nearer
    }
}
