//! Whose models do badly on the rows of this part: it is known to the part alone, and nothing else has to be sent. What is asked is that of
//! [`fedweave::trust::defence::screen`]: how much worse does what a neighbour says predict my rows than what the median neighbour says?

use std::collections::BTreeMap;

use fedweave::loss::Loss;

use super::Part;
use crate::plan::Plan;

/// Who has fewer neighbours cannot tell a liar from an honest one.
const NEIGHBOURS_MIN: usize = 3;
/// Rows that neighbours predict nearly perfectly tell nobody apart: below this share of what a model of zeros loses, losses are alike.
const ALIKE: f64 = 0.01;

/// A peer, and a node of it.
type Speaker<'a> = (usize, &'a str);

/// What neighbours said last.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    /// For each peer, the places of the nodes whose rows it sends.
    places: Vec<BTreeMap<String, usize>>,
    /// Their rows, one after the other; none before the first.
    rows: Vec<Vec<f64>>,
    known: Vec<bool>,
}

impl Heard {
    fn new(plan: &Plan, dim: usize) -> Self {
        let places = |k: usize| {
            let of_peer = plan.edges.iter().filter(|e| e.peer.is_some_and(|p| p.0 as usize == k));
            let mut names: BTreeMap<String, usize> = of_peer.map(|e| (e.neighbour.clone(), 0)).collect();
            names.values_mut().enumerate().for_each(|(place, at)| *at = place);
            names
        };
        let places: Vec<_> = (0..plan.peers.len()).map(places).collect();
        let rows = places.iter().map(|names| vec![0.0; names.len() * dim]).collect();
        Heard { known: vec![false; places.len()], rows, places }
    }

    /// Takes down the rows of a peer.
    pub fn note(&mut self, peer: usize, rows: &[f64]) {
        // Of a peer some of whose nodes do not count, nothing is taken down.
        if self.rows[peer].len() == rows.len() {
            self.rows[peer].copy_from_slice(rows);
            self.known[peer] = true;
        }
    }

    fn of(&self, peer: usize, node: &str, dim: usize) -> Option<&[f64]> {
        let place = *self.places[peer].get(node).filter(|_| self.known[peer])?;
        self.rows[peer].get(place * dim..(place + 1) * dim)
    }
}

impl Part {
    /// From now on what neighbours say is taken down, so that they can be judged.
    pub fn listen(&mut self) {
        self.heard = Some(Heard::new(&self.plan, self.dim));
    }

    /// For each peer, how many times as badly as the median neighbour its worst node predicts the rows of nodes here (the median over its edges); none where
    /// that cannot be told. `loss` is that of the rows of the plan.
    pub fn guilt(&self, loss: &dyn Loss) -> Vec<Option<f64>> {
        // By the node that said it.
        let mut ratios: Vec<BTreeMap<&str, Vec<f64>>> = vec![BTreeMap::new(); self.peers.len()];
        let Some(heard) = &self.heard else { return vec![None; self.peers.len()] };
        let (models, zeros) = (self.models(), vec![0.0; self.dim]);
        let mut losses: Vec<Vec<(Option<Speaker<'_>>, f64)>> = vec![Vec::new(); self.plan.nodes.len()];
        let place = |name: &String| self.plan.nodes.binary_search(name).ok();
        for edge in &self.plan.edges {
            let Some(i) = place(&edge.node) else { continue };
            let peer = edge.peer.map(|peer| peer.0 as usize);
            match (peer, place(&edge.neighbour)) {
                (Some(k), _) => {
                    let said = heard.of(k, &edge.neighbour, self.dim);
                    let who = Some((k, edge.neighbour.as_str()));
                    losses[i].extend(said.filter(|_| loss.has_rows(i)).map(|said| (who, loss.value(i, said))));
                }
                (None, Some(j)) => {
                    for (at, other) in [(i, j), (j, i)] {
                        losses[at].extend(loss.has_rows(at).then(|| (None, loss.value(at, models.row(other)))));
                    }
                }
                (None, None) => {}
            }
        }
        for (i, losses) in losses.iter().enumerate().filter(|(_, losses)| losses.len() >= NEIGHBOURS_MIN) {
            let usual = median(losses.iter().map(|loss| loss.1)).unwrap_or(0.0).max(ALIKE * loss.value(i, &zeros));
            for (peer, value) in losses {
                let ratio = if value.is_finite() { value / usual.max(f64::MIN_POSITIVE) } else { f64::INFINITY };
                peer.iter().for_each(|(k, node)| ratios[*k].entry(node).or_default().push(ratio));
            }
        }
        let worst = |nodes: BTreeMap<&str, Vec<f64>>| {
            nodes.into_values().filter_map(|ratios| median(ratios.into_iter())).max_by(f64::total_cmp)
        };
        ratios.into_iter().map(worst).collect()
    }
}

/// The lower one of two: half of the neighbours may lie.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len().max(1) - 1) / 2).copied()
}
