//! The solver of one machine: which method suits the problem, and the methods that take over from each other.

mod attained;
mod cold;
mod local;

use super::judge::{Candidate, Judge};
use super::{Choice, Record, Settings, Solution, Solver, Start, Status, Watch, interior, newton, primal_dual};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::tuning::NUMBERS_BETWEEN_QUESTIONS;

pub use attained::nodes_without_minimiser;
pub(super) use cold::begin as begin_cold;
pub use local::{minimise_local, minimise_node};

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
    // Planning an elimination costs as much as solving an easy problem: only where there are kinks.
    if let (Solver::Auto, Some(kinks)) = (settings.solver, problem.loss().kinks())
        && let Some(system) = interior::plan(problem)
    {
        let reason = format!("the loss has kinks; linear systems by sparse factors of {} entries", system.fill());
        return interior::run(problem, kinks, system, settings, start, judge, Choice::new("interior point", reason));
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
            primal_dual::run(problem, settings, start, judge, Choice::new("primal-dual", reason), false, 0)
        }
        Plan::Hybrid => {
            let choice = Choice::new("primal-dual with fusion", reason);
            primal_dual::run(problem, settings, start, judge, choice, true, 0)
        }
        Plan::Newton => {
            let sigma = 0.5 / start.step_ratio;
            newton::run(problem, settings, start, sigma, judge, Choice::new("newton", reason), 0)
        }
        Plan::Softened => {
            let sigma = 0.5 / start.step_ratio;
            newton::run_softened(problem, settings, start, sigma, judge, Choice::new("newton", reason), 0)
        }
    }
}

impl Problem {
    /// The minimiser, to the default tolerance: [`solve`] from zero, without a watcher.
    pub fn solve(&self) -> Solution {
        self.solve_with(&Settings::default())
    }

    /// The minimiser as the settings ask for it.
    pub fn solve_with(&self, settings: &Settings) -> Solution {
        solve(self, settings, None, &mut |_| Watch::Continue)
    }
}

/// Nodes on their own: the start is the answer.
fn uncoupled(mut judge: Judge, start: Start, settings: &Settings) -> Solution {
    let edges = start.u.rows();
    let Start { w, u: flow, step_ratio, .. } = start;
    let candidate = Candidate { w, flow, fused: vec![false; edges], sigma: 1.0, step_ratio };
    let status = judge.look(settings.iterations_max, candidate).unwrap_or(Status::IterationLimit);
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
        _ if !loss.has_hessian() && loss.softening().is_none() => {
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

/// Numbers that an iteration reads, roughly.
pub(super) fn iteration_cost(problem: &Problem) -> usize {
    16 * problem.dim() * (problem.nodes() + problem.graph().edges())
}

/// Iterations between two questions to the watcher.
pub(super) fn quiet_iterations(problem: &Problem) -> usize {
    (NUMBERS_BETWEEN_QUESTIONS / iteration_cost(problem)).max(1)
}
