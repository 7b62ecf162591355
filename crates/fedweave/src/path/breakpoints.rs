//! Values of `lambda` at which the clusters change, bracketed by bisection.

use super::chain::Chain;
use super::lineage::same;
use super::start::Predictor;
use super::{PathPoint, broken_off, solve_at};
use crate::error::Result;
use crate::problem::Problem;
use crate::solve::{Settings, Solution, Status};

/// The clusters change between the two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breakpoint {
    /// The smaller `lambda`.
    pub below: f64,
    /// The larger `lambda`.
    pub above: f64,
    /// Clusters at the smaller one.
    pub clusters_below: usize,
    /// Clusters at the larger one.
    pub clusters_above: usize,
}

/// Clusters near a change need accurate models.
const TOLERANCE: f64 = 1e-8;

/// A search between two neighbours on the grid.
pub(super) struct BreakpointSearch<'s, 'c> {
    pub width: f64,
    pub chain: &'s Chain<'c>,
    /// Position of the second one.
    pub at: usize,
}

type Solved = (PathPoint, Solution);

impl BreakpointSearch<'_, '_> {
    /// Finds the changes between two solved values. Intervals whose ends have the same clusters are taken to hold none.
    pub fn run(
        &self,
        problem: &mut Problem,
        a: &Solved,
        b: &Solved,
        found: &mut Vec<Breakpoint>,
    ) -> Result<Option<Status>> {
        let (low, high) = if a.0.lambda < b.0.lambda { (a, b) } else { (b, a) };
        if same(&low.0.partition, &high.0.partition, problem.nodes()) {
            return Ok(None);
        }
        let middle = (low.0.lambda * high.0.lambda).sqrt();
        // From zero no relative width can be reached; in the end rounding decides.
        let last = middle <= low.0.lambda || middle >= high.0.lambda;
        if high.0.lambda <= low.0.lambda * (1.0 + self.width) || last {
            found.push(Breakpoint {
                below: low.0.lambda,
                above: high.0.lambda,
                clusters_below: low.0.partition.len(),
                clusters_above: high.0.partition.len(),
            });
            return Ok(None);
        }
        let solve = &self.chain.settings.solve;
        let settings = Settings { tolerance: solve.tolerance.min(TOLERANCE), ..solve.clone() };
        let mut predictor = Predictor::new(self.chain.settings.lambda_max);
        predictor.learn(high.0.lambda, &high.1, &high.0.partition);
        let solved = solve_at(problem, middle, &settings, &predictor, self.at, self.chain)?;
        if let Some(status) = broken_off(solved.0.status).or(self.chain.heeding.stop()) {
            return Ok(Some(status));
        }
        match self.run(problem, low, &solved, found)? {
            None => self.run(problem, &solved, high, found),
            stopped => Ok(stopped),
        }
    }
}
