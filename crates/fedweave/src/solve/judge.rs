//! The judge: keeps the best point and the best bound seen, writes the history and decides when to stop.
//!
//! Methods offer points `(w, flow)`. The objective of the best models and the best lower bound on `min F` need not come
//! from the same point; their difference is the certified gap.

mod clusters;
mod correction;
mod sparse;
mod tail;

use tail::Tail;

use super::{Choice, Record, Settings, Solution, Status, Watch, iteration_cost};
use crate::certificate::{self, Evidence, Kkt};
use crate::graph::partition::Partition;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::tuning::{
    BOUND_RESIDUAL, CHEAP_NUMBERS, CORRECTION_ITERATIONS, CORRECTION_PRODUCTS_MAX, CORRECTION_RESIDUAL, FAR_GAP,
    FIRST_CORRECTION_ITERATION, SETTLED_WAIT_SHARE, SMALL_PARAMETERS, STIFFNESS_FIRST, STIFFNESS_GROWTH, STIFFNESS_MAX,
};
pub(super) use correction::corrected;

/// A point of a method.
pub struct Candidate {
    /// Models, a row per node.
    pub w: Matrix,
    /// Flows in the domain of the conjugates, a row per edge.
    pub flow: Matrix,
    /// Edges whose flows are strictly inside: suggested for fusion.
    pub fused: Vec<bool>,
    /// The step of the dual.
    pub sigma: f64,
    /// Ratio of primal to dual steps.
    pub step_ratio: f64,
}

/// What sums of the size of the objective are off by, relatively.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The judge of one run.
pub struct Judge<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    watch: &'a mut dyn FnMut(&Record) -> Watch,
    w: Option<Matrix>,
    objective: f64,
    /// The best one at the last look.
    objective_before: f64,
    u: Option<Matrix>,
    /// The best lower bound on `min F`.
    lower: f64,
    /// The best one from flows as they are.
    raw_lower: f64,
    /// The flows of the last look prove something as they are.
    proves: bool,
    /// The bound at the last look.
    lower_before: f64,
    kkt: Kkt,
    /// It is that of the best models with the best flows.
    kkt_of_best: bool,
    step_ratio: f64,
    history: Vec<Record>,
    promising: f64,
    next_correction: usize,
    /// Stiffness of edges in a correction, in units of the mean curvature of the nodes.
    stiff: f64,
    fuses: bool,
    /// A correction is worth a try at once.
    warm: bool,
    /// The last point meets the conditions of optimality, for losses with kinks.
    optimal: bool,
    /// The method brings proofs of its own: conditions of optimality are no substitute.
    waits_for_proof: bool,
    /// The last suggestion for fusion, if there is anything to fuse.
    fused: Option<Partition>,
    /// It was the same at the look before.
    steady: bool,
    tail: Tail,
}

impl<'a> Judge<'a> {
    pub fn new(problem: &'a Problem, settings: &'a Settings, watch: &'a mut dyn FnMut(&Record) -> Watch) -> Self {
        let none = Kkt { stationarity: f64::INFINITY, feasibility: 0.0, complementarity: 0.0 };
        Judge {
            problem,
            settings,
            watch,
            w: None,
            objective: f64::INFINITY,
            objective_before: f64::INFINITY,
            u: None,
            lower: f64::NEG_INFINITY,
            raw_lower: f64::NEG_INFINITY,
            proves: false,
            lower_before: f64::NEG_INFINITY,
            kkt: none,
            kkt_of_best: false,
            step_ratio: 1.0,
            history: Vec::new(),
            promising: CORRECTION_RESIDUAL * settings.tolerance,
            next_correction: FIRST_CORRECTION_ITERATION,
            stiff: STIFFNESS_FIRST,
            warm: false,
            optimal: false,
            waits_for_proof: false,
            fuses: problem.penalty().is_norm() && problem.loss().has_hessian(),
            fused: None,
            steady: false,
            tail: Tail::default(),
        }
    }

    /// The start is the solution of a similar problem: where a correction is cheap, it may be all that is needed.
    pub fn expect_little(&mut self) {
        self.warm = self.problem.loss().has_hessian() && self.problem.nodes() * self.problem.dim() <= SMALL_PARAMETERS;
    }

    /// The start is to be corrected before anything is iterated.
    pub fn corrects_start(&self) -> bool {
        self.warm
    }

    /// The largest gap that the tolerance allows.
    fn allowed(&self) -> f64 {
        self.settings.tolerance * self.objective.abs().max(1.0)
    }

    /// A rigorous bound on `F(w) - min F` for the best `w`, if there is one.
    pub fn gap(&self) -> Option<f64> {
        let gap = self.objective - self.lower;
        gap.is_finite().then(|| gap.max(ROUNDING * self.objective.abs()))
    }

    /// The gap in units of what is allowed.
    fn gap_over_allowed(&self) -> Option<f64> {
        self.gap().map(|gap| gap / self.allowed())
    }

    /// Iterations that are missing, if anything is known about that.
    pub fn tail(&self) -> Option<f64> {
        self.tail.length()
    }

    /// The residual of the optimality conditions at the last point.
    pub fn residual(&self) -> f64 {
        self.kkt.residual()
    }

    /// Best models so far.
    pub fn w(&self) -> &Matrix {
        self.w.as_ref().expect("a point was looked at")
    }

    /// Keeps the models if they are the best so far, and tells whether they are.
    fn offer(&mut self, w: Matrix, objective: f64) -> bool {
        let best = objective < self.objective || self.w.is_none();
        if best {
            (self.w, self.objective, self.kkt_of_best) = (Some(w), objective, false);
        }
        best
    }

    /// Keeps flows that prove a lower bound on `min F` if it is the best so far, and tells whether it is.
    pub fn offer_bound(&mut self, u: &Matrix, lower: f64) -> bool {
        let best = lower > self.lower;
        if best {
            (self.u, self.lower, self.kkt_of_best) = (Some(u.clone()), lower, false);
        }
        best
    }

    /// Judges a point after so many iterations; `Some` ends the run.
    pub fn look(&mut self, iteration: usize, mut candidate: Candidate) -> Option<Status> {
        let problem = self.problem;
        self.waits_for_proof = false;
        self.objective_before = self.objective;
        let objective = self.improve(&mut candidate);
        if !objective.is_finite() && self.w.is_some() {
            return Some(Status::Diverged);
        }
        let evidence = Evidence::new(problem, &candidate.w, &candidate.flow, objective);
        self.kkt = evidence.kkt();
        self.step_ratio = candidate.step_ratio;
        // Kinks need exact flows to prove anything worth having; otherwise gaps are like squares of residuals, and for
        // quadratics they cost little.
        let residual = self.kkt.residual();
        let worthwhile = match problem.loss().has_hessian() {
            true if problem.loss().is_quadratic() => iteration > 0,
            true => residual <= BOUND_RESIDUAL * self.settings.tolerance.sqrt() || self.history.len() % 8 == 7,
            false => residual <= self.promising,
        };
        let bound = worthwhile.then(|| evidence.bound()).flatten();
        self.proves = bound.is_some();
        let mut best = false;
        if let Some(gap) = bound {
            self.raw_lower = self.raw_lower.max(objective - gap);
            best = self.offer_bound(&candidate.flow, objective - gap);
        }
        let Candidate { w, flow, sigma, .. } = candidate;
        let (unproven, meets) = (self.lower == f64::NEG_INFINITY, self.kkt.residual() <= self.settings.tolerance);
        // Kinks may keep the gap open for ever: there, and where nothing proves anything, the conditions of optimality decide, and
        // this point meets them.
        self.optimal |= meets && !problem.loss().has_hessian();
        if meets && (unproven || !problem.loss().has_hessian()) {
            (self.w, self.objective, self.u) = (None, f64::INFINITY, Some(flow.clone()));
        }
        let improved = self.offer(w, objective);
        if self.u.is_none() || (improved && unproven) {
            self.u = Some(flow.clone());
        }
        self.kkt_of_best = improved && (best || unproven);
        if let Some(gap) = self.gap_over_allowed() {
            self.tail.see(iteration, gap);
        }
        self.fuse(iteration, &flow);
        let last = iteration >= self.settings.iterations_max;
        self.correct(iteration, &flow, sigma, last);
        self.record(iteration, &flow, sigma, last)
    }

    /// Like [`look`](Judge::look), for a method that brings its own proof: flows `u` that prove the gap `bound`, if they prove any.
    pub fn look_proved(
        &mut self,
        iteration: usize,
        w: Matrix,
        u: Matrix,
        bound: Option<f64>,
        kkt: Kkt,
        step_ratio: f64,
    ) -> Option<Status> {
        let objective = self.problem.objective(&w);
        if !objective.is_finite() && self.w.is_some() {
            return Some(Status::Diverged);
        }
        self.objective_before = self.objective;
        self.waits_for_proof = true;
        (self.kkt, self.step_ratio) = (kkt, step_ratio);
        let best = bound.is_some_and(|gap| self.offer_bound(&u, objective - gap));
        if self.u.is_none() {
            self.u = Some(u.clone());
        }
        self.kkt_of_best = self.offer(w, objective) && best;
        self.record(iteration, &u, 1.0, iteration >= self.settings.iterations_max)
    }

    /// Corrects the flows, where that is the way to a bound and the time is right: it costs many iterations' work.
    fn correct(&mut self, iteration: usize, flow: &Matrix, sigma: f64, last: bool) {
        if self.gap().is_some_and(|gap| gap <= self.allowed()) {
            return;
        }
        let residual = self.kkt.residual();
        // Where flows prove nearly enough as they are, the iterations improve them faster.
        let far = self.objective - self.raw_lower > FAR_GAP * self.allowed();
        let near = residual <= self.promising.max(self.settings.tolerance);
        // Models that no longer improve wait for nothing but a proof.
        let settled = self.objective_before - self.objective <= self.allowed();
        let waited = iteration as f64 >= if settled { SETTLED_WAIT_SHARE } else { 1.0 } * self.next_correction as f64;
        let due = match self.proves {
            // Flows that prove something get better by themselves, unless that takes too long.
            true => near && self.tail().is_some_and(|tail| tail > CORRECTION_ITERATIONS),
            false => near || waited,
        };
        if last || std::mem::take(&mut self.warm) || (far && due) {
            self.correct_now(iteration, flow, sigma);
            let missing = self.gap_over_allowed().map_or(0.3, |missing| missing.powf(-0.5).clamp(0.1, 0.7));
            self.promising = residual * missing;
            self.next_correction = 2 * iteration.max(FIRST_CORRECTION_ITERATION);
        }
    }

    fn correct_now(&mut self, iteration: usize, flow: &Matrix, sigma: f64) {
        if !self.problem.loss().has_hessian() {
            return;
        }
        let steps_max = steps_max(self.problem, iteration);
        let (w, flow) = corrected(self.problem, self.w(), flow, sigma, self.stiff, steps_max);
        let objective = self.problem.objective(&w);
        let gap = certificate::bound(self.problem, &w, &flow, objective);
        // Without a proof the linear systems were too hard; with one, harder ones make it better.
        self.stiff = match gap {
            Some(_) => (STIFFNESS_GROWTH * self.stiff).min(STIFFNESS_MAX),
            None => (self.stiff / STIFFNESS_GROWTH).max(1.0),
        };
        if let Some(gap) = gap {
            self.offer_bound(&flow, objective - gap);
            self.offer(w, objective);
        }
    }

    fn record(&mut self, iteration: usize, flow: &Matrix, sigma: f64, last: bool) -> Option<Status> {
        let mut record = self.now(iteration);
        let decision = (self.watch)(&record);
        if (decision != Watch::Continue || self.stalled(&record)) && record.certified_gap.is_none() {
            self.correct_now(iteration, flow, sigma);
            record = self.now(iteration);
        }
        let status = match decision {
            Watch::Stop(status) => Some(self.converged(&record).unwrap_or(status)),
            Watch::Continue => self.converged(&record).or(last.then_some(Status::IterationLimit)),
        };
        self.history.push(record);
        status
    }

    fn now(&self, iteration: usize) -> Record {
        let (objective, certified_gap) = (self.objective, self.gap());
        Record { iteration, objective, certified_gap, kkt: self.kkt, step_ratio: self.step_ratio }
    }

    /// Asks the watcher between two looks; false if it wants to stop.
    pub fn tick(&mut self, iteration: usize) -> bool {
        let now = self.now(iteration);
        (self.watch)(&now) == Watch::Continue
    }

    fn converged(&self, record: &Record) -> Option<Status> {
        let small = match record.certified_gap.filter(|_| !self.optimal) {
            Some(gap) => gap <= self.allowed(),
            None => !self.waits_for_proof && record.kkt.residual() <= self.settings.tolerance,
        };
        if small {
            return Some(Status::Converged);
        }
        self.stalled(record).then_some(Status::Stalled)
    }

    /// The objective hardly changed since the record before this one.
    fn stalled(&self, record: &Record) -> bool {
        let Some(limit) = self.settings.objective_decrease else { return false };
        let Some(before) = self.history.iter().rev().find(|r| r.iteration < record.iteration) else { return false };
        (before.objective - record.objective).abs() <= limit * record.objective.abs().max(1.0)
    }

    pub fn solution(mut self, status: Status, iterations: usize, choice: Choice) -> Solution {
        if matches!(status, Status::Converged | Status::Stalled) {
            self.polish();
            self.round_to_zero();
        }
        let certified_gap = self.gap();
        if let (false, Some(w), Some(u)) = (self.kkt_of_best, &self.w, &self.u) {
            self.kkt = certificate::kkt(self.problem, w, u, self.objective);
        }
        let doubtful = certified_gap.is_none() && self.kkt.residual() > DOUBTFUL * self.settings.tolerance;
        Solution {
            step_ratio: self.step_ratio,
            status: if status == Status::Converged && doubtful { Status::Stalled } else { status },
            objective: self.objective,
            certified_gap,
            kkt: self.kkt,
            iterations,
            choice,
            w: self.w.expect("the loop looks before it stops"),
            u: self.u.expect("the loop looks before it stops"),
            history: self.history,
        }
    }
}

/// Without a certificate, models whose residual is so many times the tolerance after all are not called solved: rounding, as of
/// columns of very different sizes, made the residual of the iterates look smaller.
const DOUBTFUL: f64 = 100.0;

/// A correction may cost about as much as the iterations so far, and more where it is cheap.
fn steps_max(problem: &Problem, iteration: usize) -> usize {
    iteration.max(CHEAP_NUMBERS / iteration_cost(problem).max(1)).clamp(150, CORRECTION_PRODUCTS_MAX)
}
