//! Graphs by formula and by chance. Every edge has weight 1. Small sizes mean what the words say: one node has no
//! edges, a ring of two nodes is one edge, no nodes is the empty graph.

use std::ops::Range;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::Graph;
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// The chain `0 - 1 - ... - (n-1)`.
pub fn chain(n: usize) -> Result<Graph> {
    unit_graph(n, (1..n).map(|i| (i - 1, i)))
}

/// The chain whose last node is joined to the first.
pub fn ring(n: usize) -> Result<Graph> {
    let closing = (n > 2).then(|| (0, n - 1));
    unit_graph(n, (1..n).map(|i| (i - 1, i)).chain(closing))
}

/// Node 0 joined to every other node.
pub fn star(n: usize) -> Result<Graph> {
    unit_graph(n, (1..n).map(|i| (0, i)))
}

/// Every pair of nodes joined.
pub fn complete(n: usize) -> Result<Graph> {
    check_edges(pairs(n))?;
    unit_graph(n, (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))))
}

/// The `rows x cols` grid; node `r * cols + c` is joined to its neighbours in the same row and column.
pub fn grid(rows: usize, cols: usize) -> Result<Graph> {
    let n = rows.saturating_mul(cols);
    let right = move |i: usize| (!(i + 1).is_multiple_of(cols)).then_some((i, i + 1));
    let down = move |i: usize| (i + cols < n).then_some((i, i + cols));
    unit_graph(n, (0..n).flat_map(move |i| right(i).into_iter().chain(down(i))))
}

/// Every pair of nodes joined with probability `p`, independently (Erdős and Rényi).
pub fn erdos_renyi(n: usize, p: f64, seed: u64) -> Result<Graph> {
    check_probability("p", p)?;
    check_edges(p * pairs(n))?;
    let mut edges = Vec::new();
    sample_rows((0..n).map(|i| i + 1..n), p, &mut stream(seed, Purpose::Edges, 0), &mut edges);
    unit_graph(n, edges)
}

/// The stochastic block model: blocks of the given sizes, numbered one after the other; two nodes of one block are
/// joined with probability `p_in`, two nodes of different blocks with probability `p_out`. Also returns the block of
/// every node.
pub fn stochastic_block_model(sizes: &[usize], p_in: f64, p_out: f64, seed: u64) -> Result<(Graph, Vec<usize>)> {
    check_probability("p_in", p_in)?;
    check_probability("p_out", p_out)?;
    let (mut block, mut end) = (Vec::new(), Vec::new());
    for (b, &size) in sizes.iter().enumerate() {
        let stop = block.len() + size;
        block.resize(stop, b);
        end.resize(stop, stop);
    }
    let n = block.len();
    let inside: f64 = sizes.iter().map(|&size| pairs(size)).sum();
    check_edges(p_in * inside + p_out * (pairs(n) - inside))?;

    let mut edges = Vec::new();
    let mut rng = stream(seed, Purpose::Edges, 0);
    sample_rows((0..n).map(|i| i + 1..end[i]), p_in, &mut rng, &mut edges);
    let mut rng = stream(seed, Purpose::EdgesBetweenBlocks, 0);
    sample_rows((0..n).map(|i| end[i]..n), p_out, &mut rng, &mut edges);
    Ok((unit_graph(n, edges)?, block))
}

/// Visits each `(i, j)` with `j` in the `i`-th range with probability `p`, in time proportional to the number of rows
/// and hits: the number of pairs between two hits is geometrically distributed, so it is drawn and jumped over.
fn sample_rows(rows: impl Iterator<Item = Range<usize>>, p: f64, rng: &mut ChaCha8Rng, hits: &mut Vec<(usize, usize)>) {
    if p == 0.0 {
        return;
    }
    // 1 - U lies in (0, 1]; a gap too long for usize saturates, and no row is that long.
    let mut gap = || ((1.0 - rng.random::<f64>()).ln() / (-p).ln_1p()) as usize;
    let mut skip = gap();
    for (i, row) in rows.enumerate() {
        let mut j = row.start;
        while skip < row.end - j {
            hits.push((i, j + skip));
            j += skip + 1;
            skip = gap();
        }
        skip -= row.end - j;
    }
}

fn unit_graph(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Result<Graph> {
    if n > u32::MAX as usize {
        return Err(Error::Parameter { name: "nodes", value: n as f64, needs: "below 2^32" });
    }
    let edges: Vec<_> = edges.into_iter().map(|(i, j)| (i, j, 1.0)).collect();
    check_edges(edges.len() as f64)?;
    Graph::new(n, &edges)
}

/// A [`Graph`] counts the two ends of its edges in 32 bits.
fn check_edges(edges: f64) -> Result<()> {
    match edges <= (u32::MAX / 2) as f64 {
        true => Ok(()),
        false => Err(Error::Parameter { name: "edges", value: edges, needs: "below 2^31" }),
    }
}

fn check_probability(name: &'static str, value: f64) -> Result<()> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::Parameter { name, value, needs: "between 0 and 1" }),
    }
}

fn pairs(n: usize) -> f64 {
    n as f64 * (n as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::partition::Partition;

    fn degrees(graph: &Graph) -> Vec<usize> {
        (0..graph.nodes()).map(|i| graph.degree(i)).collect()
    }

    fn components(graph: &Graph) -> usize {
        Partition::components(graph).len()
    }

    #[test]
    fn graphs_by_formula_have_their_degrees_and_are_connected() {
        for n in 3..9 {
            let mut interior = vec![2; n];
            assert_eq!(degrees(&ring(n).unwrap()), interior);
            (interior[0], interior[n - 1]) = (1, 1);
            assert_eq!(degrees(&chain(n).unwrap()), interior);
            assert_eq!(degrees(&complete(n).unwrap()), vec![n - 1; n]);
            let mut hub = vec![1; n];
            hub[0] = n - 1;
            assert_eq!(degrees(&star(n).unwrap()), hub);
            for graph in [chain(n), ring(n), star(n), complete(n), grid(n, 2)] {
                assert_eq!(components(&graph.unwrap()), 1);
            }
        }
    }

    #[test]
    fn grid_joins_exactly_the_cells_at_distance_one() {
        let (rows, cols) = (4, 3);
        let graph = grid(rows, cols).unwrap();
        let distance = |i: usize, j: usize| (i / cols).abs_diff(j / cols) + (i % cols).abs_diff(j % cols);
        assert!((0..graph.edges()).all(|e| distance(graph.nodes_of(e).0, graph.nodes_of(e).1) == 1));
        assert_eq!(graph.edges(), rows * (cols - 1) + (rows - 1) * cols);
    }

    #[test]
    fn tiny_graphs_are_what_the_words_say() {
        for (n, edges) in [(0, 0), (1, 0), (2, 1)] {
            for graph in [chain(n), ring(n), star(n), complete(n), grid(1, n), grid(n, 1), erdos_renyi(n, 1.0, 7)] {
                let graph = graph.unwrap();
                assert_eq!((graph.nodes(), graph.edges()), (n, edges));
            }
        }
        assert_eq!(grid(0, 5).unwrap().nodes(), 0);
        assert_eq!(stochastic_block_model(&[], 0.5, 0.5, 1).unwrap().0.nodes(), 0);
        assert_eq!(stochastic_block_model(&[0, 2, 0], 1.0, 0.5, 1).unwrap().1, [1, 1]);
    }

    #[test]
    fn impossible_sizes_and_probabilities_are_errors() {
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(erdos_renyi(5, p, 0), Err(Error::Parameter { name: "p", .. })));
            assert!(matches!(stochastic_block_model(&[5], p, 0.0, 0), Err(Error::Parameter { name: "p_in", .. })));
            assert!(matches!(stochastic_block_model(&[5], 0.0, p, 0), Err(Error::Parameter { name: "p_out", .. })));
        }
        assert!(matches!(complete(100_000), Err(Error::Parameter { name: "edges", .. })));
        assert!(matches!(erdos_renyi(1_000_000, 0.5, 0), Err(Error::Parameter { name: "edges", .. })));
        assert!(matches!(grid(usize::MAX, 2), Err(Error::Parameter { name: "nodes", .. })));
    }

    #[test]
    fn certain_edges_are_all_there_and_impossible_ones_absent() {
        assert_eq!(erdos_renyi(20, 1.0, 3).unwrap(), complete(20).unwrap());
        assert_eq!(erdos_renyi(20, 0.0, 3).unwrap().edges(), 0);
        assert!(erdos_renyi(2_000, 1e-300, 3).unwrap().edges() == 0);
        let (graph, block) = stochastic_block_model(&[5, 7, 3], 1.0, 0.0, 3).unwrap();
        assert_eq!(components(&graph), 3);
        assert!((0..graph.edges()).all(|e| block[graph.nodes_of(e).0] == block[graph.nodes_of(e).1]));
        let (between, block) = stochastic_block_model(&[5, 7, 3], 0.0, 1.0, 3).unwrap();
        assert_eq!(between.edges(), 5 * 7 + 5 * 3 + 7 * 3);
        assert!((0..between.edges()).all(|e| block[between.nodes_of(e).0] != block[between.nodes_of(e).1]));
    }

    /// Each pair is an independent coin: over many seeds every single pair must turn up at its own rate.
    #[test]
    fn every_pair_is_drawn_at_its_own_probability() {
        let (sizes, p_in, p_out, draws) = ([3, 4], 0.7, 0.2, 4_000);
        let n = 7;
        let mut count = vec![0.0; n * n];
        let mut block = Vec::new();
        for seed in 0..draws {
            let (graph, blocks) = stochastic_block_model(&sizes, p_in, p_out, seed).unwrap();
            block = blocks;
            for e in 0..graph.edges() {
                let (i, j) = graph.nodes_of(e);
                count[i * n + j] += 1.0;
            }
        }
        for i in 0..n {
            for j in i + 1..n {
                let p = if block[i] == block[j] { p_in } else { p_out };
                let deviation = (p * (1.0 - p) / draws as f64).sqrt();
                assert!((count[i * n + j] / draws as f64 - p).abs() < 5.0 * deviation, "pair {i}, {j}");
            }
        }
    }

    #[test]
    fn a_million_nodes_have_the_expected_number_of_edges_and_the_seed_decides() {
        let n = 1_000_000;
        let graph = erdos_renyi(n, 10.0 / n as f64, 11).unwrap();
        let expected: f64 = 5.0 * n as f64;
        assert!((graph.edges() as f64 - expected).abs() < 6.0 * expected.sqrt());
        let small = |seed| erdos_renyi(500, 0.02, seed).unwrap();
        assert_eq!(small(5), small(5));
        assert_ne!(small(5), small(6));
    }
}
