//! Where a new part starts: from what its neighbours say.

use fedweave::Matrix;

use super::{Joining, Part};
use crate::plan::PeerId;

impl Part {
    /// Nodes with neighbours elsewhere start at the median of their models, by weight: liars with less than half of it cannot
    /// take it far.
    pub(super) fn warm_start(&self, joining: &Joining, models: &mut Matrix) {
        let d = self.dim;
        let mut rows: Vec<Vec<(&[f64], f64)>> = vec![Vec::new(); models.rows()];
        for edge in &self.plan.edges {
            let (Some(peer), Ok(node)) = (edge.peer, self.plan.nodes.binary_search(&edge.node)) else { continue };
            if !joining.welcomed[peer.0 as usize] {
                continue;
            }
            let place = self.neighbours_of(peer).binary_search(&edge.neighbour.as_str()).unwrap_or(0);
            let Some(row) = joining.models[peer.0 as usize].get(place * d..(place + 1) * d) else { continue };
            rows[node].push((row, edge.weight));
        }
        for (node, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            for j in 0..d {
                let mut column: Vec<(f64, f64)> = rows.iter().map(|(row, weight)| (row[j], *weight)).collect();
                models.row_mut(node)[j] = median(&mut column);
            }
        }
    }

    /// The nodes of a peer next to this part, in byte order.
    fn neighbours_of(&self, peer: PeerId) -> Vec<&str> {
        let edges = self.plan.edges.iter().filter(|e| e.peer == Some(peer));
        let mut names: Vec<&str> = edges.map(|e| e.neighbour.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The median of values by their weights; the middle of two.
fn median(column: &mut [(f64, f64)]) -> f64 {
    column.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (half, mut below) = (column.iter().map(|c| c.1).sum::<f64>() / 2.0, 0.0);
    for (k, (value, weight)) in column.iter().enumerate() {
        below += weight;
        if below >= half {
            let next = column.get(k + 1).filter(|_| below == half).map_or(*value, |c| c.0);
            return value / 2.0 + next / 2.0;
        }
    }
    column.last().map_or(0.0, |c| c.0)
}
