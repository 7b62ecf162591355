//! What becomes of clusters from one `lambda` to the next: they merge, and they may split.

use crate::graph::partition::Partition;

/// Nodes that are together before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineageLink {
    /// The cluster they come from.
    pub from: usize,
    /// The cluster they go to.
    pub to: usize,
    /// How many they are.
    pub nodes: usize,
}

/// All pairs of a cluster before and a cluster after that share nodes, in order. Two links with the same `to` are a merger,
/// two with the same `from` a split.
pub fn lineage(before: &Partition, after: &Partition, nodes: usize) -> Vec<LineageLink> {
    let mut pairs: Vec<(usize, usize)> = (0..nodes).map(|i| (before.part(i), after.part(i))).collect();
    pairs.sort_unstable();
    let mut links: Vec<LineageLink> = Vec::new();
    for (from, to) in pairs {
        match links.last_mut().filter(|l| (l.from, l.to) == (from, to)) {
            Some(link) => link.nodes += 1,
            None => links.push(LineageLink { from, to, nodes: 1 }),
        }
    }
    links
}

/// True if some nodes that were together are not any more.
pub fn splits(before: &Partition, after: &Partition, nodes: usize) -> bool {
    lineage(before, after, nodes).windows(2).any(|pair| pair[0].from == pair[1].from)
}

/// True if two partitions put the same nodes together, however their parts are numbered.
pub fn same(a: &Partition, b: &Partition, nodes: usize) -> bool {
    a.len() == b.len() && !splits(a, b, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::chain;

    #[test]
    fn mergers_and_splits_are_told_apart() {
        let graph = chain(4).unwrap();
        let part = |kept: &[usize]| Partition::of_edges(&graph, |e| kept.contains(&e));
        let (pairs, middle, all) = (part(&[0, 2]), part(&[1]), part(&[0, 1, 2]));
        assert_eq!(
            lineage(&pairs, &all, 4),
            [LineageLink { from: 0, to: 0, nodes: 2 }, LineageLink { from: 1, to: 0, nodes: 2 }]
        );
        assert!(!splits(&pairs, &all, 4) && splits(&all, &pairs, 4) && splits(&pairs, &middle, 4));
        assert!(same(&pairs, &part(&[2, 0]), 4) && !same(&pairs, &middle, 4));
    }
}
