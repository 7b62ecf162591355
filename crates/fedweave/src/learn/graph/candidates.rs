//! Pairs of nodes worth looking at.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Pairs;
use crate::graph::kd_tree::{KdTree, Neighbour};
use crate::learn::discrepancy::Discrepancy;

/// Up to so many nodes all pairs are compared.
pub const ALL_PAIRS_MAX: usize = 3_000;
/// Where pairs are compared one by one, so many times as many as are wanted are candidates, and a few more.
const MORE: (usize, usize) = (3, 8);

/// For every node the nearest others, by discrepancy and then by index.
pub struct Lists {
    /// `(discrepancy, node)`, nearest first.
    pub nearest: Vec<Vec<(f64, u32)>>,
    /// True if a node that is not in a list is no nearer than the last of it.
    pub exact: bool,
}

/// The `k` nearest of every node, or all others if there are no more.
pub fn lists(measure: &dyn Discrepancy, k: usize) -> Lists {
    let n = measure.points().rows();
    let k = k.min(n - 1);
    if n <= ALL_PAIRS_MAX {
        return Lists { nearest: compared(measure, n, k), exact: true };
    }
    let wanted = if measure.is_euclidean() { k } else { (MORE.0 * k + MORE.1).min(n - 1) };
    let near = by_points(measure, wanted);
    match measure.is_euclidean() {
        true => Lists { nearest: near, exact: true },
        false => Lists { nearest: judged(measure, near, k), exact: false },
    }
}

/// Every node with its `k` nearest.
pub fn nearest(measure: &dyn Discrepancy, k: usize) -> Pairs {
    let lists = lists(measure, k);
    let edges = lists.nearest.iter().enumerate().flat_map(|(i, list)| list.iter().map(move |&(_, j)| (i, j as usize)));
    let mut pairs: Pairs = edges.map(|(i, j)| (i.min(j), i.max(j), 1.0)).collect();
    pairs.sort_by_key(|&(i, j, _)| (i, j));
    pairs.dedup();
    pairs
}

/// The nearest of one node among all others.
fn compared(measure: &dyn Discrepancy, n: usize, k: usize) -> Vec<Vec<(f64, u32)>> {
    let of_node = |work: &mut Vec<f64>, i: usize| {
        let others = (0..n).filter(|&j| j != i);
        // The smaller index first: a discrepancy computed in the other order may differ in its last digit.
        let all = others.map(|j| (measure.between(i.min(j), i.max(j), work), j as u32)).collect();
        first(all, k)
    };
    (0..n).into_par_iter().map_init(Vec::new, of_node).collect()
}

fn first(mut all: Vec<(f64, u32)>, k: usize) -> Vec<(f64, u32)> {
    let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if k < all.len() {
        all.select_nth_unstable_by(k, order);
        all.truncate(k);
    }
    all.sort_unstable_by(order);
    all
}

fn by_points(measure: &dyn Discrepancy, k: usize) -> Vec<Vec<(f64, u32)>> {
    let points = measure.points();
    let tree = KdTree::new(points);
    let of_node = |heap: &mut BinaryHeap<Neighbour>, i: u32| {
        tree.nearest(points.row(i as usize), i, k, heap);
        let mut found: Vec<Neighbour> = heap.drain().collect();
        found.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.index.cmp(&b.index)));
        found.iter().map(|near| (near.distance.sqrt(), near.index)).collect::<Vec<_>>()
    };
    let mut lists = vec![Vec::new(); points.rows()];
    let found: Vec<(u32, Vec<(f64, u32)>)> =
        tree.order().par_iter().map_init(BinaryHeap::new, |heap, &i| (i, of_node(heap, i))).collect();
    found.into_iter().for_each(|(i, list)| lists[i as usize] = list);
    lists
}

fn judged(measure: &dyn Discrepancy, near: Vec<Vec<(f64, u32)>>, k: usize) -> Vec<Vec<(f64, u32)>> {
    let of_node = |work: &mut Vec<f64>, (i, list): (usize, Vec<(f64, u32)>)| {
        let pair = |j: u32| (i.min(j as usize), i.max(j as usize));
        let all = list.into_iter().map(|(_, j)| (measure.between(pair(j).0, pair(j).1, work), j)).collect();
        first(all, k)
    };
    near.into_par_iter().enumerate().map_init(Vec::new, of_node).collect()
}
