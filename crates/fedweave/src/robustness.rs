//! How far liars can move the models of honest nodes.
//!
//! With a norm as penalty the flow on an edge stays in a ball: whatever a neighbour sends, it pulls with at most `lambda A_e`
//! (with the Huber penalty `2 delta lambda A_e`).
//! If all losses of honest nodes are `mu`-strongly convex, the sum over honest nodes of the squared distances between their
//! models with liars around and without them (the optimum of the honest nodes and the edges between them) is at most
//! `bound^2`,
//!
//! ```text
//! bound = (lambda / mu) sqrt( sum_{i honest} ( sum_{j liar} A_ij )^2 )       times sqrt(d) for norm1, 2 delta for huber
//! ```
//!
//! because the two optima solve `grad F(w) = 0` and `grad F(w') = -v` with `|v_i| <= lambda sum_j A_ij` for a strongly
//! monotone `grad F`. The ball of `norm1` is a cube, whose corners are `sqrt(d)` times as far. The squared penalty pulls as
//! hard as the liar likes: there is no bound.

use crate::problem::Problem;

/// Why there is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbounded {
    /// The penalty has an unbounded gradient: a liar pulls as hard as it likes.
    Penalty,
    /// The loss of some honest node is not strongly convex.
    Loss,
}

impl std::fmt::Display for Unbounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unbounded::Penalty => "the pull of the penalty has no limit: a liar can pull as hard as it likes",
            Unbounded::Loss => "the loss of some node is not strongly convex; a ridge makes it so, but for the intercept, which it spares",
        })
    }
}

/// How far the nodes that `lies` accepts can move the models of all others together.
pub fn liars_bound(problem: &Problem, lies: impl Fn(usize) -> bool) -> Result<f64, Unbounded> {
    let reach = reach(problem)?;
    let graph = problem.graph();
    let (mut mu, mut sum) = (f64::INFINITY, 0.0);
    for i in (0..problem.nodes()).filter(|&i| !lies(i)) {
        mu = mu.min(problem.loss().curvature(i).mu);
        let liars = graph.ends(i).iter().filter(|end| lies(end.neighbour as usize));
        let pull: f64 = liars.map(|end| graph.weight(end.edge as usize)).sum();
        sum += pull * pull;
    }
    divide(problem.lambda() * reach * sum.sqrt(), mu)
}

/// The largest [`liars_bound`] of a single liar, and that liar.
pub fn worst_liar(problem: &Problem) -> Result<(usize, f64), Unbounded> {
    let reach = reach(problem)?;
    let graph = problem.graph();
    let mu: Vec<f64> = (0..problem.nodes()).map(|i| problem.loss().curvature(i).mu).collect();
    // The smallest among all but one needs the two smallest.
    let (mut first, mut second) = ((f64::INFINITY, usize::MAX), f64::INFINITY);
    for (i, &mu) in mu.iter().enumerate() {
        if mu < first.0 {
            (second, first) = (first.0, (mu, i));
        } else {
            second = second.min(mu);
        }
    }
    let mut worst = (0, 0.0);
    for liar in 0..problem.nodes() {
        let sum: f64 = graph.ends(liar).iter().map(|end| graph.weight(end.edge as usize).powi(2)).sum();
        let mu = if liar == first.1 { second } else { first.0 };
        let bound = divide(problem.lambda() * reach * sum.sqrt(), mu)?;
        if bound > worst.1 {
            worst = (liar, bound);
        }
    }
    Ok(worst)
}

/// The most that one of the first `nodes` nodes pulls with at all its neighbours together; `None` if there is no limit.
pub fn pull_max(problem: &Problem, nodes: usize) -> Option<f64> {
    let reach = reach(problem).ok()?;
    let degree = (0..nodes).map(|i| problem.graph().weighted_degree(i)).fold(0.0, f64::max);
    Some(problem.lambda() * reach * degree)
}

/// The most that a neighbour pulls with on an edge of weight 1.
fn reach(problem: &Problem) -> Result<f64, Unbounded> {
    problem.penalty().pull_max(problem.dim()).ok_or(Unbounded::Penalty)
}

fn divide(pull: f64, mu: f64) -> Result<f64, Unbounded> {
    match (pull > 0.0, mu > 0.0) {
        (false, _) => Ok(0.0),
        (true, true) => Ok(pull / mu),
        (true, false) => Err(Unbounded::Loss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::loss::{Family, LossOptions};
    use crate::penalty::{Block, Blocks, HuberNorm, Norm1, Norm2, Penalty, SquaredNorm};
    use crate::solve::{Settings, Watch, solve};
    use crate::{Dataset, Matrix};

    fn problem(points: &[f64], edges: &[(usize, usize, f64)], penalty: Box<dyn Penalty>, lambda: f64) -> Problem {
        let n = points.len() / 2;
        let data = Dataset::new((0..=n).collect(), Matrix::from_rows(2, points.to_vec()), vec![0.0; n], vec![1.0; n]);
        let loss = Family::Point.build(data.unwrap(), &LossOptions::default()).unwrap();
        Problem::build(Graph::new(n, edges).unwrap(), loss, penalty, lambda).unwrap()
    }

    /// A liar that stands far away pulls with all it has: the bound is reached.
    #[test]
    fn the_bound_is_sharp() {
        let edges = [(0, 1, 0.5), (0, 2, 2.0)];
        let far = [0.0, 0.0, 1e3, 0.0, 1e3, 0.0];
        let whole = problem(&far, &edges, Box::new(Norm2), 0.7);
        // Node 0 alone sits at zero; the pull of both is lambda (0.5 + 2), its curvature 2.
        let bound = liars_bound(&whole, |i| i > 0).unwrap();
        assert!((bound - 0.7 * 2.5 / 2.0).abs() < 1e-12);
        let settings = Settings { tolerance: 1e-12, ..Default::default() };
        let moved = solve(&whole, &settings, None, &mut |_| Watch::Continue).w.row(0)[0];
        assert!((moved - bound).abs() < 1e-4 * bound, "{moved} {bound}");
        // The single liar with the heaviest edge is node 0 itself, towards both.
        let (liar, worst) = worst_liar(&whole).unwrap();
        assert!(liar == 0 && (worst - 0.7 * (0.25f64 + 4.0).sqrt() / 2.0).abs() < 1e-12);
        for k in 0..3 {
            assert!(liars_bound(&whole, |i| i == k).unwrap() <= worst);
        }
    }

    /// A liar far away moves an honest node by exactly the bound, one nearer by less.
    #[test]
    fn the_huber_penalty_bounds_what_a_liar_can_do() {
        let moved = |far: f64| {
            let penalty = Box::new(HuberNorm::new(0.5).unwrap());
            let whole = problem(&[0.0, 0.0, far, 0.0], &[(0, 1, 2.0)], penalty, 0.3);
            let solution =
                solve(&whole, &Settings { tolerance: 1e-12, ..Default::default() }, None, &mut |_| Watch::Continue);
            (solution.w.row(0)[0], liars_bound(&whole, |i| i == 1).unwrap())
        };
        let (far, bound) = moved(1e3);
        assert!(
            (bound - 2.0 * 0.5 * 0.3 * 2.0 / 2.0).abs() < 1e-12 && (far - bound).abs() < 1e-6 * bound,
            "{far} {bound}"
        );
        assert!(moved(0.1).0 < 0.1 * bound);
    }

    #[test]
    fn cubes_have_corners_and_squares_no_bound() {
        let edges = [(0, 1, 1.0)];
        let of = |penalty| liars_bound(&problem(&[0.0; 4], &edges, penalty, 1.0), |i| i == 1);
        assert_eq!(of(Box::new(Norm1)).unwrap(), 2f64.sqrt() / 2.0);
        assert_eq!(of(Box::new(SquaredNorm)), Err(Unbounded::Penalty));
        assert_eq!(of(Box::new(HuberNorm::new(0.25).unwrap())).unwrap(), 0.5 / 2.0);
        let block = |at, penalty| Block { coordinates: vec![at], penalty, strength: 3.0 };
        let both = |second| Box::new(Blocks::new(2, vec![block(0, Box::new(Norm2)), block(1, second)]).unwrap());
        assert_eq!(of(both(Box::new(Norm2))).unwrap(), 18f64.sqrt() / 2.0);
        assert_eq!(of(both(Box::new(SquaredNorm))), Err(Unbounded::Penalty));
        assert!(worst_liar(&problem(&[0.0; 4], &[], Box::new(Norm2), 1.0)).unwrap().1 == 0.0);
    }
}
