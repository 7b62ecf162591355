//! A common mean as part of a problem: one more node, without rows, joined to all others.
//!
//! With weight `share` on the edges to the hub and `1 - share` times the old weight on the others, a penalty pulls every
//! model to those of its neighbours and to a common one. The hub's own row of a solution is that common model.

use super::Graph;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Matrix;

impl Graph {
    /// The graph with a hub as its last node: edges weigh `(1 - share) A_e`, those to the hub `share`. With `share = 1` the
    /// hub is all there is.
    pub fn with_hub(&self, share: f64) -> Result<Graph> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Parameter { name: "hub", value: share, needs: "above 0 and at most 1" });
        }
        let hub = self.nodes();
        let kept = (0..self.edges()).map(|e| {
            let (i, j) = self.nodes_of(e);
            (i, j, (1.0 - share) * self.weight(e))
        });
        let edges: Vec<_> = kept.filter(|edge| edge.2 > 0.0).chain((0..hub).map(|i| (i, hub, share))).collect();
        Graph::new(hub + 1, &edges)
    }
}

impl Dataset {
    /// The dataset with one more node, which has no rows.
    pub fn with_hub(&self) -> Dataset {
        let offsets = (0..=self.nodes()).map(|i| if i == 0 { 0 } else { self.rows(i - 1).end });
        let offsets = offsets.chain([self.len()]).collect();
        let x: Vec<f64> = (0..self.nodes()).flat_map(|i| self.features(i)).copied().collect();
        let weight = (0..self.nodes()).flat_map(|i| self.weights(i)).copied().collect();
        let grown = Dataset::new(offsets, Matrix::from_rows(self.dim(), x), self.y().to_vec(), weight);
        grown.expect("rows that were valid stay valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::chain;

    #[test]
    fn a_hub_is_joined_to_all() {
        let graph = chain(3).unwrap().with_hub(0.25).unwrap();
        assert_eq!((graph.nodes(), graph.edges(), graph.degree(3)), (4, 5, 3));
        assert_eq!((graph.weighted_degree(3), graph.weighted_degree(1)), (0.75, 1.75));
        assert_eq!(chain(3).unwrap().with_hub(1.0).unwrap().edges(), 3);
        for share in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(chain(3).unwrap().with_hub(share).is_err());
        }
    }

    #[test]
    fn the_hub_has_no_rows() {
        let x = Matrix::from_rows(1, vec![1.0, 2.0, 3.0]);
        let data = Dataset::new(vec![0, 2, 2, 3], x, vec![4.0, 5.0, 6.0], vec![1.0, 2.0, 3.0]).unwrap().with_hub();
        assert_eq!((data.nodes(), data.len(), data.rows(2), data.rows(3)), (4, 3, 2..3, 3..3));
        assert_eq!(data.weights(2), [3.0]);
    }
}
