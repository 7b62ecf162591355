//! (7.7): the `e` pairs with the smallest discrepancy. They are among the nearest pairs of every node if none of their lists
//! ends before the largest discrepancy chosen; lists that do are made longer.

use super::candidates::lists;
use super::{Pairs, Proof};
use crate::learn::discrepancy::Discrepancy;

pub fn solve(measure: &dyn Discrepancy, e: usize) -> (Pairs, Proof) {
    let n = measure.points().rows();
    let mut k = (4 * e.div_ceil(n) + 8).min(n - 1);
    loop {
        let near = lists(measure, k);
        let mut all: Vec<(f64, usize, usize)> = Vec::new();
        for (i, list) in near.nearest.iter().enumerate() {
            all.extend(list.iter().map(|&(cost, j)| (cost, i.min(j as usize), i.max(j as usize))));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        all.dedup();
        let compared = all.len();
        all.truncate(e);
        let last = all.last().map_or(0.0, |edge| edge.0);
        let complete = |list: &Vec<(f64, u32)>| list.len() + 1 == n || list.last().is_some_and(|end| end.0 >= last);
        let enough = all.len() == e && (!near.exact || near.nearest.iter().all(complete));
        if !enough && k + 1 < n {
            k = (2 * k).min(n - 1);
            continue;
        }
        let value = all.iter().map(|edge| edge.0).sum();
        let mut pairs: Pairs = all.into_iter().map(|(_, i, j)| (i, j, 1.0)).collect();
        pairs.sort_by_key(|&(i, j, _)| (i, j));
        let proof = match near.exact {
            true => Proof::All { value, bound: value },
            false => Proof::Candidates { value, bound: value, pairs: compared },
        };
        return (pairs, proof);
    }
}
