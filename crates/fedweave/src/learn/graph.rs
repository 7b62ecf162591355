//! Graphs learnt from rows: who should learn with whom, where nobody has said.
//!
//! A [`Measure`] says how different two nodes are, a [`Rule`] which pairs are joined:
//!
//! ```text
//! Neighbours(k)   every node with its k nearest
//! Degree(k)       minimise sum A_ij D_ij,  0 <= A_ij <= 1,  sum_j A_ij = k for every i       (book 7.6)
//! Edges(e)        minimise sum A_ij D_ij,  0 <= A_ij <= 1,  sum_{i<j} A_ij = e               (book 7.7)
//! Fdr(q)          pairs that share a model, at most a share q of them wrongly
//! ```
//!
//! and [`joint`] learns models and graph together. Nodes without rows have nothing to compare and stay alone. No rule looks at
//! all pairs where there are many nodes: candidates are nearest points, and where these decide, that is proved.

mod candidates;
mod degree;
mod edge_budget;
mod fdr;
mod joint;
#[cfg(test)]
mod tests;
mod transport;
mod validation;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::learn::discrepancy::{Discrepancy, Gaussian, Measure, NodeRows, Sent};
use crate::loss::Family;

pub use fdr::Mixture;
pub use joint::{Joint, JointOptions, joint};

/// Which pairs are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Every node with its `k` nearest; either end may have chosen.
    Neighbours(usize),
    /// Weights of every node add up to `k`.
    Degree(usize),
    /// So many edges.
    Edges(usize),
    /// Pairs that share a model; the expected share of wrong ones is at most this.
    Fdr(f64),
}

/// How edges are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// As the rule says: 1, with a degree budget also 1/2.
    #[default]
    Rule,
    /// The same times `exp(-(D / h)^2 / 2)`, with `h` the median discrepancy of the edges.
    Kernel,
    /// The same times `alone / (alone + together)`, errors of both ends on rows left out, with models of their own and with one for both.
    Validation,
}

impl Weighting {
    /// What the weight of every edge is multiplied by.
    fn factors(self, rows: &NodeRows, pairs: &[Pair], discrepancy: &[f64]) -> Result<Vec<f64>> {
        match self {
            Weighting::Rule => Ok(vec![1.0; pairs.len()]),
            Weighting::Kernel => Ok(kernel(discrepancy)),
            Weighting::Validation => validation::weights(rows, pairs),
        }
    }
}

/// What to learn a graph from, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphOptions {
    /// How nodes are compared.
    pub measure: Measure,
    /// Which pairs are joined.
    pub rule: Rule,
    /// How edges are weighted.
    pub weighting: Weighting,
    /// The loss that the rows are for.
    pub family: Family,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
    /// Everything random follows from it.
    pub seed: u64,
}

/// A graph with the reasons for its edges.
#[derive(Debug, Clone, PartialEq)]
pub struct LearntGraph {
    /// The graph.
    pub graph: Graph,
    /// The discrepancy of the ends of every edge.
    pub discrepancy: Vec<f64>,
    /// How likely the ends of every edge share a model, where pairs were tested.
    pub probability: Option<Vec<f64>>,
    /// How sure it is that no other graph within the budget has a smaller total discrepancy.
    pub proof: Proof,
    /// What was found about all pairs, where pairs were tested.
    pub mixture: Option<Mixture>,
    /// What every node sends for it.
    pub sent: Sent,
}

/// Whether a graph is the best within its budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proof {
    /// The rule is no optimisation.
    None,
    /// The total discrepancy, and a lower bound on that of every graph within the budget, over all pairs of nodes.
    All {
        /// Of this graph.
        value: f64,
        /// Of any.
        bound: f64,
    },
    /// The same over the pairs that were compared, so many of them.
    Candidates {
        /// Of this graph.
        value: f64,
        /// Of any that has only edges between compared pairs.
        bound: f64,
        /// How many pairs were compared.
        pairs: usize,
    },
}

impl Proof {
    /// Total discrepancy of the graph, where it was minimised.
    pub fn value(self) -> Option<f64> {
        match self {
            Proof::None => None,
            Proof::All { value, .. } | Proof::Candidates { value, .. } => Some(value),
        }
    }
}

/// Edges between compared nodes, before anybody is named: `(i, j, weight)` with `i < j`, in order.
type Pairs = Vec<Pair>;

/// Two nodes and a weight.
type Pair = (usize, usize, f64);

/// Learns a graph between the nodes of `data` from its rows, which should be those trained with.
pub fn learn_graph(data: &Dataset, options: &GraphOptions) -> Result<LearntGraph> {
    let active: Vec<usize> = (0..data.nodes()).filter(|&i| !data.rows(i).is_empty()).collect();
    options.rule.check(active.len())?;
    let some = crate::learn::discrepancy::of_nodes(data, &active);
    let rows = NodeRows::scaled(&some, options.family, options.intercept, options.seed);
    let sent = options.measure.sent(data.dim(), data.len() / active.len().max(1));
    if let Rule::Fdr(share) = options.rule {
        let gaussian = Gaussian::of(&rows)?;
        let found = fdr::select(&gaussian, share, options.seed);
        let measure = options.measure.compare(&rows)?;
        let sent = Measure::PooledFit.sent(data.dim(), 0);
        let mut learnt = assemble(data.nodes(), &active, found.pairs, &*measure, (options.weighting, &rows), sent)?;
        learnt.probability = Some(found.probability);
        learnt.mixture = Some(found.mixture);
        return Ok(learnt);
    }
    let measure = options.measure.compare(&rows)?;
    let (pairs, proof) = options.rule.select(&*measure)?;
    let mut learnt = assemble(data.nodes(), &active, pairs, &*measure, (options.weighting, &rows), sent)?;
    learnt.proof = proof;
    Ok(learnt)
}

impl Rule {
    /// Refuses budgets that cannot be met by so many nodes with rows.
    pub fn check(self, nodes: usize) -> Result<()> {
        let parameter = |name, value, needs| Err(Error::Parameter { name, value, needs });
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        match self {
            Rule::Neighbours(k) | Rule::Degree(k) if k == 0 || k >= nodes => {
                parameter("degree", k as f64, "at least 1 and below the number of nodes with rows")
            }
            Rule::Edges(e) if e == 0 || e > pairs => {
                parameter("edges-max", e as f64, "at least 1 and at most the number of pairs of nodes with rows")
            }
            Rule::Fdr(q) if !(q > 0.0 && q < 1.0) => parameter("fdr", q, "above 0 and below 1"),
            _ => Ok(()),
        }
    }

    fn select(self, measure: &dyn Discrepancy) -> Result<(Pairs, Proof)> {
        match self {
            Rule::Neighbours(k) => Ok((candidates::nearest(measure, k), Proof::None)),
            Rule::Degree(k) => Ok(degree::solve(measure, k)),
            Rule::Edges(e) => Ok(edge_budget::solve(measure, e)),
            Rule::Fdr(_) => unreachable!("tests of pairs have a way of their own"),
        }
    }
}

fn assemble(
    nodes: usize,
    active: &[usize],
    pairs: Pairs,
    measure: &dyn Discrepancy,
    (weighting, rows): (Weighting, &NodeRows),
    sent: Sent,
) -> Result<LearntGraph> {
    let mut work = Vec::new();
    let discrepancy: Vec<f64> = pairs.iter().map(|&(i, j, _)| measure.between(i, j, &mut work)).collect();
    let factor = weighting.factors(rows, &pairs, &discrepancy)?;
    // Nodes keep their order, so that edges do.
    let named = |(e, &(i, j, weight)): (usize, &(usize, usize, f64))| (active[i], active[j], weight * factor[e]);
    let edges: Vec<_> = pairs.iter().enumerate().map(named).collect();
    let graph = Graph::new(nodes, &edges)?;
    Ok(LearntGraph { graph, discrepancy, probability: None, proof: Proof::None, mixture: None, sent })
}

/// `exp(-(D / h)^2 / 2)` with `h` the median; never so small that an edge is none.
fn kernel(discrepancy: &[f64]) -> Vec<f64> {
    let mut sorted = discrepancy.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let weight = |d: &f64| if median > 0.0 { (-0.5 * (d / median).powi(2)).exp().max(1e-6) } else { 1.0 };
    discrepancy.iter().map(weight).collect()
}
