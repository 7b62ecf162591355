//! Gradient descent over the edges of the graph that distrusts neighbours: the sum of their pulls is replaced by a
//! [`Rule`](crate::trust::defence::Rule).
//!
//! ```text
//! w_i+ = w_i - eta_i ( grad L_i(w_i) + 2 lambda rule_i(w_i - w_j, A_ij) )
//! ```
//!
//! With the rule `sum` it leads where FedGD does, with the squared penalty, and is FedGD if all steps are equal. Every node has a step of
//! its own, from its own loss and edges: rows that somebody made enormous slow nobody else down. Other rules are no gradients: what they lead to is a fixed point, not
//! the minimum of `F`, and the median may keep stepping around it.

use std::borrow::Borrow;

use super::descent::{check_step, exchange_models, own_step, relative_gradient};
use super::method::Method;
use super::round::{Round, all, exchange_rows};
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::trust::defence::{Rule, RuleWork};

/// Whom to distrust, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobustOptions {
    /// What a node makes of its neighbours' models.
    pub rule: Rule,
    /// How many neighbours of a node may lie.
    pub liars: usize,
    /// The step of all; `None`: every node's own, with which the sum would never diverge.
    pub step: Option<f64>,
}

impl Default for RobustOptions {
    fn default() -> Self {
        RobustOptions { rule: Rule::ClippedSum, liars: 1, step: None }
    }
}

/// What one node needs while it is updated.
struct NodeWork {
    differences: Vec<f64>,
    weights: Vec<f64>,
    pull: Vec<f64>,
    rule: RuleWork,
}

/// A round of it at the nodes that are held here.
pub struct RobustRound<P> {
    problem: P,
    options: RobustOptions,
    /// Node by node.
    steps: Vec<f64>,
    own: Vec<u32>,
    w: Matrix,
    /// What was heard of every node, of the own ones too.
    heard: Matrix,
    next: Matrix,
    gradient: Matrix,
    /// Weight of the liars that are allowed for, node by node.
    liars: Vec<f64>,
    is_first: bool,
    work: NodeWork,
}

impl<P: Borrow<Problem> + Sync> RobustRound<P> {
    /// The nodes `own` of a problem, in increasing order, from the models `w` of all. The problem must be smooth, with the squared
    /// penalty.
    pub fn new(problem: P, own: Vec<u32>, w: &Matrix, options: RobustOptions) -> Result<Self> {
        let at: &Problem = problem.borrow();
        check(at)?;
        let needs = || Error::Method { method: "robust", needs: "losses with a smoothness constant" };
        let step = |i: &u32| match options.step {
            Some(step) => check_step(step),
            None => own_step(at, *i as usize).ok_or_else(needs),
        };
        let steps = own.iter().map(step).collect::<Result<_>>()?;
        let (d, graph) = (at.dim(), at.graph());
        let most = (0..at.nodes()).map(|i| graph.degree(i)).max().unwrap_or(0);
        let liars = own.iter().map(|&i| heaviest(at, i as usize, options.liars)).collect();
        let work = NodeWork {
            differences: vec![0.0; most * d],
            weights: vec![0.0; most],
            pull: vec![0.0; d],
            rule: RuleWork::new(most),
        };
        Ok(RobustRound {
            options,
            steps,
            w: w.clone(),
            heard: w.clone(),
            next: Matrix::zeros(own.len(), d),
            gradient: Matrix::zeros(own.len(), d),
            liars,
            is_first: true,
            own,
            work,
            problem,
        })
    }

    fn update(&mut self) {
        let problem: &Problem = self.problem.borrow();
        let d = problem.dim();
        let work = &mut self.work;
        for (k, &node) in self.own.iter().enumerate() {
            let (node, own) = (node as usize, self.w.row(node as usize));
            let out = self.gradient.row_mut(k);
            problem.loss().gradient(node, own, out);
            let ends = if problem.lambda() > 0.0 { problem.graph().ends(node) } else { &[] };
            for (j, end) in ends.iter().enumerate() {
                let heard = self.heard.row(end.neighbour as usize);
                let t = &mut work.differences[j * d..][..d];
                t.iter_mut().zip(own).zip(heard).for_each(|((t, a), b)| *t = a - b);
                work.weights[j] = problem.edge_weights()[end.edge as usize];
            }
            let (t, weights) = (&work.differences[..ends.len() * d], &work.weights[..ends.len()]);
            self.options.rule.combine(t, weights, self.liars[k], &mut work.pull, &mut work.rule);
            out.iter_mut().zip(&work.pull).for_each(|(o, p)| *o += 2.0 * p);
            let next = self.next.row_mut(k).iter_mut().zip(own.iter().zip(out.iter()));
            next.for_each(|(next, (w, g))| *next = w - self.steps[k] * g);
        }
    }
}

fn check(problem: &Problem) -> Result<()> {
    if !problem.loss().has_hessian() {
        return Err(Error::Method { method: "robust", needs: "losses without kinks" });
    }
    if problem.penalty().name() != "squared" {
        return Err(Error::Method { method: "robust", needs: "the squared penalty, whose pulls its rules replace" });
    }
    Ok(())
}

/// `lambda A_e` of the heaviest edges of a node.
fn heaviest(problem: &Problem, node: usize, count: usize) -> f64 {
    let mut weights: Vec<f64> =
        problem.graph().ends(node).iter().map(|end| problem.edge_weights()[end.edge as usize]).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    weights.iter().take(count).sum()
}

impl<P: Borrow<Problem> + Send + Sync> Round for RobustRound<P> {
    fn begin(&mut self) {
        for &i in &self.own {
            self.heard.row_mut(i as usize).copy_from_slice(self.w.row(i as usize));
        }
    }

    fn outgoing(&self, node: usize) -> &[f64] {
        self.heard.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.heard.row_mut(node)
    }

    fn complete(&mut self) {
        self.update();
        exchange_rows(&self.own, &mut self.w, &mut self.next);
        self.is_first = false;
    }

    /// The largest move of the last round in units of the step, relative to the gradient of the node's own loss.
    fn residual(&self) -> f64 {
        if self.is_first {
            return f64::INFINITY;
        }
        relative_gradient(self.problem.borrow(), &self.own, &self.next, &self.gradient)
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn flows(&self) -> Matrix {
        Matrix::zeros(0, self.w.cols())
    }
}

/// The same on one machine, with its accounts.
pub struct Robust<'p> {
    at: RobustRound<&'p Problem>,
    traffic: Traffic,
}

impl<'p> Robust<'p> {
    /// All nodes, from zero.
    pub fn new(problem: &'p Problem, options: RobustOptions) -> Result<Self> {
        let zero = Matrix::zeros(problem.nodes(), problem.dim());
        let at = RobustRound::new(problem, all(problem.nodes()), &zero, options)?;
        Ok(Robust { at, traffic: Traffic::new(problem.nodes()) })
    }
}

impl Method for Robust<'_> {
    fn name(&self) -> &'static str {
        "robust"
    }

    fn round(&mut self) {
        exchange_models(self.at.problem, &mut self.traffic);
        self.at.begin();
        self.at.complete();
        let loss = self.at.problem.loss();
        self.traffic.compute(work::coupling(self.at.problem) + work::of_all(loss, work::gradient));
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.at.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The sum leads to the minimum of `F`, other rules do not.
    fn fixed_point_residual(&self) -> Option<f64> {
        (self.at.options.rule != Rule::Sum).then(|| self.at.residual())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;
    use crate::graph::Graph;
    use crate::graph::generate::chain;
    use crate::loss::{Family, LossOptions};
    use crate::penalty::{Norm2, Penalty, SquaredNorm};
    use crate::solve::FedGd;

    fn points(at: &[f64], graph: Graph, penalty: Box<dyn Penalty>) -> Problem {
        let n = at.len();
        let data = Dataset::new((0..=n).collect(), Matrix::from_rows(1, at.to_vec()), vec![0.0; n], vec![1.0; n]);
        let loss = Family::Point.build(data.unwrap(), &LossOptions::default()).unwrap();
        Problem::build(graph, loss, penalty, 0.7).unwrap()
    }

    fn after(problem: &Problem, rule: Rule, rounds: usize) -> Vec<f64> {
        let mut method = Robust::new(problem, RobustOptions { rule, ..RobustOptions::default() }).unwrap();
        (0..rounds).for_each(|_| method.round());
        method.models().as_slice().to_vec()
    }

    #[test]
    fn the_sum_is_gradient_descent() {
        let problem = points(&[0.0, 3.0, -1.0, 4.0], chain(4).unwrap(), Box::new(SquaredNorm));
        let mut plain = FedGd::new(&problem, Some(0.1)).unwrap();
        let options = RobustOptions { rule: Rule::Sum, step: Some(0.1), ..RobustOptions::default() };
        let mut same = Robust::new(&problem, options).unwrap();
        for _ in 0..7 {
            plain.round();
            same.round();
        }
        assert_close(plain.models().as_slice(), same.models().as_slice(), 1e-13);
        // Steps of their own lead to the same place.
        (0..2_000).for_each(|_| plain.round());
        assert_close(plain.models().as_slice(), &after(&problem, Rule::Sum, 2_000), 1e-12);
    }

    fn assert_close(a: &[f64], b: &[f64], distance: f64) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < distance), "{a:?} {b:?}");
    }

    /// One node whose loss is a million times as steep as all others does not slow them down.
    #[test]
    fn a_steep_loss_slows_nobody_else_down() {
        let (x, y) = ([1.0, 1.0, 1e3, 1.0], [1.0, 2.0, 1.0, 3.0]);
        let data = Dataset::new((0..=4).collect(), Matrix::from_rows(1, x.to_vec()), y.to_vec(), vec![1.0; 4]);
        let loss = Family::Squared.build(data.unwrap(), &LossOptions::default()).unwrap();
        let problem = Problem::build(chain(4).unwrap(), loss, Box::new(SquaredNorm), 0.1).unwrap();
        assert_close(&after(&problem, Rule::Sum, 100), &after(&problem, Rule::Sum, 10_000), 1e-9);
    }

    /// Node 0 has five honest neighbours near it and one far away: with any rule it stays with the honest ones.
    #[test]
    fn an_outlier_moves_nobody_far() {
        let star: Vec<_> = (1..7).map(|j| (0, j, 1.0)).collect();
        let at = |far: f64| [0.0, 0.9, 1.0, 1.1, 1.2, 1.3, far];
        let models =
            |rule, far| after(&points(&at(far), Graph::new(7, &star).unwrap(), Box::new(SquaredNorm)), rule, 500)[0];
        assert!(models(Rule::Sum, 1e4) > 100.0);
        for (_, rule) in Rule::NAMES.into_iter().skip(1) {
            let (near, far) = (models(rule, 1.0), models(rule, 1e4));
            assert!((0.0..=1.3).contains(&near) && (0.0..=1.6).contains(&far), "{rule:?}: {near} {far}");
        }
    }

    #[test]
    fn what_has_no_such_pull_is_refused() {
        let problem = points(&[0.0, 1.0], chain(2).unwrap(), Box::new(Norm2));
        assert!(Robust::new(&problem, RobustOptions::default()).is_err());
        let problem = points(&[0.0, 1.0], chain(2).unwrap(), Box::new(SquaredNorm));
        let bad = RobustOptions { step: Some(-1.0), ..RobustOptions::default() };
        assert!(Robust::new(&problem, bad).is_err());
    }
}
