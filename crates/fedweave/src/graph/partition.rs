//! Partitions of the nodes: connected components of a graph, or of some of its edges.

use super::Graph;

/// A partition of the nodes `0..n` into parts, numbered by their smallest node.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    part: Vec<u32>,
    parts: usize,
}

impl Partition {
    /// The connected components of the subgraph of the edges that `keep` accepts.
    pub fn of_edges(graph: &Graph, mut keep: impl FnMut(usize) -> bool) -> Self {
        let mut parent: Vec<u32> = (0..graph.nodes() as u32).collect();
        for edge in (0..graph.edges()).filter(|&e| keep(e)) {
            let (i, j) = graph.nodes_of(edge);
            let (a, b) = (root(&mut parent, i as u32), root(&mut parent, j as u32));
            // The smaller node stays the root, so parts are numbered by their smallest node.
            parent[a.max(b) as usize] = a.min(b);
        }
        let (mut part, mut parts) = (vec![0; parent.len()], 0);
        for i in 0..parent.len() as u32 {
            let r = root(&mut parent, i);
            part[i as usize] = if r == i {
                parts += 1;
                parts - 1
            } else {
                part[r as usize]
            };
        }
        Partition { part, parts: parts as usize }
    }

    /// Nodes with the same label are together.
    pub fn of_labels<T: Ord>(labels: &[T]) -> Self {
        let mut known: std::collections::BTreeMap<&T, u32> = std::collections::BTreeMap::new();
        let mut part = Vec::with_capacity(labels.len());
        for label in labels {
            let fresh = known.len() as u32;
            part.push(*known.entry(label).or_insert(fresh));
        }
        Partition { part, parts: known.len() }
    }

    /// The connected components of `graph`.
    pub fn components(graph: &Graph) -> Self {
        Self::of_edges(graph, |_| true)
    }

    /// The same partition with its parts numbered by size, largest first; equally large ones keep their order.
    pub fn by_size(&self) -> Self {
        let sizes = self.sizes();
        let mut order: Vec<usize> = (0..self.parts).collect();
        order.sort_by_key(|&p| std::cmp::Reverse(sizes[p]));
        let mut rank = vec![0; self.parts];
        order.iter().enumerate().for_each(|(r, &p)| rank[p] = r as u32);
        Partition { part: self.part.iter().map(|&p| rank[p as usize]).collect(), parts: self.parts }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.part.len()
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.parts
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// The part of `node`.
    pub fn part(&self, node: usize) -> usize {
        self.part[node] as usize
    }

    /// Number of nodes of each part.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.parts];
        for &p in &self.part {
            sizes[p as usize] += 1;
        }
        sizes
    }
}

fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        let up = parent[parent[i as usize] as usize];
        parent[i as usize] = up;
        i = up;
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_by_their_smallest_node() {
        let g = Graph::new(5, &[(4, 1, 1.0), (3, 0, 1.0)]).unwrap();
        let p = Partition::components(&g);
        let parts: Vec<_> = (0..5).map(|i| p.part(i)).collect();
        assert_eq!((p.len(), parts, p.sizes()), (3, vec![0, 1, 2, 0, 1], vec![2, 2, 1]));
        assert_eq!(Partition::of_edges(&g, |e| e == 0).len(), 4);
        let p = Partition::of_edges(&g, |e| e == 1).by_size();
        assert_eq!((0..5).map(|i| p.part(i)).collect::<Vec<_>>(), [1, 0, 2, 3, 0]);
        let p = Partition::of_labels(&["b", "a", "b"]);
        assert_eq!((p.len(), p.part(0), p.part(1), p.part(2)), (2, 0, 1, 0));
    }
}
