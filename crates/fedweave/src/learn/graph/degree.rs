//! (7.6): the smallest total discrepancy with weights of every node adding up to `k`.
//!
//! A symmetric matrix `A` within the budget is also a way to send `k` units from every node to others, and for any such way
//! `B` the matrix `(B + B') / 2` is within the budget at the same cost: the problem is a transportation problem, whose
//! solutions have entries 0 and 1, and an optimal `A` has entries 0, 1/2 and 1. Potentials prove it. Arcs that were left out
//! at first, because they are long, are priced by them and added where they could help.

use std::collections::BTreeMap;

use super::candidates::{ALL_PAIRS_MAX, Lists, lists};
use super::transport::Transport;
use super::{Pairs, Proof};
use crate::learn::discrepancy::Discrepancy;

/// Candidates of a node at first, beyond the `k` it needs.
const SPARE: usize = 8;
/// Rounds of pricing; a few always sufficed.
const ROUNDS: usize = 20;

pub fn solve(measure: &dyn Discrepancy, k: usize) -> (Pairs, Proof) {
    let n = measure.points().rows();
    let mut wanted = (2 * k + SPARE).min(n - 1);
    loop {
        let near = lists(measure, wanted);
        let arcs = both_ways(&near);
        match priced(measure, &near, arcs, k) {
            Some(found) => return found,
            // Too few arcs for everybody to receive k units.
            None => wanted = (2 * wanted).min(n - 1),
        }
    }
}

/// Arcs `(receiver, cost)`; a pair that is near for one end is there for both.
fn both_ways(near: &Lists) -> Vec<Vec<(u32, f64)>> {
    let mut arcs: Vec<Vec<(u32, f64)>> = vec![Vec::new(); near.nearest.len()];
    for (i, list) in near.nearest.iter().enumerate() {
        for &(cost, j) in list {
            arcs[i].push((j, cost));
            arcs[j as usize].push((i as u32, cost));
        }
    }
    tidy(&mut arcs);
    arcs
}

fn tidy(arcs: &mut [Vec<(u32, f64)>]) {
    for list in arcs {
        list.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        list.dedup_by_key(|arc| arc.0);
    }
}

/// Solves along the arcs, and again with those that its potentials ask for.
fn priced(measure: &dyn Discrepancy, near: &Lists, mut arcs: Vec<Vec<(u32, f64)>>, k: usize) -> Option<(Pairs, Proof)> {
    for round in 0..ROUNDS {
        let mut transport = Transport::new(&arcs);
        if !transport.solve(k) {
            return None;
        }
        let missing = missing(measure, near, &arcs, &transport);
        if !missing.is_empty() && near.exact && round + 1 < ROUNDS {
            for (i, j, cost) in missing {
                arcs[i].push((j as u32, cost));
                arcs[j].push((i as u32, cost));
            }
            tidy(&mut arcs);
            continue;
        }
        let (value, bound) = (0.5 * transport.value(), 0.5 * transport.bound(k));
        let proof = match near.exact && missing.is_empty() {
            true => Proof::All { value, bound },
            false => Proof::Candidates { value, bound, pairs: arcs.iter().map(Vec::len).sum::<usize>() / 2 },
        };
        return Some((symmetric(&transport), proof));
    }
    unreachable!("the last round returns")
}

/// Pairs outside the arcs that would lower the cost. A node's list ends at its farthest candidate, so that only those whose
/// price exceeds it need a look at all others.
fn missing(
    measure: &dyn Discrepancy,
    near: &Lists,
    arcs: &[Vec<(u32, f64)>],
    transport: &Transport,
) -> Vec<(usize, usize, f64)> {
    let n = arcs.len();
    let (mut found, mut work) = (Vec::new(), Vec::new());
    if !near.exact && n > ALL_PAIRS_MAX {
        return found;
    }
    for (i, highest) in transport.prices_max().into_iter().enumerate() {
        let end = near.nearest[i].last().map_or(0.0, |last| last.0);
        if near.nearest[i].len() + 1 == n || end >= highest {
            continue;
        }
        for j in (0..n).filter(|&j| j != i) {
            if arcs[i].binary_search_by_key(&(j as u32), |arc| arc.0).is_ok() {
                continue;
            }
            let cost = measure.between(i.min(j), i.max(j), &mut work);
            if cost < transport.price(i, j) * (1.0 - 1e-12) {
                found.push((i, j, cost));
            }
        }
    }
    found
}

fn symmetric(transport: &Transport) -> Pairs {
    let mut weight: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    transport.sent().for_each(|(i, j)| *weight.entry((i.min(j), i.max(j))).or_default() += 0.5);
    weight.into_iter().map(|((i, j), weight)| (i, j, weight)).collect()
}
