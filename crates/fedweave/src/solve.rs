//! Finding the minimiser: the loop, its stop rules, its history. Methods own their iterates; the loop owns the rest.
//!
//! There is no clock here: whoever calls may look at one in [`Watch`] and ask the loop to stop.

mod async_fedgd;
mod attained;
mod cold;
mod descent;
mod fedgd;
mod fedrelax;
mod fedsgd;
mod first_order;
mod judge;
pub(crate) mod layout;
mod local;
pub(crate) mod newton;
mod pdmm;
mod primal_dual;
mod primal_dual_rounds;
mod projected;
mod rounds;
mod second_order;
mod softened;
mod step_ratio;
mod tail;
mod watched;

use crate::certificate::Kkt;
use crate::graph::partition::Partition;
use crate::matrix::Matrix;
use crate::problem::Problem;

pub use async_fedgd::{AsyncFedGd, AsyncOptions};
pub use attained::nodes_without_minimiser;
pub use descent::{add_pull, flows, safe_step};
pub use fedgd::FedGd;
pub use fedrelax::{FedRelax, JudgedOn, Order, mean_of_neighbours};
pub use fedsgd::{FedSgd, Schedule, SgdOptions};
use judge::{Judge, Sight};
pub use local::minimise_local;
pub use pdmm::{Pdmm, PdmmOptions, Subset};
pub use primal_dual::PrimalDual;
pub use primal_dual_rounds::PrimalDualRounds;
pub use projected::Constraint;
pub use rounds::{History, Method, RoundRecord, run_rounds, run_rounds_until};
pub use watched::solve_in_rounds;

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
    /// Relaxation of the primal-dual method, between 0 and 2; 1 is the paper's.
    pub relaxation: f64,
    /// Fewest iterations between two looks at the objective and the residuals.
    pub check_every: usize,
    /// How to minimise.
    pub solver: Solver,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tolerance: 1e-6,
            iterations_max: 100_000,
            objective_decrease: None,
            step_ratio: None,
            relaxation: 1.8,
            check_every: 10,
            solver: Solver::Auto,
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

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Converged => "converged",
            Status::Stalled => "stalled",
            Status::IterationLimit => "iteration-limit",
            Status::TimeLimit => "time-limit",
            Status::Interrupted => "interrupted",
            Status::Diverged => "diverged",
        })
    }
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
    /// The method that found it, and why it was chosen.
    pub choice: Choice,
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
    /// Clusters that are likely to be the right ones: they are tried before anything is iterated.
    pub clusters: Option<Partition>,
}

impl Start {
    /// True if it brings flows: those of a similar problem.
    fn is_warm(&self) -> bool {
        self.u.as_slice().iter().any(|u| *u != 0.0)
    }
}

impl From<&Solution> for Start {
    fn from(s: &Solution) -> Self {
        Start { w: s.w.clone(), u: s.u.clone(), step_ratio: s.step_ratio, clusters: None }
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

/// How to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// What suits the problem.
    #[default]
    Auto,
    /// The primal-dual method alone.
    PrimalDual,
    /// Newton-type: the augmented Lagrangian from the start.
    Newton,
    /// The same with conjugate gradients for all linear systems, also where a factor would be cheaper.
    NewtonCg,
}

/// A method and the reason for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// In a word or two.
    pub method: String,
    /// In a sentence.
    pub reason: String,
}

/// Minimises the problem from zero or from `start`. `watch` sees every record, and more often whatever takes long.
pub fn solve(
    problem: &Problem,
    settings: &Settings,
    start: Option<Start>,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Solution {
    let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
    let fresh = || Start { w: Matrix::zeros(n, d), u: Matrix::zeros(edges, d), step_ratio: 1.0, clusters: None };
    let mut start = start.unwrap_or_else(fresh);
    minimise_local(problem, &mut start.w, |node| !problem.is_coupled(node));
    let warm = start.is_warm();
    let mut judge = Judge::new(problem, settings, watch);
    if edges == 0 || problem.lambda() == 0.0 {
        start.u.as_mut_slice().fill(0.0);
        return uncoupled(judge, start, settings);
    }
    let (plan, reason) = choose(problem, settings.solver);
    if warm && matches!(plan, Plan::Hybrid) {
        if let Some(status) = judge.carry_over(&start) {
            return judge.solution(
                status,
                0,
                Choice::new("fusion", "the clusters of the start are the right ones".into()),
            );
        }
        judge.expect_little();
    }
    match plan {
        Plan::PrimalDual => {
            first_order::run(problem, settings, start, judge, Choice::new("primal-dual", reason), false, 0)
        }
        Plan::Hybrid => {
            let choice = Choice::new("primal-dual with fusion", reason);
            first_order::run(problem, settings, start, judge, choice, true, 0)
        }
        Plan::Newton => {
            let sigma = 0.5 / start.step_ratio;
            second_order::run(problem, settings, start, sigma, judge, Choice::new("newton", reason), 0)
        }
        Plan::Softened => {
            let sigma = 0.5 / start.step_ratio;
            softened::run(problem, settings, start, sigma, judge, Choice::new("newton", reason), 0)
        }
    }
}

/// Nodes on their own: the start is the answer.
fn uncoupled(mut judge: Judge, start: Start, settings: &Settings) -> Solution {
    let edges = start.u.rows();
    let Start { w, u: flow, step_ratio, .. } = start;
    let sight = Sight { w, flow, fused: vec![false; edges], sigma: 1.0, step_ratio };
    let status = judge.look(settings.iterations_max, sight).unwrap_or(Status::IterationLimit);
    judge.solution(status, 0, Choice::new("local", "nothing couples the nodes: each is solved on its own".into()))
}

enum Plan {
    PrimalDual,
    /// Primal-dual with fusion, then Newton if the tail is long.
    Hybrid,
    Newton,
    /// Newton for losses with kinks.
    Softened,
}

fn choose(problem: &Problem, solver: Solver) -> (Plan, String) {
    let (loss, penalty) = (problem.loss(), problem.penalty());
    match solver {
        Solver::PrimalDual => (Plan::PrimalDual, "asked for".into()),
        _ if !loss.has_hessian() && !loss.softens() => {
            (Plan::PrimalDual, "losses of several kinds, some with kinks: only proximal steps serve all".into())
        }
        Solver::Newton | Solver::NewtonCg if loss.has_hessian() => (Plan::Newton, "asked for".into()),
        Solver::Newton | Solver::NewtonCg => (Plan::Softened, "asked for".into()),
        Solver::Auto if loss.has_hessian() && penalty.is_smooth() => {
            (Plan::Newton, format!("loss and {} penalty are smooth", penalty.name()))
        }
        Solver::Auto => {
            let why = "cheap iterations until the flows tell which nodes are fused";
            (Plan::Hybrid, format!("the {} penalty has kinks: {why}", penalty.name()))
        }
    }
}

impl Settings {
    /// What a factorisation is worth where systems are to be solved exactly, in products with the matrix.
    fn factor_worth(&self) -> f64 {
        if self.solver == Solver::NewtonCg { 0.0 } else { 200.0 }
    }
}

/// Numbers that an iteration reads, roughly.
fn iteration_cost(problem: &Problem) -> usize {
    16 * problem.dim() * (problem.nodes() + problem.graph().edges())
}

/// Numbers that may be read between two questions to the watcher.
const QUIET: usize = 100_000_000;

/// Iterations between two questions to the watcher.
fn quiet_iterations(problem: &Problem) -> usize {
    (QUIET / iteration_cost(problem)).max(1)
}

impl Choice {
    fn new(method: &str, reason: String) -> Self {
        Choice { method: method.into(), reason }
    }

    /// Another method took over.
    fn then(mut self, method: &str, reason: &str) -> Self {
        self.method = format!("{}, then {method}", self.method);
        self.reason = format!("{}; {reason}", self.reason);
        self
    }
}
