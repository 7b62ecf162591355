//! Theory that checks itself: what theorems say about a problem and its solution, beside what is there.
//!
//! Every bound is evaluated with the numbers of the problem at hand, and so is what it bounds. Where an assumption fails the
//! theorem is silent, and says which. Propositions that speak of unknown true models hold for ANY common model with the residuals
//! that it leaves as "noise": the pooled minimiser, which leaves the least. The convention is that of `docs/math.md`: the book's
//! `alpha` is `lambda` of the penalty `squared`, and `Q^(i)` is half of the Hessian of `L_i`.
//!
//! ```
//! use fedweave::graph::partition::Partition;
//! use fedweave::theory::{Question, check};
//! use fedweave::{Dataset, Family, Graph, Matrix, Problem, loss::LossOptions, penalty::SquaredNorm};
//! let rows = Dataset::new(vec![0, 1, 2], Matrix::from_rows(1, vec![1.0, 1.0]), vec![0.0, 4.0], vec![1.0; 2])?;
//! let loss = Family::Squared.build(rows, &LossOptions::default())?;
//! let problem = Problem::build(Graph::new(2, &[(0, 1, 1.0)])?, loss, Box::new(SquaredNorm), 0.5)?;
//! let solution = problem.solve();
//! let partition = Partition::components(problem.graph());
//! let found = check(&Question::new(&problem, &solution, &partition));
//! assert!(found.iter().all(|finding| finding.holds() != Some(false)));
//! # Ok::<(), fedweave::Error>(())
//! ```

mod clusters;
mod connectivity;
mod descent;
mod max_flow;
mod pooled;
mod quadratic;
mod recovery;
mod sensitivity;
#[cfg(test)]
mod tests;
mod variation;
mod well_connected;

use crate::dataset::Dataset;
use crate::graph::partition::Partition;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::Solution;

/// Which way a bound points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is there is at most the bound.
    AtMost,
    /// What is there is at least the bound.
    AtLeast,
}

/// A bound beside what it bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What is there.
    pub actual: f64,
    /// What the theorem says.
    pub bound: f64,
    /// Which way the bound points.
    pub side: Side,
    /// What rounding, and the distance of the solution from the optimum, may add.
    pub slack: f64,
}

impl Comparison {
    fn at_most(actual: f64, bound: f64, slack: f64) -> Self {
        Comparison { actual, bound, side: Side::AtMost, slack: slack + ROUNDING * bound.abs() }
    }

    fn at_least(actual: f64, bound: f64, slack: f64) -> Self {
        Comparison { actual, bound, side: Side::AtLeast, slack: slack + ROUNDING * bound.abs() }
    }

    /// False if the bound is violated; NaN violates everything.
    pub fn holds(&self) -> bool {
        match self.side {
            Side::AtMost => self.actual <= self.bound + self.slack,
            Side::AtLeast => self.actual >= self.bound - self.slack,
        }
    }

    /// How many times larger the bound is than what it bounds (smaller, where it bounds from below): 1 is tight.
    pub fn looseness(&self) -> f64 {
        let (small, large) = match self.side {
            Side::AtMost => (self.actual, self.bound),
            Side::AtLeast => (self.bound, self.actual),
        };
        if large == small { 1.0 } else { large / small }
    }
}

/// Bounds are computed in floating point.
const ROUNDING: f64 = 1e-9;

/// What a theorem says here.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Nothing, and why.
    Silent(String),
    /// A bound.
    Compared(Comparison),
}

/// A theorem and what it says here.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Where it is from.
    pub source: &'static str,
    /// What is bounded.
    pub claim: String,
    /// What it says.
    pub outcome: Outcome,
}

impl Finding {
    fn new(source: &'static str, claim: impl Into<String>, found: Result<Comparison, String>) -> Self {
        let outcome = match found {
            Ok(comparison) => Outcome::Compared(comparison),
            Err(why) => Outcome::Silent(why),
        };
        Finding { source, claim: claim.into(), outcome }
    }

    /// Whether it holds; `None` if the theorem is silent.
    pub fn holds(&self) -> Option<bool> {
        match &self.outcome {
            Outcome::Silent(_) => None,
            Outcome::Compared(comparison) => Some(comparison.holds()),
        }
    }
}

/// A problem with its solution.
pub struct Question<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Models.
    pub w: &'a Matrix,
    /// Flows.
    pub u: &'a Matrix,
    /// How far the objective is from the best one, at most.
    pub certified_gap: Option<f64>,
    /// The clusters that theorems about clusters are asked about.
    pub partition: &'a Partition,
    /// The rows behind a squared loss, for what a change of labels does.
    pub data: Option<&'a Dataset>,
}

impl<'a> Question<'a> {
    /// About a solution and a partition of the nodes.
    pub fn new(problem: &'a Problem, solution: &'a Solution, partition: &'a Partition) -> Self {
        let Solution { w, u, certified_gap, .. } = solution;
        Question { problem, w, u, certified_gap: *certified_gap, partition, data: None }
    }

    /// With the rows behind a squared loss.
    pub fn with_data(self, data: &'a Dataset) -> Self {
        Question { data: Some(data), ..self }
    }

    fn gap(&self) -> Result<f64, String> {
        self.certified_gap.ok_or_else(|| "the solution has no certificate".into())
    }
}

/// All theorems.
pub fn check(question: &Question) -> Vec<Finding> {
    let facts = quadratic::Quadratic::of(question.problem);
    let clusters = pooled::clusters(question);
    let mut all = descent::findings(question, &facts);
    all.extend(quadratic::findings(&facts));
    all.push(connectivity::finding(question.problem.graph()));
    all.extend(sensitivity::findings(question, &facts));
    all.extend(variation::findings(question, &facts, &clusters));
    all.push(clusters::finding(question, &clusters));
    all.extend(well_connected::findings(question, &clusters));
    all.extend(recovery::findings(question));
    all
}

/// The comparison that is violated, or else the tightest.
fn tightest(all: impl IntoIterator<Item = Comparison>, otherwise: &str) -> Result<Comparison, String> {
    let lacks = |c: &Comparison| match c.holds() {
        false => f64::NEG_INFINITY,
        true => c.looseness(),
    };
    all.into_iter().min_by(|a, b| lacks(a).total_cmp(&lacks(b))).ok_or_else(|| otherwise.to_string())
}
