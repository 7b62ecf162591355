//! Edge list plus CSR. Each undirected edge is stored once, from its smaller to its larger node (`head < tail`),
//! edges in lexicographic order, so that sums over edges do not depend on the order of the input.

use crate::error::{Error, Result};

/// An undirected weighted graph on nodes `0..nodes`.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    head: Vec<u32>,
    tail: Vec<u32>,
    weight: Vec<f64>,
    offsets: Vec<u32>,
    ends: Vec<End>,
}

/// One edge as seen from one of its nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// The edge.
    pub edge: u32,
    /// The node at the other side.
    pub neighbour: u32,
    /// `D_{e,i}`: +1 where the node is the head of the edge, -1 where it is the tail.
    pub sign: f64,
}

impl Graph {
    /// Builds a graph from `(node, node, weight)` triples in any order and orientation. An edge listed again with the
    /// same weight is one edge; with another weight it is an error, as are self-loops and weights that are not positive.
    pub fn new(nodes: usize, edges: &[(usize, usize, f64)]) -> Result<Self> {
        let mut sorted = Vec::with_capacity(edges.len());
        for (edge, &(a, b, weight)) in edges.iter().enumerate() {
            if let Some(node) = [a, b].into_iter().find(|&i| i >= nodes) {
                return Err(Error::UnknownNode { edge, node, nodes });
            }
            if a == b {
                return Err(Error::SelfLoop { node: a });
            }
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(Error::EdgeWeight { edge, weight });
            }
            sorted.push((a.min(b) as u32, a.max(b) as u32, weight, edge));
        }
        sorted.sort_by_key(|&(head, tail, _, edge)| (head, tail, edge));
        for pair in sorted.windows(2) {
            if (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 != pair[1].2 {
                return Err(Error::EdgeConflict { first: pair[0].3, second: pair[1].3 });
            }
        }
        sorted.dedup_by_key(|&mut (head, tail, ..)| (head, tail));
        Ok(Self::from_sorted(nodes, &sorted))
    }

    fn from_sorted(nodes: usize, sorted: &[(u32, u32, f64, usize)]) -> Self {
        let head: Vec<u32> = sorted.iter().map(|e| e.0).collect();
        let tail: Vec<u32> = sorted.iter().map(|e| e.1).collect();
        let mut offsets = vec![0u32; nodes + 1];
        for &i in head.iter().chain(&tail) {
            offsets[i as usize + 1] += 1;
        }
        for i in 0..nodes {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut ends = vec![End { edge: 0, neighbour: 0, sign: 0.0 }; 2 * head.len()];
        // Neighbours in increasing order: first all smaller ones (where the node is the tail), then the larger ones.
        for (edge, (&i, &j)) in head.iter().zip(&tail).enumerate() {
            ends[next[j as usize] as usize] = End { edge: edge as u32, neighbour: i, sign: -1.0 };
            next[j as usize] += 1;
        }
        for (edge, (&i, &j)) in head.iter().zip(&tail).enumerate() {
            ends[next[i as usize] as usize] = End { edge: edge as u32, neighbour: j, sign: 1.0 };
            next[i as usize] += 1;
        }
        Graph { head, tail, weight: sorted.iter().map(|e| e.2).collect(), offsets, ends }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of undirected edges.
    pub fn edges(&self) -> usize {
        self.head.len()
    }

    /// The two nodes of an edge, `(e+, e-)` with `e+ < e-`.
    pub fn nodes_of(&self, edge: usize) -> (usize, usize) {
        (self.head[edge] as usize, self.tail[edge] as usize)
    }

    /// `A_e`.
    pub fn weight(&self, edge: usize) -> f64 {
        self.weight[edge]
    }

    /// All edge weights.
    pub fn weights(&self) -> &[f64] {
        &self.weight
    }

    /// Exchanges the weights with others, positive and as many.
    pub(crate) fn swap_weights(&mut self, weights: &mut Vec<f64>) {
        assert_eq!(self.weight.len(), weights.len(), "one weight per edge");
        std::mem::swap(&mut self.weight, weights);
    }

    /// The edges at `node`, neighbours in increasing order.
    pub fn ends(&self, node: usize) -> &[End] {
        &self.ends[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Number of neighbours of `node`.
    pub fn degree(&self, node: usize) -> usize {
        self.ends(node).len()
    }

    /// Sum of the weights of the edges at `node`.
    pub fn weighted_degree(&self, node: usize) -> f64 {
        self.ends(node).iter().map(|end| self.weight[end.edge as usize]).sum()
    }

    /// The same graph with its nodes renamed: node `i` becomes `name[i]`, a permutation.
    pub fn renamed(&self, name: &[usize]) -> Graph {
        let edges: Vec<_> = (0..self.edges())
            .map(|e| {
                let (i, j) = self.nodes_of(e);
                (name[i], name[j], self.weight[e])
            })
            .collect();
        Graph::new(self.nodes(), &edges).expect("a permutation keeps a graph a graph")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_oriented_sorted_and_deduplicated() {
        let g = Graph::new(4, &[(3, 1, 2.0), (0, 1, 1.0), (1, 0, 1.0)]).unwrap();
        assert_eq!((g.edges(), g.nodes_of(0), g.nodes_of(1)), (2, (0, 1), (1, 3)));
        let ends: Vec<_> = g.ends(1).iter().map(|e| (e.neighbour, e.sign)).collect();
        assert_eq!(ends, [(0, -1.0), (3, 1.0)]);
        assert_eq!((g.degree(1), g.weighted_degree(1), g.degree(2)), (2, 3.0, 0));
    }

    #[test]
    fn bad_edges_are_named() {
        assert_eq!(Graph::new(2, &[(1, 1, 1.0)]), Err(Error::SelfLoop { node: 1 }));
        assert_eq!(Graph::new(2, &[(0, 1, 1.0), (1, 0, 2.0)]), Err(Error::EdgeConflict { first: 0, second: 1 }));
        for weight in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(Graph::new(2, &[(0, 1, weight)]), Err(Error::EdgeWeight { edge: 0, weight }));
        }
    }
}
