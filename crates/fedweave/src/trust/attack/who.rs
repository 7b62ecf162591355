//! Which nodes are the attacker's.

use rand::seq::SliceRandom;

use crate::graph::Graph;
use crate::random::{Purpose, stream};

/// The neighbours of a victim, those with the heaviest edges first; equal ones in the order of nodes.
pub fn around(graph: &Graph, victim: usize) -> Vec<usize> {
    let mut ends: Vec<(f64, usize)> =
        graph.ends(victim).iter().map(|end| (graph.weight(end.edge as usize), end.neighbour as usize)).collect();
    ends.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ends.into_iter().map(|(_, node)| node).collect()
}

/// All nodes in an order in which the first ones reach many others: every next one has the largest weight towards nodes that the
/// attacker does not have yet, each counted the less the more of its edges the attacker has.
pub fn spread(graph: &Graph) -> Vec<usize> {
    let n = graph.nodes();
    let (mut taken, mut reached) = (vec![false; n], vec![0.0; n]);
    let mut order = Vec::with_capacity(n);
    for _ in 0..n {
        let gain = |i: usize| -> f64 {
            let open = graph.ends(i).iter().filter(|end| !taken[end.neighbour as usize]);
            open.map(|end| graph.weight(end.edge as usize) / (1.0 + reached[end.neighbour as usize])).sum()
        };
        let next = (0..n).filter(|&i| !taken[i]).map(|i| (gain(i), i));
        let Some((_, next)) = next.reduce(|a, b| if b.0 > a.0 { b } else { a }) else { break };
        taken[next] = true;
        order.push(next);
        graph.ends(next).iter().for_each(|end| reached[end.neighbour as usize] += graph.weight(end.edge as usize));
    }
    order
}

/// So many nodes at random, but none that would leave an honest node without a majority of honest neighbours; fewer if there are
/// not so many.
pub fn draw(graph: &Graph, count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..graph.nodes()).collect();
    order.shuffle(&mut stream(seed, Purpose::Stress, 0));
    let mut lies = vec![false; graph.nodes()];
    let mut drawn = Vec::new();
    for node in order {
        if drawn.len() == count {
            break;
        }
        lies[node] = true;
        let hurt = graph.ends(node).iter().any(|end| !majority(graph, end.neighbour as usize, &lies));
        if hurt {
            lies[node] = false;
        } else {
            drawn.push(node);
        }
    }
    drawn.sort_unstable();
    drawn
}

/// True if every honest node has more honest neighbours than others.
pub fn has_honest_majority(graph: &Graph, lies: &[bool]) -> bool {
    (0..graph.nodes()).filter(|&i| !lies[i]).all(|i| majority(graph, i, lies))
}

fn majority(graph: &Graph, node: usize, lies: &[bool]) -> bool {
    let bad = graph.ends(node).iter().filter(|end| lies[end.neighbour as usize]).count();
    lies[node] || bad == 0 || 2 * bad < graph.degree(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::{chain, grid};

    #[test]
    fn attackers_are_chosen_by_what_they_reach() {
        let graph = Graph::new(5, &[(0, 1, 1.0), (0, 2, 3.0), (0, 3, 2.0), (3, 4, 1.0)]).unwrap();
        assert_eq!(around(&graph, 0), [2, 3, 1]);
        let order = spread(&graph);
        // Node 3 has the only neighbour that node 0 has not reached.
        assert_eq!(order, [0, 3, 1, 2, 4]);
    }

    #[test]
    fn honest_nodes_keep_their_majority() {
        let graph = grid(8, 8).unwrap();
        for seed in 0..20 {
            let drawn = draw(&graph, 12, seed);
            let lies: Vec<bool> = (0..64).map(|i| drawn.contains(&i)).collect();
            assert!(has_honest_majority(&graph, &lies) && drawn.len() >= 8, "{seed}: {drawn:?}");
        }
        assert_ne!(draw(&graph, 12, 0), draw(&graph, 12, 1));
        // In a chain a liar is half of what an inner node hears.
        assert!(draw(&chain(3).unwrap(), 3, 0).is_empty());
        assert!(!has_honest_majority(&chain(3).unwrap(), &[true, false, false]));
    }
}
