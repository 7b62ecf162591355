//! Which edges are guilty: what a neighbour's model does to a node's own rows, and how hard it pulls.
//!
//! At node `i`, neighbour `j` that says `v_j` has
//!
//! ```text
//! residual     L_i(v_j) / (median over neighbours k of L_i(v_k))          how much worse it predicts my rows than others do
//! saturation   |u_e| / (lambda A_e pull_max)                             1: it pulls with all that a norm allows
//! ```
//!
//! An edge is suspicious where the residual is far above 1. Saturation tells more where most edges are slack. Both are known to the
//! node alone; nothing else has to be sent.

use crate::graph::Graph;
use crate::matrix::{Matrix, norm2};
use crate::problem::Problem;
use crate::trust::attack::Heard;

/// What is known about a neighbour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspicion {
    /// Who judges.
    pub node: usize,
    /// Who is judged.
    pub neighbour: usize,
    /// The edge between them.
    pub edge: usize,
    /// The loss of the neighbour's model on the node's rows, relative to the median neighbour.
    pub residual: f64,
    /// The share of the largest pull that is used; `None` if there is none.
    pub saturation: Option<f64>,
}

impl Suspicion {
    /// The larger, the guiltier.
    pub fn score(&self) -> f64 {
        self.residual
    }
}

/// Judges all neighbours of all nodes that have rows, by what they said last and, where there are any, by the flows on edges.
pub fn suspicions(problem: &Problem, said: &Matrix, flows: &Matrix) -> Vec<Suspicion> {
    let (graph, loss) = (problem.graph(), problem.loss());
    let pull = problem.penalty().pull_max(problem.dim());
    let mut all = Vec::with_capacity(2 * graph.edges());
    let mut losses = Vec::new();
    for node in (0..graph.nodes()).filter(|&i| loss.has_rows(i) && problem.is_coupled(i)) {
        losses.clear();
        losses.extend(graph.ends(node).iter().map(|end| loss.value(node, said.row(end.neighbour as usize))));
        let usual = median(&losses).max(f64::MIN_POSITIVE);
        for (end, value) in graph.ends(node).iter().zip(&losses) {
            let edge = end.edge as usize;
            let most = pull.map(|pull| pull * problem.edge_weights()[edge]).filter(|_| flows.rows() > edge);
            all.push(Suspicion {
                node,
                neighbour: end.neighbour as usize,
                edge,
                residual: if value.is_finite() { value / usual } else { f64::INFINITY },
                saturation: most.map(|most| norm2(flows.row(edge)) / most),
            });
        }
    }
    all
}

/// The same after rounds: a neighbour of whom nothing new was believed in most rounds is as suspicious as can be.
pub fn suspicions_of(problem: &Problem, heard: &Heard, flows: &Matrix) -> Vec<Suspicion> {
    let mut all = suspicions(problem, &heard.said, flows);
    all.iter_mut().filter(|s| heard.is_mute(s.neighbour)).for_each(|s| s.residual = f64::INFINITY);
    all
}

/// The graph without edges that either end finds more than `factor` times as bad as its median neighbour, and which they are.
pub fn screened(graph: &Graph, suspicions: &[Suspicion], factor: f64) -> crate::Result<(Graph, Vec<usize>)> {
    let mut guilty: Vec<usize> = suspicions.iter().filter(|s| s.score() > factor).map(|s| s.edge).collect();
    guilty.sort_unstable();
    guilty.dedup();
    let kept = (0..graph.edges()).filter(|e| guilty.binary_search(e).is_err());
    let edges: Vec<_> = kept.map(|e| (graph.nodes_of(e).0, graph.nodes_of(e).1, graph.weight(e))).collect();
    Ok((Graph::new(graph.nodes(), &edges)?, guilty))
}

/// The probability that a guilty one has a larger score than an innocent one (ties count half); `None` if there are not both.
pub fn area_under_curve(scores: &[(f64, bool)]) -> Option<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut innocent, mut sum, mut at) = (0.0, 0.0, 0);
    while at < sorted.len() {
        let same = sorted[at..].iter().take_while(|s| s.0 == sorted[at].0).count();
        let bad = sorted[at..at + same].iter().filter(|s| s.1).count() as f64;
        let good = same as f64 - bad;
        sum += bad * (innocent + 0.5 * good);
        innocent += good;
        at += same;
    }
    let guilty = sorted.len() as f64 - innocent;
    (guilty > 0.0 && innocent > 0.0).then(|| sum / (guilty * innocent))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The lower one of two: half of the neighbours may lie.
    sorted.get((sorted.len().max(1) - 1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;
    use crate::loss::{Family, LossOptions};
    use crate::penalty::Norm2;

    #[test]
    fn the_area_counts_pairs() {
        assert_eq!(area_under_curve(&[(1.0, false), (2.0, true), (3.0, false), (4.0, true)]), Some(0.75));
        assert_eq!(area_under_curve(&[(1.0, false), (1.0, true)]), Some(0.5));
        assert_eq!(area_under_curve(&[(1.0, true)]), None);
    }

    #[test]
    fn a_neighbour_whose_model_predicts_badly_is_found() {
        let star: Vec<_> = (1..6).map(|j| (0, j, 1.0)).collect();
        let at = [0.0, 0.5, 0.6, 0.7, 0.8, 9.0];
        let data = Dataset::new((0..=6).collect(), Matrix::from_rows(1, at.to_vec()), vec![0.0; 6], vec![1.0; 6]);
        let loss = Family::Point.build(data.unwrap(), &LossOptions::default()).unwrap();
        let problem = Problem::build(Graph::new(6, &star).unwrap(), loss, Box::new(Norm2), 0.5).unwrap();
        let said = Matrix::from_rows(1, at.to_vec());
        let mut flows = Matrix::zeros(5, 1);
        flows.row_mut(4)[0] = -0.5;
        let found = suspicions(&problem, &said, &flows);
        let of_centre: Vec<_> = found.iter().filter(|s| s.node == 0).collect();
        let worst = of_centre.iter().max_by(|a, b| a.score().total_cmp(&b.score())).unwrap();
        assert_eq!((worst.neighbour, worst.saturation), (5, Some(1.0)));
        assert!((worst.residual - 81.0 / 0.49).abs() < 1e-9);
        let (kept, guilty) = screened(problem.graph(), &found, 10.0).unwrap();
        assert_eq!((kept.edges(), guilty), (4, vec![4]));
    }
}
