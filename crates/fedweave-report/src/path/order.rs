//! The order of the leaves of a merge tree. Whoever is together at the largest lambda stays together, then at the next
//! smaller one, and so on down; parts that meet again at a smaller lambda (a cluster that splits as lambda grows) are
//! put side by side, so that branches cross as little as possible.

use super::Path;
use std::cmp::Reverse;

/// With more parts than this only their sizes decide.
const PARTS_MAX: usize = 64;

/// The nodes in the order of the leaves.
pub(crate) fn leaf_order(path: &Path) -> Vec<usize> {
    let nodes = path.points[0].membership.len();
    let mut order = Vec::with_capacity(nodes);
    arrange(path, path.points.len(), (0..nodes).collect(), &mut order);
    order
}

/// Appends `nodes`, which are together at every point from `level` on, to the order.
fn arrange(path: &Path, level: usize, nodes: Vec<usize>, order: &mut Vec<usize>) {
    if level == 0 || nodes.len() <= 1 {
        return order.extend(nodes);
    }
    let mut parts = split(&path.points[level - 1].membership, nodes);
    parts.sort_by_key(|part| (Reverse(part.len()), part[0]));
    let linked = parts.len() <= PARTS_MAX;
    let mut parts = std::collections::VecDeque::from(parts);
    while !parts.is_empty() {
        let next = if linked { most_linked(path, level - 1, &parts, order.last()) } else { 0 };
        if let Some(part) = parts.remove(next) {
            arrange(path, level - 1, part, order);
        }
    }
}

/// The nodes cluster by cluster.
fn split(membership: &[u32], mut nodes: Vec<usize>) -> Vec<Vec<usize>> {
    nodes.sort_by_key(|&node| membership[node]);
    nodes.chunk_by(|&a, &b| membership[a] == membership[b]).map(<[usize]>::to_vec).collect()
}

/// The part that is most often together with the last leaf at the points below `level`; the first if none is.
fn most_linked(
    path: &Path,
    level: usize,
    parts: &std::collections::VecDeque<Vec<usize>>,
    last: Option<&usize>,
) -> usize {
    let Some(&last) = last else {
        return 0;
    };
    let links = |part: &Vec<usize>| -> usize {
        let together = |membership: &Vec<u32>| part.iter().filter(|&&i| membership[i] == membership[last]).count();
        path.points[..level].iter().map(|point| together(&point.membership)).sum()
    };
    (0..parts.len()).min_by_key(|&k| (Reverse(links(&parts[k])), k)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathPoint;

    fn path(memberships: &[&[u32]]) -> Path {
        let point = |membership: &&[u32]| PathPoint { membership: membership.to_vec(), ..PathPoint::default() };
        Path { points: memberships.iter().map(point).collect(), chosen: 0 }
    }

    #[test]
    fn nested_clusters_are_contiguous() {
        let path = path(&[&[0, 1, 0, 1, 2, 3], &[0, 1, 0, 1, 0, 1], &[0; 6]]);
        assert_eq!(leaf_order(&path), [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn parts_that_were_one_are_side_by_side() {
        let path = path(&[&[0, 0, 0, 1, 1, 0, 0], &[0, 0, 0, 1, 1, 2, 2], &[0; 7]]);
        assert_eq!(leaf_order(&path), [0, 1, 2, 5, 6, 3, 4]);
    }
}
