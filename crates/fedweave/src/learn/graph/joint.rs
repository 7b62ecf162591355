//! Models and graph together, by alternating minimisation of one objective:
//!
//! ```text
//! F(w, A) = sum_i L_i(w_i) + lambda sum_{i<j} A_ij |w_i - w_j|^2,     0 <= A_ij <= 1,  sum_j A_ij = k for every i
//! ```
//!
//! With `A` fixed the models are a problem of this crate; with the models fixed, `A` is a degree budget (book 7.6) with
//! discrepancy `|w_i - w_j|^2`. Both steps are solved to the end, so that `F` never rises, and as there are finitely many graphs
//! with weights 0, 1/2 and 1 it stops. The minimum found depends on the start: the graph of local ridge models.

use super::{GraphOptions, LearntGraph, Proof, Rule, Weighting, degree, learn_graph};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::learn::discrepancy::{Discrepancy, Measure, NodeRows, of_nodes};
use crate::loss::{Family, LossOptions};
use crate::matrix::Matrix;
use crate::penalty::SquaredNorm;
use crate::problem::Problem;
use crate::solve::{Settings, Watch, solve};
use crate::tune::stiff_lambda;

/// The default strength as a share of that at which a graph decides everything: models move towards their neighbours, but
/// still say where they would rather be.
const STRENGTH: f64 = 1e-4;
/// Keeps models of few rows in place, in standardised units.
const RIDGE: f64 = 1e-2;
/// Relative decrease of the objective that is worth another round.
const DECREASE: f64 = 1e-9;

/// What to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointOptions {
    /// The loss.
    pub family: Family,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
    /// Weights of every node add up to this.
    pub degree: usize,
    /// Strength of the coupling, in standardised units; `None`: from the curvature of the losses.
    pub lambda: Option<f64>,
    /// Stop after so many rounds.
    pub rounds: usize,
    /// Everything random follows from it.
    pub seed: u64,
}

/// What was learnt.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// The graph, with the distances of its models.
    pub learnt: LearntGraph,
    /// `F` after every half step: models, graph, models, ...
    pub objective: Vec<f64>,
    /// The strength used.
    pub lambda: f64,
}

/// Squared distances of models.
struct Apart(Matrix);

impl Discrepancy for Apart {
    fn points(&self) -> &Matrix {
        &self.0
    }

    fn between(&self, i: usize, j: usize, _: &mut Vec<f64>) -> f64 {
        self.0.row(i).iter().zip(self.0.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    fn is_euclidean(&self) -> bool {
        false
    }
}

/// Learns models and graph from the rows, and hands out the graph.
pub fn joint(data: &Dataset, options: &JointOptions) -> Result<Joint> {
    let active: Vec<usize> = (0..data.nodes()).filter(|&i| !data.rows(i).is_empty()).collect();
    let JointOptions { family, intercept, degree, seed, .. } = *options;
    Rule::Degree(degree).check(active.len())?;
    let rows = NodeRows::scaled(&of_nodes(data, &active), family, intercept, seed).data;
    let (rule, measure, weighting) = (Rule::Degree(degree), Measure::Parameters, Weighting::Rule);
    let mut graph = learn_graph(&rows, &GraphOptions { measure, rule, weighting, family, intercept, seed })?.graph;
    let ridge = LossOptions { ridge: RIDGE, spare_last: intercept, ..LossOptions::default() };
    let build = |graph: &Graph, lambda: f64| -> Result<Problem> {
        Problem::build(graph.clone(), family.build(rows.clone(), &ridge)?, Box::new(SquaredNorm), lambda)
    };
    let lambda = match options.lambda {
        Some(lambda) => lambda,
        None => STRENGTH * stiff_lambda(&build(&graph, 1.0)?),
    };
    let settings = Settings { tolerance: 1e-10, ..Settings::default() };
    let (mut objective, mut start) = (Vec::new(), None);
    let mut models;
    loop {
        let problem = build(&graph, lambda)?;
        let solution = solve(&problem, &settings, start.take(), &mut |_| Watch::Continue);
        models = Apart(solution.w.clone());
        objective.push(solution.objective);
        let (pairs, proof) = degree::solve(&models, degree);
        let value = proof.value().expect("a degree budget has a value");
        let before = total(&graph, &models);
        let next = solution.objective - lambda * (before - value);
        // Also where candidates do not hold the graph of before, the objective never rises.
        if before - value <= DECREASE * before || objective.len() / 2 + 1 >= options.rounds {
            break;
        }
        objective.push(next);
        graph = Graph::new(rows.nodes(), &pairs)?;
    }
    let learnt = hand_out(data.nodes(), &active, &graph, &models, rows.dim())?;
    Ok(Joint { learnt, objective, lambda })
}

/// `sum_e A_e |w_i - w_j|^2`.
fn total(graph: &Graph, models: &Apart) -> f64 {
    let term = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        graph.weight(e) * models.between(i, j, &mut Vec::new())
    };
    (0..graph.edges()).map(term).sum()
}

fn hand_out(nodes: usize, active: &[usize], graph: &Graph, models: &Apart, dim: usize) -> Result<LearntGraph> {
    let ends = |e: usize| graph.nodes_of(e);
    let named: Vec<_> = (0..graph.edges()).map(|e| (active[ends(e).0], active[ends(e).1], graph.weight(e))).collect();
    let distance = |e: usize| models.between(ends(e).0, ends(e).1, &mut Vec::new()).sqrt();
    let mut sent = Measure::Parameters.sent(dim, 0);
    sent.how = "in every round, to its neighbours and to candidates";
    Ok(LearntGraph {
        graph: Graph::new(nodes, &named)?,
        discrepancy: (0..graph.edges()).map(distance).collect(),
        probability: None,
        proof: Proof::None,
        mixture: None,
        sent,
    })
}
