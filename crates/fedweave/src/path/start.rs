//! Where to start at the next `lambda`: the last solution, moved on the way it was going.

use super::Bracket;
use crate::graph::partition::Partition;
use crate::matrix::{Matrix, axpy};
use crate::problem::Problem;
use crate::solve::{Solution, Start};

/// The last two solutions.
pub(super) struct Predictor<'b> {
    lambda_max: Option<&'b Bracket>,
    last: Option<(f64, Start)>,
    before: Option<(f64, Start)>,
    clusters: Option<Partition>,
}

/// Steps further than this times the last one are not predicted.
const REACH: f64 = 3.0;

impl<'b> Predictor<'b> {
    pub fn new(lambda_max: Option<&'b Bracket>) -> Self {
        Predictor { lambda_max, last: None, before: None, clusters: None }
    }

    /// The solution where every component has one model, if that is known for this `lambda`.
    pub fn one_model(&self, lambda: f64) -> Option<&'b Start> {
        self.lambda_max.filter(|b| lambda >= b.above)?.one_model.as_ref()
    }

    /// Remembers a solution and its clusters. Those that did not change are likely to stay.
    pub fn learn(&mut self, lambda: f64, solution: &Solution, clusters: &Partition) {
        let stayed = self.clusters.as_ref() == Some(clusters);
        self.clusters = Some(clusters.clone());
        let clusters = self.clusters.clone().filter(|_| stayed);
        self.before = self.last.replace((lambda, Start { clusters, ..Start::from(solution) }));
    }

    /// A start for the problem as it is now.
    pub fn start(&self, problem: &Problem) -> Option<Start> {
        if let Some(known) = self.one_model(problem.lambda()) {
            return Some(known.clone());
        }
        let (at, last) = self.last.as_ref()?;
        let mut start = last.clone();
        if let Some((then, before)) = &self.before {
            let share = (problem.lambda() - at) / (at - then);
            if share.is_finite() && (0.0..=REACH).contains(&share) {
                extrapolate(&mut start.w, &before.w, share);
                extrapolate(&mut start.u, &before.u, share);
            }
        }
        // Flows of another `lambda`.
        problem.project_flows(&mut start.u);
        Some(start)
    }
}

/// `x <- x + share (x - before)`.
fn extrapolate(x: &mut Matrix, before: &Matrix, share: f64) {
    x.as_mut_slice().iter_mut().for_each(|x| *x *= 1.0 + share);
    axpy(-share, before.as_slice(), x.as_mut_slice());
}
