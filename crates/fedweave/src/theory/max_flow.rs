//! Maximum flows by Dinic's algorithm, and the least ratio of a cut to the demand behind it.

use std::collections::VecDeque;

/// Residual capacities below this share of the largest are rounding.
const ROUNDING: f64 = 1e-12;

/// A network with capacities.
struct Network {
    first: Vec<Vec<u32>>,
    to: Vec<u32>,
    /// What is left of the capacity of an arc; arc `a ^ 1` is its reverse.
    left: Vec<f64>,
    tiny: f64,
}

impl Network {
    fn new(vertices: usize) -> Self {
        Network { first: vec![Vec::new(); vertices], to: Vec::new(), left: Vec::new(), tiny: 0.0 }
    }

    fn arc(&mut self, a: usize, b: usize, there: f64, back: f64) {
        for (from, to, capacity) in [(a, b, there), (b, a, back)] {
            self.first[from].push(self.to.len() as u32);
            self.to.push(to as u32);
            self.left.push(capacity);
        }
        self.tiny = self.tiny.max(ROUNDING * there.max(back));
    }

    /// How many arcs every vertex is from the source, where something is left.
    fn levels(&self, source: usize) -> Vec<u32> {
        let mut level = vec![u32::MAX; self.first.len()];
        level[source] = 0;
        let mut next = VecDeque::from([source]);
        while let Some(v) = next.pop_front() {
            for &a in &self.first[v] {
                let to = self.to[a as usize] as usize;
                if self.left[a as usize] > self.tiny && level[to] == u32::MAX {
                    level[to] = level[v] + 1;
                    next.push_back(to);
                }
            }
        }
        level
    }

    /// Saturates paths from `v` to the sink along the levels.
    fn push(&mut self, v: usize, sink: usize, most: f64, level: &[u32], tried: &mut [usize]) -> f64 {
        if v == sink {
            return most;
        }
        let mut sent = 0.0;
        while tried[v] < self.first[v].len() && most - sent > self.tiny {
            let a = self.first[v][tried[v]] as usize;
            let to = self.to[a] as usize;
            if self.left[a] > self.tiny && level[to] == level[v] + 1 {
                let more = self.push(to, sink, (most - sent).min(self.left[a]), level, tried);
                self.left[a] -= more;
                self.left[a ^ 1] += more;
                sent += more;
                if most - sent <= self.tiny {
                    break;
                }
            }
            tried[v] += 1;
        }
        sent
    }

    /// The vertices that the source still reaches when nothing more can flow.
    fn source_side(&mut self, source: usize, sink: usize) -> Vec<bool> {
        loop {
            let level = self.levels(source);
            if level[sink] == u32::MAX {
                return level.iter().map(|l| *l != u32::MAX).collect();
            }
            self.push(source, sink, f64::INFINITY, &level, &mut vec![0; self.first.len()]);
        }
    }
}

/// `min over non-empty sets A of nodes without the root of  cut(A) / sum of demands in A`, where `cut` is the weight of the edges
/// between `A` and the other nodes: all demands, times a factor below this, can be met from the root. Dinkelbach's method.
pub(super) fn least_ratio(nodes: usize, edges: &[(usize, usize, f64)], demand: &[f64], root: usize) -> f64 {
    let ratio = |inside: &dyn Fn(usize) -> bool| {
        let across = edges.iter().filter(|(i, j, _)| inside(*i) != inside(*j));
        let cut: f64 = across.map(|edge| edge.2).sum();
        cut / (0..nodes).filter(|&i| inside(i)).map(|i| demand[i]).sum::<f64>()
    };
    if (0..nodes).all(|i| i == root || demand[i] == 0.0) {
        return f64::INFINITY;
    }
    let mut best = ratio(&|i| i != root);
    loop {
        let sink = nodes;
        let mut network = Network::new(nodes + 1);
        edges.iter().for_each(|&(i, j, a)| network.arc(i, j, a, a));
        (0..nodes).filter(|&i| i != root && demand[i] > 0.0).for_each(|i| network.arc(i, sink, best * demand[i], 0.0));
        let reached = network.source_side(root, sink);
        // The nodes that cannot be reached want more than may come in.
        if (0..nodes).all(|i| reached[i]) {
            return best;
        }
        let found = ratio(&|i| !reached[i]);
        if found.is_nan() || found >= best * (1.0 - 1e-10) {
            return best;
        }
        best = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    /// All subsets, for small networks.
    fn by_subsets(nodes: usize, edges: &[(usize, usize, f64)], demand: &[f64], root: usize) -> f64 {
        let sets = (1u32..1 << nodes).filter(|set| set >> root & 1 == 0);
        sets.map(|set| {
            let inside = |i: usize| set >> i & 1 == 1;
            let cut: f64 = edges.iter().filter(|(i, j, _)| inside(*i) != inside(*j)).map(|edge| edge.2).sum();
            cut / (0..nodes).filter(|&i| inside(i)).map(|i| demand[i]).sum::<f64>()
        })
        .filter(|ratio| !ratio.is_nan())
        .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn least_ratios_are_those_of_all_subsets() {
        for seed in 0..200 {
            let mut rng = stream(seed, Purpose::Edges, 0);
            let nodes = 2 + seed as usize % 7;
            let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
            let drawn: Vec<_> = pairs.map(|(i, j)| (i, j, rng.random::<f64>())).collect();
            let edges: Vec<_> = drawn.into_iter().filter(|edge| edge.2 > 0.4).collect();
            let mut draw = || if rng.random::<f64>() < 0.3 { 0.0 } else { rng.random::<f64>() };
            let demand: Vec<f64> = (0..nodes).map(|_| draw()).collect();
            let root = seed as usize % nodes;
            let (found, wanted) = (least_ratio(nodes, &edges, &demand, root), by_subsets(nodes, &edges, &demand, root));
            assert!((found - wanted).abs() <= 1e-9 * wanted || found == wanted, "{seed}: {found} {wanted}");
        }
    }
}
