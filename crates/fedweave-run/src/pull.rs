//! Who shaped the model of a node. At the optimum `grad L_i(w_i) = -(D'u)_i`: what holds a model away from its own rows are the flows on
//! its edges, and their norms say how hard each neighbour pulls.

use fedweave::matrix::norm2;
use serde::Serialize;

use crate::fit::FitResult;

/// One neighbour of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pull {
    /// Its name.
    pub name: String,
    /// The norm of the flow on the edge between them, in the units of the solver.
    pub force: f64,
    /// The same as a share of all flows at the node.
    pub share: f64,
    /// The largest flow that the edge allows is reached: a norm lets models differ only there.
    pub saturated: bool,
}

/// What the common mean is called among neighbours.
const COMMON_MEAN: &str = "the common mean";

/// The neighbours of a node and how hard they pull, hardest first; nothing where the solver has no flows.
pub fn pulls(fit: &FitResult, node: usize) -> Vec<Pull> {
    let (graph, names, u) = (fit.problem.graph(), &fit.input.names, &fit.solution.u);
    if u.rows() != graph.edges() {
        return Vec::new();
    }
    let mut pulls: Vec<Pull> = graph
        .ends(node)
        .iter()
        .map(|end| {
            let edge = end.edge as usize;
            let (i, j) = graph.nodes_of(edge);
            let other = if i == node { j } else { i };
            Pull {
                name: names.get(other).cloned().unwrap_or_else(|| COMMON_MEAN.into()),
                force: norm2(u.row(edge)),
                share: 0.0,
                saturated: fit.clusters.saturated.get(edge).copied().unwrap_or(false),
            }
        })
        .collect();
    let total: f64 = pulls.iter().map(|pull| pull.force).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    pulls.iter_mut().for_each(|pull| pull.share = pull.force / total);
    pulls.sort_by(|a, b| b.force.total_cmp(&a.force).then_with(|| a.name.cmp(&b.name)));
    pulls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slide::tests::fitted;

    #[test]
    fn flows_hold_a_model_away_from_its_own_rows() {
        let fit = fitted(0.05);
        let (problem, w) = (&fit.problem, &fit.solution.w);
        for node in 0..fit.input.names.len() {
            let step = 1e-6;
            let value = |shift: f64| problem.loss().value(node, &[w.row(node)[0] + shift]);
            let slope = (value(step) - value(-step)) / (2.0 * step);
            let mut flow = [0.0];
            problem.divergence(&fit.solution.u, node, &mut flow);
            assert!((slope + flow[0]).abs() < 1e-4, "node {node}: slope {slope}, flow {}", flow[0]);
            let pulls = pulls(&fit, node);
            let shares: f64 = pulls.iter().map(|pull| pull.share).sum();
            assert!(pulls.len() == 2 && (shares - 1.0).abs() < 1e-12);
            assert!(pulls[0].force >= pulls[1].force && pulls[0].force + pulls[1].force >= flow[0].abs() - 1e-12);
        }
    }
}
