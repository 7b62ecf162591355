//! A method in rounds under somebody's eyes: looks at growing intervals, a certificate for the models as they are, stop rules.
//!
//! Unlike the solvers of [`solve`](super::solve), whose judge may keep better models found on the way, what is reported here
//! are the method's own. Only the lower bound on `min F` may come from flows corrected on the side.

use super::descent::flows;
use super::rounds::{History, Method, RoundRecord};
use super::{Choice, Record, Settings, Solution, Status, Watch, quiet_iterations};
use crate::certificate::{self, Kkt};
use crate::matrix::Matrix;
use crate::problem::Problem;

/// Looks are spaced by this share of the rounds done.
const SPACING: usize = 20;
/// A bound is computed when the residual is this many times the root of the tolerance.
const NEAR: f64 = 100.0;
/// A correction of the flows is worth a try when the residual is within this factor of the tolerance; otherwise each time
/// the number of rounds has doubled.
const PROMISING: f64 = 10.0;
const FIRST_CORRECTION: usize = 60;
/// Stiffness of edges in a correction, in units of the mean curvature of the nodes, and products of its linear systems.
const STIFF: f64 = 1e3;
const PRODUCTS_MAX: usize = 500;

/// Runs a method until the tolerance is reached or the settings say stop; with `exactly`, for so many rounds whatever is
/// reached. Also returns what was sent, a record for each of the solution's.
pub fn solve_in_rounds(
    problem: &Problem,
    method: &mut dyn Method,
    settings: &Settings,
    exactly: Option<usize>,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> (Solution, History) {
    let rounds_max = exactly.unwrap_or(settings.iterations_max);
    let tick_every = quiet_iterations(problem);
    let mut eyes = Eyes::new(problem, settings);
    let (mut round, mut next) = (0, 0);
    let status = loop {
        if round == next || round == rounds_max {
            let done =
                eyes.look(method, round, round == rounds_max).filter(|s| exactly.is_none() || *s == Status::Diverged);
            let asked = watch(&eyes.records[eyes.records.len() - 1]);
            match (done, asked) {
                (Some(status), _) => break status,
                (None, Watch::Stop(status)) => break eyes.converged().unwrap_or(status),
                _ if round == rounds_max => break eyes.converged().unwrap_or(Status::IterationLimit),
                _ => next = round + (round / SPACING).max(1),
            }
        } else if round.is_multiple_of(tick_every)
            && let Watch::Stop(status) = watch(&eyes.records[eyes.records.len() - 1])
        {
            eyes.look(method, round, true);
            break eyes.converged().unwrap_or(status);
        }
        method.round();
        round += 1;
    };
    eyes.solution(status, method.name())
}

/// What was seen so far.
struct Eyes<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    records: Vec<Record>,
    rounds: Vec<RoundRecord>,
    w: Matrix,
    u: Matrix,
    /// The best lower bound on `min F`.
    lower: f64,
    next_correction: usize,
    /// The residual is that of a fixed point, not of the flows.
    constrained: bool,
}

impl<'a> Eyes<'a> {
    fn new(problem: &'a Problem, settings: &'a Settings) -> Self {
        let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
        let (w, u) = (Matrix::zeros(n, d), Matrix::zeros(edges, d));
        let (records, rounds, lower) = (Vec::new(), Vec::new(), f64::NEG_INFINITY);
        Eyes { problem, settings, records, rounds, w, u, lower, next_correction: FIRST_CORRECTION, constrained: false }
    }

    /// Looks at the models; `Some` if that is the end.
    fn look(&mut self, method: &dyn Method, round: usize, last: bool) -> Option<Status> {
        let problem = self.problem;
        let objective = problem.objective(method.models());
        if !objective.is_finite() {
            // The last models that were numbers are kept.
            return Some(Status::Diverged);
        }
        self.w.copy_from(method.models());
        self.u = self.flows_of(method);
        let mut kkt = certificate::kkt(problem, &self.w, &self.u, objective);
        if let Some(stationarity) = method.fixed_point_residual() {
            self.constrained = true;
            kkt = Kkt { stationarity, feasibility: 0.0, complementarity: 0.0 };
        }
        self.bound(round, objective, kkt.residual(), last);
        let gap = objective - self.lower;
        let certified_gap = gap.is_finite().then(|| gap.max(4.0 * f64::EPSILON * objective.abs()));
        self.records.push(Record { iteration: round, objective, certified_gap, kkt, step_ratio: 1.0 });
        let t = method.traffic();
        let (messages, bytes, flops) = (t.messages(), t.bytes(), t.flops());
        self.rounds.push(RoundRecord { round, value: objective, messages, bytes, flops });
        self.converged().or_else(|| self.stalled())
    }

    /// The flows of the method, or those that belong to its models, inside the domain of the conjugates.
    fn flows_of(&self, method: &dyn Method) -> Matrix {
        let mut u = method.flows().unwrap_or_else(|| flows(self.problem, method.models()));
        self.problem.project_flows(&mut u);
        u
    }

    /// Improves the lower bound, where that promises to end the run.
    fn bound(&mut self, round: usize, objective: f64, residual: f64, last: bool) {
        let (problem, tolerance) = (self.problem, self.settings.tolerance);
        let enough = |lower: f64| objective - lower <= tolerance * objective.abs().max(1.0);
        if enough(self.lower) {
            return;
        }
        if last || residual <= NEAR * tolerance.sqrt() {
            let gap = certificate::bound(problem, &self.w, &self.u, objective);
            self.lower = gap.map_or(self.lower, |gap| self.lower.max(objective - gap));
        }
        let due = round >= self.next_correction || residual <= PROMISING * tolerance;
        if !enough(self.lower) && (last || due) && problem.loss().has_hessian() && problem.lambda() > 0.0 {
            self.next_correction = 2 * round.max(1);
            let (w, u) = certificate::corrected(problem, &self.w, &self.u, 1.0, STIFF, PRODUCTS_MAX);
            let objective = problem.objective(&w);
            let gap = certificate::bound(problem, &w, &u, objective);
            self.lower = gap.map_or(self.lower, |gap| self.lower.max(objective - gap));
        }
    }

    fn converged(&self) -> Option<Status> {
        let (record, tolerance) = (self.records.last()?, self.settings.tolerance);
        let small = match record.certified_gap {
            Some(gap) if gap <= tolerance * record.objective.abs().max(1.0) => true,
            // A constraint keeps the gap to the free optimum open.
            Some(_) if !self.constrained => false,
            _ => record.kkt.residual() <= tolerance,
        };
        small.then_some(Status::Converged)
    }

    /// The objective hardly changed since the record before this one.
    fn stalled(&self) -> Option<Status> {
        let [.., before, now] = &self.records[..] else { return None };
        let small = self.settings.objective_decrease? * now.objective.abs().max(1.0);
        ((before.objective - now.objective).abs() <= small).then_some(Status::Stalled)
    }

    fn solution(self, status: Status, method: &str) -> (Solution, History) {
        let none = Kkt { stationarity: f64::INFINITY, feasibility: 0.0, complementarity: 0.0 };
        let start = Record { iteration: 0, objective: f64::INFINITY, certified_gap: None, kkt: none, step_ratio: 1.0 };
        let last = *self.records.last().unwrap_or(&start);
        let solution = Solution {
            w: self.w,
            u: self.u,
            status,
            objective: last.objective,
            certified_gap: last.certified_gap,
            kkt: last.kkt,
            iterations: last.iteration,
            choice: Choice::new(method, "asked for".into()),
            step_ratio: 1.0,
            history: self.records,
        };
        (solution, History { records: self.rounds })
    }
}
