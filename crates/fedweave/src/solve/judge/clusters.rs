//! What the judge makes of nodes that seem to be fused: better models, and flows that prove them.

use super::super::newton::{FusionEffort, averaged, minimise_fused, routed};
use super::super::{Start, Status};
use super::{Candidate, Judge, ROUNDING};
use crate::certificate::{self, Evidence};
use crate::graph::partition::Partition;
use crate::matrix::Matrix;
use crate::solve::tuning::{
    CARRIED_REDUCTION_MIN, FUSION_EFFORT, FUSION_ITERATIONS, FUSION_REDUCTION_MIN, FUSION_TOLERANCE_SHARE,
    FUSION_UNPLANNED, LOOKS_BEFORE_FUSION, NEARLY_GAP, PLANNED_SIZE, RIPE_IMPROVEMENT,
};

/// Who asks for less than this accuracy has no use for the last digits of models.
const POLISHED: f64 = 1e-8;
/// Models nearer than this, relatively, are equal: what is left of their difference is rounding.
const EQUAL: f64 = 1e-9;
/// If they are the right ones, so many Newton steps show it.
const CARRIED_STEPS: usize = 5;

impl Judge<'_> {
    /// Replaces the models by their means over fused nodes where that is better: iterates tremble inside clusters, and norms
    /// charge the first order of that. Returns the objective.
    pub(super) fn improve(&mut self, candidate: &mut Candidate) -> f64 {
        let fused = self.partition(&candidate.fused);
        self.steady = fused.is_some() && fused == self.fused;
        self.fused = fused;
        let mean = self.fused.as_ref().map(|partition| averaged(&candidate.w, partition));
        let Some(mean) = mean else { return self.problem.objective(&candidate.w) };
        let objective = self.problem.objective(&mean);
        // Means that are better than everything before need no comparison.
        if objective < self.objective && self.w.is_some() {
            candidate.w = mean;
            return objective;
        }
        let own = self.problem.objective(&candidate.w);
        if own <= objective || objective.is_nan() {
            return own;
        }
        candidate.w = mean;
        objective
    }

    /// True if a look would come too early: the first one, or while other nodes seem to be fused than before.
    pub fn glance(&mut self, candidate: &Candidate, first: bool) -> bool {
        let fused = self.partition(&candidate.fused);
        let changing = fused.is_some() && fused != self.fused;
        self.fused = fused;
        changing || first
    }

    /// The nodes that these edges fuse, if fusion makes sense and there are any.
    fn partition(&self, fused: &[bool]) -> Option<Partition> {
        let partition = self.fuses.then(|| Partition::of_edges(self.problem.graph(), |e| fused[e]))?;
        (partition.len() < self.problem.nodes()).then_some(partition)
    }

    /// A better point from the nodes that the flows say are fused, once they say so twice or are nearly good enough: while the
    /// lower bound still improves by more than is allowed, no point will do, and if little is missing, a few more iterations do.
    pub(super) fn fuse(&mut self, iteration: usize, flow: &Matrix) {
        let improved = std::mem::replace(&mut self.lower_before, self.lower);
        let Some(partition) = &self.fused else { return };
        let share = partition.len() as f64 / self.problem.nodes() as f64;
        let planned = (partition.len() * self.problem.dim()) as f64 <= PLANNED_SIZE;
        let dearer = if planned { 1.0 } else { FUSION_UNPLANNED };
        let worth = dearer * (FUSION_ITERATIONS.0 + FUSION_ITERATIONS.1 * share);
        let missing = self.gap_over_allowed().unwrap_or(f64::INFINITY);
        let still = self.steady || self.lower - improved <= RIPE_IMPROVEMENT * self.allowed();
        let ripe = match self.lower > f64::NEG_INFINITY {
            true => still && self.tail().map_or(missing > NEARLY_GAP, |tail| tail > worth),
            false => self.history.len() >= LOOKS_BEFORE_FUSION && share <= 1.0 / FUSION_REDUCTION_MIN,
        };
        if !(ripe || self.warm) || missing <= 1.0 {
            return;
        }
        let effort = FusionEffort::iterations(FUSION_EFFORT.0 + FUSION_EFFORT.1 * iteration as f64);
        let w = minimise_fused(self.problem, self.w(), partition, FUSION_TOLERANCE_SHARE * self.allowed(), effort);
        let objective = self.problem.objective(&w);
        if objective < self.objective {
            self.kkt = certificate::kkt(self.problem, &w, flow, objective);
            self.offer(w.clone(), objective);
        }
        if self.gap().is_none_or(|gap| gap > self.allowed()) {
            self.route(&w, objective, flow);
        }
    }

    /// Flows that prove that these models, the best for their partition, are the best of all, if they are.
    fn route(&mut self, w: &Matrix, objective: f64, flow: &Matrix) {
        let scale = w.max_row_norm();
        let cut = |e| !self.problem.is_fused(w, e, EQUAL, scale);
        let cut: Vec<bool> = (0..self.problem.graph().edges()).map(cut).collect();
        let Some(flow) = routed(self.problem, w, flow, &cut) else { return };
        let evidence = Evidence::new(self.problem, w, &flow, objective);
        if let Some(gap) = evidence.bound().filter(|gap| objective - gap > self.lower) {
            self.kkt = evidence.kkt();
            self.offer_bound(&flow, objective - gap);
            self.kkt_of_best = objective == self.objective;
        }
    }

    /// Are the clusters of the start the right ones? Then nothing needs to be iterated.
    pub fn carry_over(&mut self, start: &Start) -> Option<Status> {
        let problem = self.problem;
        let partition =
            start.clusters.as_ref().filter(|p| self.fuses && p.len() * CARRIED_REDUCTION_MIN <= problem.nodes())?;
        let decrease_min =
            FUSION_TOLERANCE_SHARE * self.settings.tolerance * problem.objective(&start.w).abs().max(1.0);
        let effort = FusionEffort { iterations: FUSION_EFFORT.0, steps: CARRIED_STEPS };
        let w = minimise_fused(problem, &start.w, partition, decrease_min, effort);
        let objective = problem.objective(&w);
        self.offer(w.clone(), objective);
        self.route(&w, objective, &start.u);
        let record = self.now(0);
        let status = self.converged(&record)?;
        (self.watch)(&record);
        self.history.push(record);
        Some(status)
    }

    /// The last digits of the models: the objective is flat near its minimum, so models are less exact than the gap.
    pub(super) fn polish(&mut self) {
        if let Some(partition) = self.fused.take().filter(|_| self.settings.tolerance <= POLISHED) {
            let smallest = f64::EPSILON * self.objective.abs();
            let w =
                minimise_fused(self.problem, self.w(), &partition, smallest, FusionEffort::iterations(f64::INFINITY));
            let objective = self.problem.objective(&w);
            // Among points that differ by rounding alone, the one where Newton's method ended is best.
            if objective <= self.objective + ROUNDING * self.objective.abs() {
                (self.w, self.objective, self.kkt_of_best) = (Some(w), objective, false);
            }
        }
    }
}
