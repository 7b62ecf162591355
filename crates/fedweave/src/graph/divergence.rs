//! Graphs from samples: nodes whose rows look alike may learn from each other.
//!
//! The distance of two nodes is an estimate of the Kullback-Leibler divergence of the distributions behind their rows, from
//! distances to `k`-th nearest neighbours (F. Perez-Cruz, 2008):
//!
//! ```text
//! D(P||Q) = (d/n) sum_r log( s_k(x_r) / r_k(x_r) ) + log( m / (n - 1) )
//! ```
//!
//! with `r_k` among the other rows of `P` (`n` in all) and `s_k` among the `m` rows of `Q`.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Graph;
use super::kd_tree::{KdTree, Neighbour};
use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// No point is left out of a search.
const NOBODY: u32 = u32::MAX;
/// Distances below this part of the extent of the points count as this part: identical rows have no logarithm.
const SMALLEST: f64 = 1e-10;

/// Estimates `D(P||Q)` from rows of `p` and of `q` by `k`-th nearest neighbours. It may be below zero where they are alike.
pub fn kl_divergence(p: &Matrix, q: &Matrix, k: usize) -> Result<f64> {
    check(&[p, q], k)?;
    Ok(divergence(p, &own_distances(p, k), &KdTree::new(q), q.rows(), k))
}

/// `(D(P_i||P_j) + D(P_j||P_i)) / 2` of all pairs, zero where the estimate is below; one matrix of rows per node.
pub fn divergences(rows: &[Matrix], k: usize) -> Result<Matrix> {
    check(&rows.iter().collect::<Vec<_>>(), k)?;
    let n = rows.len();
    let trees: Vec<KdTree> = rows.par_iter().map(KdTree::new).collect();
    let own: Vec<Vec<f64>> = rows.par_iter().map(|r| own_distances(r, k)).collect();
    let mut one_way = Matrix::zeros(n, n);
    one_way.as_mut_slice().par_chunks_mut(n.max(1)).enumerate().for_each(|(i, out)| {
        for j in (0..n).filter(|&j| j != i) {
            out[j] = divergence(&rows[i], &own[i], &trees[j], rows[j].rows(), k);
        }
    });
    let mut both = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            both.row_mut(i)[j] = (0.5 * (one_way.row(i)[j] + one_way.row(j)[i])).max(0.0);
        }
    }
    Ok(both)
}

/// Joins every node with the `neighbours` nodes of smallest distance, weight `exp(-distance)`. An edge is there if either
/// of its nodes asks for it; of equally distant nodes the one with the smaller index is nearer.
pub fn nearest_by_distance(distances: &Matrix, neighbours: usize) -> Result<Graph> {
    let n = distances.rows();
    if neighbours == 0 || neighbours >= n {
        let needs = "at least 1 and below the number of nodes";
        return Err(Error::Parameter { name: "neighbours", value: neighbours as f64, needs });
    }
    let mut edges = Vec::new();
    for i in 0..n {
        let distance = |j: usize| distances.row(i)[j];
        let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
        others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        // A weight that vanishes is no edge.
        let joined = others[..neighbours].iter().map(|&j| (i, j, (-distance(j)).exp()));
        edges.extend(joined.filter(|edge| edge.2 > 0.0));
    }
    Graph::new(n, &edges)
}

fn check(rows: &[&Matrix], k: usize) -> Result<()> {
    let d = rows.first().map_or(0, |r| r.cols());
    for r in rows {
        if r.cols() != d {
            return Err(Error::Size { what: "columns of every sample", expected: d, found: r.cols() });
        }
        if k == 0 || r.rows() <= k {
            let needs = "at least 1 and below the number of rows of every node";
            return Err(Error::Parameter { name: "nearest neighbour", value: k as f64, needs });
        }
        if let Some(at) = r.as_slice().iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { row: at / d, what: format!("coordinate {}", at % d) });
        }
    }
    Ok(())
}

fn own_distances(p: &Matrix, k: usize) -> Vec<f64> {
    let tree = KdTree::new(p);
    let mut nearest = BinaryHeap::new();
    (0..p.rows()).map(|r| kth(&tree, p.row(r), r as u32, k, &mut nearest)).collect()
}

/// Squared distance to the `k`-th nearest.
fn kth(tree: &KdTree, at: &[f64], except: u32, k: usize, nearest: &mut BinaryHeap<Neighbour>) -> f64 {
    tree.nearest(at, except, k, nearest);
    nearest.peek().map_or(f64::INFINITY, |n| n.distance)
}

fn divergence(p: &Matrix, own: &[f64], q: &KdTree, m: usize, k: usize) -> f64 {
    let (n, d) = (p.rows() as f64, p.cols() as f64);
    let mut nearest = BinaryHeap::new();
    let other: Vec<f64> = (0..p.rows()).map(|r| kth(q, p.row(r), NOBODY, k, &mut nearest)).collect();
    let extent = own.iter().chain(&other).copied().fold(f64::MIN_POSITIVE, f64::max);
    let floor = (SMALLEST * SMALLEST * extent).max(f64::MIN_POSITIVE);
    // Distances are squared: half their logarithms.
    let sum: f64 = other.iter().zip(own).map(|(s, r)| 0.5 * (s.max(floor) / r.max(floor)).ln()).sum();
    d / n * sum + (m as f64 / (n - 1.0)).ln()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::random::{Purpose, stream};

    /// Rows of `N(mean, sd^2 I)`.
    fn normal(n: usize, d: usize, mean: f64, sd: f64, seed: u64) -> Matrix {
        let mut rng = stream(seed, Purpose::Points, 0);
        Matrix::from_rows(d, (0..n * d).map(|_| mean + sd * rng.sample::<f64, _>(StandardNormal)).collect())
    }

    /// Closed form for `N(0, I)` against `N(mean, sd^2 I)`.
    fn exact(d: f64, mean: f64, sd: f64) -> f64 {
        0.5 * d * (1.0 / (sd * sd) - 1.0 + 2.0 * sd.ln() + mean * mean / (sd * sd))
    }

    #[test]
    fn estimates_are_near_the_closed_form_for_gaussians() {
        for (d, mean, sd) in [(1, 0.0, 1.0), (1, 1.0, 1.0), (2, 0.7, 1.5), (2, 1.5, 1.0), (3, 0.5, 1.2)] {
            let (p, q) = (normal(4000, d, 0.0, 1.0, 1), normal(4000, d, mean, sd, 2));
            let (found, truth) = (kl_divergence(&p, &q, 5).unwrap(), exact(d as f64, mean, sd));
            assert!((found - truth).abs() < 0.05 + 0.1 * truth, "d {d}, mean {mean}, sd {sd}: {found} for {truth}");
        }
    }

    #[test]
    fn nodes_are_joined_with_those_they_look_like() {
        let rows: Vec<Matrix> = (0..8).map(|i| normal(200, 2, f64::from(i % 2) * 3.0, 1.0, 10 + i as u64)).collect();
        let distances = divergences(&rows, 3).unwrap();
        let graph = nearest_by_distance(&distances, 3).unwrap();
        assert_eq!(graph.edges(), 12, "the two groups of four, complete");
        for e in 0..graph.edges() {
            let (i, j) = graph.nodes_of(e);
            assert_eq!(i % 2, j % 2);
            assert!((graph.weight(e) - (-distances.row(i)[j]).exp()).abs() < 1e-15);
        }
    }

    #[test]
    fn identical_rows_and_bad_input_do_no_harm() {
        let same = Matrix::from_rows(2, vec![1.0; 20]);
        assert!(kl_divergence(&same, &same, 3).unwrap().is_finite());
        assert!(kl_divergence(&same, &normal(10, 2, 0.0, 1.0, 1), 3).unwrap().is_finite());
        assert!(kl_divergence(&same, &same, 10).is_err() && kl_divergence(&same, &same, 0).is_err());
        assert!(kl_divergence(&same, &Matrix::from_rows(1, vec![0.0; 20]), 3).is_err());
        assert!(kl_divergence(&same, &Matrix::from_rows(2, vec![f64::NAN; 20]), 3).is_err());
        assert!(nearest_by_distance(&Matrix::zeros(3, 3), 3).is_err());
    }
}
