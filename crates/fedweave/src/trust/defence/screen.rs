//! Which edges are guilty: what a neighbour's model does to a node's own rows, and how hard it pulls.
//!
//! At node `i`, neighbour `j` that says `v_j` has
//!
//! ```text
//! residual     L_i(v_j) / (median over neighbours k of L_i(v_k))          how much worse it predicts my rows than others do
//! others       median of the residuals of j at all nodes that hear it    what everybody thinks of it
//! score        sqrt(residual * others)
//! saturation   |u_e| / (lambda A_e pull_max)                             1: it pulls with all that a norm allows
//! ```
//!
//! An edge is suspicious where the score is far above 1. A neighbour that is honest but unlike me has a large residual with me and small ones
//! with those it is like; a liar has them everywhere, and a few slanderers do not move a median. Residual and saturation are known to the
//! node alone; of others every neighbour tells one number. Saturation tells more where most edges are slack.

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
    /// The median of that over all who judge this neighbour.
    pub others: f64,
    /// The share of the largest pull that is used; `None` if there is none.
    pub saturation: Option<f64>,
}

impl Suspicion {
    /// The larger, the guiltier.
    pub fn score(&self) -> f64 {
        // A root each, and no zeros: infinity times zero is no score.
        let root = |x: f64| x.max(f64::MIN_POSITIVE).sqrt();
        root(self.residual) * root(self.others)
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
                others: 0.0,
                saturation: most.map(|most| norm2(flows.row(edge)) / most),
            });
        }
    }
    pool(&mut all, graph.nodes());
    all
}

/// What all who judge a neighbour think of it.
fn pool(all: &mut [Suspicion], nodes: usize) {
    let mut by_neighbour = vec![Vec::new(); nodes];
    all.iter().for_each(|s| by_neighbour[s.neighbour].push(s.residual));
    let usual: Vec<f64> = by_neighbour.iter().map(|judged| median(judged)).collect();
    all.iter_mut().for_each(|s| s.others = usual[s.neighbour]);
}

/// The same after rounds: a neighbour of whom nothing new was believed in most rounds, or who says what somebody else says, is as suspicious
/// as can be.
pub fn suspicions_of(problem: &Problem, heard: &Heard, flows: &Matrix) -> Vec<Suspicion> {
    let mut all = suspicions(problem, &heard.said, flows);
    let is_guilty = |s: &Suspicion| heard.is_mute(s.neighbour) || is_echo(problem.graph(), &heard.said, s);
    all.iter_mut().filter(|s| is_guilty(s)).for_each(|s| s.residual = f64::INFINITY);
    pool(&mut all, problem.nodes());
    all
}

/// True if the neighbour says what the node itself or another of its neighbours says, bit for bit. Which of two is the echo, cannot be told.
fn is_echo(graph: &Graph, said: &Matrix, s: &Suspicion) -> bool {
    let around = graph.ends(s.node).iter().map(|end| end.neighbour as usize).filter(|j| *j != s.neighbour);
    around.chain([s.node]).any(|j| said.row(j) == said.row(s.neighbour))
}

/// The graph without edges with a score above `factor` at either end, and which they are.
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

    fn problem(edges: &[(usize, usize, f64)], at: &[f64]) -> Problem {
        let n = at.len();
        let data = Dataset::new((0..=n).collect(), Matrix::from_rows(1, at.to_vec()), vec![0.0; n], vec![1.0; n]);
        let loss = Family::Point.build(data.unwrap(), &LossOptions::default()).unwrap();
        Problem::build(Graph::new(n, edges).unwrap(), loss, Box::new(Norm2), 0.5).unwrap()
    }

    fn judged(edges: &[(usize, usize, f64)], at: &[f64]) -> Vec<Suspicion> {
        suspicions(&problem(edges, at), &Matrix::from_rows(1, at.to_vec()), &Matrix::zeros(0, 1))
    }

    /// Who says what others say cannot be told from them; who says it bit for bit can.
    #[test]
    fn an_echo_is_heard() {
        let star: Vec<_> = (1..6).map(|j| (0, j, 1.0)).collect();
        let problem = problem(&star, &[0.0, 0.5, 0.6, 0.7, 0.8, 0.9]);
        let said = Matrix::from_rows(1, vec![0.0, 0.5, 0.6, 0.5, 0.8, 0.9]);
        let heard = Heard { said, idle: vec![0; 6], rounds: 10 };
        let found = suspicions_of(&problem, &heard, &Matrix::zeros(0, 1));
        let guilty = found.iter().filter(|s| s.node == 0 && s.score() == f64::INFINITY).map(|s| s.neighbour);
        assert_eq!(guilty.collect::<Vec<_>>(), [1, 3]);
        assert!(found.iter().all(|s| !s.score().is_nan()));
    }

    #[test]
    fn the_area_counts_pairs() {
        assert_eq!(area_under_curve(&[(1.0, false), (2.0, true), (3.0, false), (4.0, true)]), Some(0.75));
        assert_eq!(area_under_curve(&[(1.0, false), (1.0, true)]), Some(0.5));
        assert_eq!(area_under_curve(&[(1.0, true)]), None);
    }

    /// Node 5 is unlike everybody; node 4 is unlike node 0 only, and like its own friends 6 and 7.
    #[test]
    fn who_is_only_unlike_me_is_less_suspicious_than_a_liar() {
        let edges: Vec<_> = (1..6)
            .map(|j| (0, j, 1.0))
            .chain([(4, 6, 1.0), (4, 7, 1.0), (6, 7, 1.0), (5, 1, 1.0), (5, 2, 1.0)])
            .collect();
        let found = judged(&edges, &[0.0, 0.5, 0.6, 0.7, 5.0, 5.0, 5.1, 5.2]);
        let of = |j: usize| found.iter().find(|s| s.node == 0 && s.neighbour == j).unwrap();
        assert!((of(4).residual - of(5).residual).abs() < 1e-9);
        assert!(of(4).others < of(5).others && of(4).score() < 0.5 * of(5).score(), "{found:?}");
    }

    #[test]
    fn a_neighbour_whose_model_predicts_badly_is_found() {
        let star: Vec<_> = (1..6).map(|j| (0, j, 1.0)).collect();
        let at = [0.0, 0.5, 0.6, 0.7, 0.8, 9.0];
        let problem = problem(&star, &at);
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
