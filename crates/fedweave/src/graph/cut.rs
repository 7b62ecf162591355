//! Cutting a graph into parts of about equal size with few edges between them: recursive bisection, each time along a
//! breadth-first order from a far end, then nodes that have more neighbours at the other side move there.

use super::Graph;

/// A graph cut into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The part of each node.
    pub part: Vec<usize>,
    /// Edges between parts.
    pub edges: usize,
}

/// Passes over the nodes that may move.
const PASSES: usize = 8;
/// A side may be larger than its share by this much.
const SLACK: f64 = 0.03;

/// Cuts a graph into `parts` parts; those without nodes are left when there are fewer nodes than parts.
pub fn cut(graph: &Graph, parts: usize) -> Cut {
    let mut part = vec![0; graph.nodes()];
    let mut side = vec![OUTSIDE; graph.nodes()];
    let mut work = vec![((0..graph.nodes() as u32).collect::<Vec<_>>(), 0, parts.max(1))];
    while let Some((nodes, first, count)) = work.pop() {
        if count == 1 || nodes.len() <= 1 {
            nodes.iter().for_each(|&i| part[i as usize] = first);
            continue;
        }
        let left = count / 2;
        let share = (nodes.len() * left).div_ceil(count);
        let (a, b) = bisect(graph, nodes, share, &mut side);
        work.push((a, first, left));
        work.push((b, first + left, count - left));
    }
    let crosses = |e: &usize| part[graph.nodes_of(*e).0] != part[graph.nodes_of(*e).1];
    let edges = (0..graph.edges()).filter(crosses).count();
    Cut { part, edges }
}

const OUTSIDE: u8 = 2;

/// Splits nodes into two sides, the first with about `share` of them. `side` is `OUTSIDE` everywhere before and after.
fn bisect(graph: &Graph, nodes: Vec<u32>, share: usize, side: &mut [u8]) -> (Vec<u32>, Vec<u32>) {
    nodes.iter().for_each(|&i| side[i as usize] = 1);
    // The last node of one search is far out: the second search starts there.
    let order = search(graph, &nodes, nodes[0], side);
    let order = search(graph, &nodes, order[order.len() - 1], side);
    order[..share].iter().for_each(|&i| side[i as usize] = 0);
    refine(graph, &order, share, side);
    let (a, b) = order.iter().partition(|&&i| side[i as usize] == 0);
    nodes.iter().for_each(|&i| side[i as usize] = OUTSIDE);
    (a, b)
}

/// The nodes in breadth-first order, component after component.
fn search(graph: &Graph, nodes: &[u32], root: u32, side: &mut [u8]) -> Vec<u32> {
    const SEEN: u8 = 3;
    let mut order = Vec::with_capacity(nodes.len());
    for &start in std::iter::once(&root).chain(nodes) {
        if side[start as usize] == SEEN {
            continue;
        }
        side[start as usize] = SEEN;
        let mut next = order.len();
        order.push(start);
        while let Some(&i) = order.get(next) {
            next += 1;
            for end in graph.ends(i as usize) {
                let j = end.neighbour as usize;
                if side[j] != OUTSIDE && side[j] != SEEN {
                    side[j] = SEEN;
                    order.push(end.neighbour);
                }
            }
        }
    }
    order.iter().for_each(|&i| side[i as usize] = 1);
    order
}

/// Moves nodes to the side where most of their neighbours are, as far as the sizes allow.
fn refine(graph: &Graph, order: &[u32], share: usize, side: &mut [u8]) {
    let slack = ((share.min(order.len() - share) as f64 * SLACK) as usize).max(1);
    let mut size = [share, order.len() - share];
    let most = [share + slack, order.len() - share + slack];
    for _ in 0..PASSES {
        let mut moved = 0;
        for &i in order {
            let from = usize::from(side[i as usize]);
            let count = |s: usize| {
                graph.ends(i as usize).iter().filter(|e| usize::from(side[e.neighbour as usize]) == s).count()
            };
            let gain = count(1 - from) as isize - count(from) as isize;
            // A move that gains nothing is worth it when it makes the larger side smaller.
            let evens = gain == 0 && size[from] > share.max(order.len() - share);
            if (gain > 0 || evens) && size[1 - from] < most[1 - from] && size[from] > 1 {
                side[i as usize] = 1 - from as u8;
                size[from] -= 1;
                size[1 - from] += 1;
                moved += 1;
            }
        }
        if moved == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::{chain, erdos_renyi, grid, stochastic_block_model};

    fn sizes(cut: &Cut, parts: usize) -> Vec<usize> {
        let mut sizes = vec![0; parts];
        cut.part.iter().for_each(|&p| sizes[p] += 1);
        sizes
    }

    #[test]
    fn a_chain_is_cut_as_rarely_as_can_be() {
        for parts in [1, 2, 3, 8] {
            let found = cut(&chain(240).unwrap(), parts);
            assert_eq!(found.edges, parts - 1);
            assert!(sizes(&found, parts).iter().all(|s| s.abs_diff(240 / parts) <= 12), "{:?}", sizes(&found, parts));
        }
    }

    /// Straight lines cut a square grid into 8 pieces with 4 or so lines of 40 edges.
    #[test]
    fn a_grid_is_cut_along_short_lines() {
        let graph = grid(40, 40).unwrap();
        let found = cut(&graph, 8);
        assert!(found.edges <= 280, "{}", found.edges);
        assert!(sizes(&found, 8).iter().all(|s| s.abs_diff(200) <= 20), "{:?}", sizes(&found, 8));
    }

    #[test]
    fn blocks_are_found_and_random_graphs_are_balanced() {
        let (graph, _) = stochastic_block_model(&[100, 100], 0.2, 0.002, 3).unwrap();
        let between =
            (0..graph.edges()).filter(|&e| (graph.nodes_of(e).0 < 100) != (graph.nodes_of(e).1 < 100)).count();
        assert!(cut(&graph, 2).edges <= 2 * between, "{} {between}", cut(&graph, 2).edges);
        let graph = erdos_renyi(500, 0.02, 1).unwrap();
        let found = cut(&graph, 5);
        let apart = |e: &usize| graph.nodes_of(*e).0 % 5 != graph.nodes_of(*e).1 % 5;
        assert!(found.edges < (0..graph.edges()).filter(apart).count());
        assert!(sizes(&found, 5).iter().all(|s| s.abs_diff(100) <= 15), "{:?}", sizes(&found, 5));
    }

    #[test]
    fn more_parts_than_nodes_leave_some_empty() {
        let found = cut(&chain(3).unwrap(), 8);
        assert_eq!(found.edges, 2);
        assert!(found.part.iter().all(|&p| p < 8));
        assert_eq!(cut(&chain(0).unwrap(), 2).part.len(), 0);
    }
}
