//! Finding the minimiser: the loop, its stop rules, its history. Methods own their iterates; the loop owns the rest.
//!
//! There is no clock here: whoever calls may look at one in [`Watch`] and ask the loop to stop.

mod attained;
mod layout;
mod local;
mod newton_system;
mod primal_dual;
mod step_ratio;

use crate::certificate::{self, Kkt};
use crate::matrix::Matrix;
use crate::problem::Problem;

pub use attained::nodes_without_minimiser;
pub use local::minimise_local;
pub use newton_system::NewtonSystem;
pub use primal_dual::PrimalDual;
use step_ratio::StepRatio;

/// When to stop and how to step.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Stop at `certified_gap <= tolerance * max(1, |F|)`; without a certificate, at `kkt_residual <= tolerance`.
    pub tolerance: f64,
    /// Stop after this many iterations.
    pub iterations_max: usize,
    /// Stop when the objective changed by less than this, relatively, between two checks.
    pub objective_decrease: Option<f64>,
    /// Ratio of primal to dual steps; 1 is the paper's. `None` adapts it by balancing how far both variables move.
    pub step_ratio: Option<f64>,
    /// Iterations between two looks at the objective and the residuals.
    pub check_every: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tolerance: 1e-6,
            iterations_max: 100_000,
            objective_decrease: None,
            step_ratio: None,
            check_every: 20,
        }
    }
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The tolerance was reached.
    Converged,
    /// The objective no longer decreased by the asked amount.
    Stalled,
    /// `iterations_max` was reached.
    IterationLimit,
    /// The watcher's time was up.
    TimeLimit,
    /// The watcher was interrupted.
    Interrupted,
    /// A number left the range of f64.
    Diverged,
}

/// One line of the history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Iterations done.
    pub iteration: usize,
    /// `F(w)`.
    pub objective: f64,
    /// Rigorous bound on `F(w) - min F`, where one was computed.
    pub certified_gap: Option<f64>,
    /// Residuals of the optimality conditions.
    pub kkt: Kkt,
    /// Ratio of primal to dual steps.
    pub step_ratio: f64,
}

/// The answer, with what is known about its quality.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Parameters, a row per node.
    pub w: Matrix,
    /// Flows, a row per edge.
    pub u: Matrix,
    /// Why the loop ended.
    pub status: Status,
    /// `F(w)`.
    pub objective: f64,
    /// Rigorous bound on `F(w) - min F`, or none.
    pub certified_gap: Option<f64>,
    /// Residuals of the optimality conditions.
    pub kkt: Kkt,
    /// Iterations done.
    pub iterations: usize,
    /// Ratio of primal to dual steps at the end, a good start for a similar problem.
    pub step_ratio: f64,
    /// What was seen at every check.
    pub history: Vec<Record>,
}

/// A point to start from.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Parameters, a row per node.
    pub w: Matrix,
    /// Flows, a row per edge.
    pub u: Matrix,
    /// Ratio of primal to dual steps.
    pub step_ratio: f64,
}

impl From<&Solution> for Start {
    fn from(s: &Solution) -> Self {
        Start { w: s.w.clone(), u: s.u.clone(), step_ratio: s.step_ratio }
    }
}

/// What the watcher wants after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Go on.
    Continue,
    /// Stop with this status.
    Stop(Status),
}

/// Minimises the problem by the primal-dual method, from zero or from `start`. `watch` sees every record.
pub fn solve(
    problem: &Problem,
    settings: &Settings,
    start: Option<Start>,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Solution {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let fresh = || Start { w: Matrix::zeros(n, d), u: Matrix::zeros(edges, d), step_ratio: 1.0 };
    let mut start = start.unwrap_or_else(fresh);
    minimise_local(problem, &mut start.w, |node| !problem.is_coupled(node));
    if problem.lambda() == 0.0 {
        start.u.as_mut_slice().fill(0.0);
    }
    let ratio = settings.step_ratio.unwrap_or(start.step_ratio);
    let mut method = PrimalDual::new(problem, &start.w, &start.u, ratio);
    let mut balance = settings.step_ratio.is_none().then(|| StepRatio::new(&method));
    let mut judge = Judge::new(settings);
    let mut iteration = 0;
    loop {
        let coupled = edges > 0 && problem.lambda() > 0.0;
        let status = judge.look(problem, &method, iteration, coupled, watch);
        if let Some(status) = status {
            return judge.solution(method, status, iteration);
        }
        for _ in 0..settings.check_every.min(settings.iterations_max - iteration).max(1) {
            method.iterate();
            iteration += 1;
            if let Some(balance) = &mut balance {
                balance.after(iteration, &mut method);
            }
        }
    }
}

/// A certificate is worth a try when the residual is within this factor of the tolerance.
const PROMISING: f64 = 100.0;
const FIRST_CERTIFICATE: usize = 80;
/// Most steps of conjugate gradients for one certificate.
const STEPS_MAX: usize = 2000;
/// Numbers read by conjugate gradients that cost nobody's patience, whatever the iterations cost.
const CHEAP: usize = 50_000_000;

/// A certificate may cost about half as much as the iterations so far, and more where it is cheap.
fn steps_max(problem: &Problem, iteration: usize) -> usize {
    let per_step = 16 * problem.dim() * (problem.nodes() + problem.graph().edges());
    (iteration / 6).max(CHEAP / per_step.max(1)).clamp(30, STEPS_MAX)
}

/// Keeps the history and decides when to stop.
struct Judge<'s> {
    settings: &'s Settings,
    history: Vec<Record>,
    /// Certificates cost many iterations' work: one is tried when the residual is this small ...
    promising: f64,
    /// ... and otherwise each time the number of iterations has doubled.
    next_certificate: usize,
}

impl<'s> Judge<'s> {
    fn new(settings: &'s Settings) -> Self {
        Judge {
            settings,
            history: Vec::new(),
            promising: PROMISING * settings.tolerance,
            next_certificate: FIRST_CERTIFICATE,
        }
    }

    fn look(
        &mut self,
        problem: &Problem,
        method: &PrimalDual,
        iteration: usize,
        coupled: bool,
        watch: &mut dyn FnMut(&Record) -> Watch,
    ) -> Option<Status> {
        let (w, u) = (method.w(), method.u());
        let objective = problem.objective(&w);
        let kkt = certificate::kkt(problem, &w, &u, objective);
        let last = !coupled || iteration >= self.settings.iterations_max;
        let mut record = Record { iteration, objective, certified_gap: None, kkt, step_ratio: method.step_ratio() };
        let residual = kkt.residual();
        if last || residual <= self.promising.max(self.settings.tolerance) || iteration >= self.next_certificate {
            let steps_max = steps_max(problem, iteration);
            record.certified_gap = certificate::certify(problem, &w, &u, method.sigma(), objective, steps_max);
            self.promising = residual * self.missing(&record);
            self.next_certificate = 2 * iteration.max(FIRST_CERTIFICATE);
        }
        let decision = watch(&record);
        if (decision != Watch::Continue || self.stalled(&record)) && record.certified_gap.is_none() {
            let steps_max = steps_max(problem, iteration);
            record.certified_gap = certificate::certify(problem, &w, &u, method.sigma(), objective, steps_max);
        }
        self.history.push(record);
        match decision {
            Watch::Stop(status) => Some(self.converged(&record).unwrap_or(status)),
            Watch::Continue if !objective.is_finite() => Some(Status::Diverged),
            Watch::Continue => self.converged(&record).or(last.then_some(Status::IterationLimit)),
        }
    }

    /// How much smaller the residual should get before the next certificate: by the root of what the last one lacked.
    fn missing(&self, record: &Record) -> f64 {
        let wanted = self.settings.tolerance * record.objective.abs().max(1.0);
        record.certified_gap.map_or(0.3, |gap| (wanted / gap).sqrt().clamp(0.1, 0.7))
    }

    fn converged(&self, record: &Record) -> Option<Status> {
        let tolerance = self.settings.tolerance;
        let small = match record.certified_gap {
            Some(gap) => gap <= tolerance * record.objective.abs().max(1.0),
            None => record.kkt.residual() <= tolerance,
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

    fn solution(self, method: PrimalDual, status: Status, iterations: usize) -> Solution {
        let last = *self.history.last().expect("the loop looks before it stops");
        Solution {
            step_ratio: method.step_ratio(),
            w: method.w(),
            u: method.u(),
            status,
            objective: last.objective,
            certified_gap: last.certified_gap,
            kkt: last.kkt,
            iterations,
            history: self.history,
        }
    }
}
