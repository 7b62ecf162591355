//! A method in rounds, observed: looks at growing intervals, a certificate for the models as they are, stop rules.
//!
//! Unlike the solvers of [`solve`](super::solve), whose judge may keep better models found on the way, what is reported here
//! are the method's own. Only the lower bound on `min F` may come from flows corrected on the side.

use super::descent::flows;
use super::method::{History, Method, RoundRecord};
use crate::certificate::{self, Kkt};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::judge::corrected;
use crate::solve::tuning::{
    BOUND_RESIDUAL, CORRECTION_PRODUCTS_IN_ROUNDS, CORRECTION_RESIDUAL_IN_ROUNDS, FIRST_CORRECTION_ITERATION,
    LOOKS_PER_DOUBLING, STIFFNESS_FIRST,
};
use crate::solve::{Choice, Record, Settings, Solution, Status, Watch, quiet_iterations};

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
    let mut observer = Observer::new(problem, settings);
    let (mut round, mut next) = (0, 0);
    let status = loop {
        if round == next || round == rounds_max {
            let done = observer
                .look(method, round, round == rounds_max)
                .filter(|s| exactly.is_none() || *s == Status::Diverged);
            // A start that is not a number leaves nothing to show.
            let Some(last) = observer.records.last() else { break Status::Diverged };
            let asked = watch(last);
            match (done, asked) {
                (Some(status), _) => break status,
                (None, Watch::Stop(status)) => break observer.converged().unwrap_or(status),
                _ if round == rounds_max => break observer.converged().unwrap_or(Status::IterationLimit),
                _ => next = round + (round / LOOKS_PER_DOUBLING).max(1),
            }
        } else if round.is_multiple_of(tick_every)
            && let Watch::Stop(status) = watch(&observer.records[observer.records.len() - 1])
        {
            observer.look(method, round, true);
            break observer.converged().unwrap_or(status);
        }
        method.round();
        round += 1;
    };
    observer.solution(status, method.name())
}

/// Judges models `w` that were found elsewhere, with flows `u` where the method has any: their objective, a certificate, the
/// residuals of the optimality conditions, and whether they meet the tolerance. Panics if `w` or `u` has another shape than
/// the problem.
///
/// ```
/// use fedweave::graph::generate::chain;
/// use fedweave::loss::{Family, LossOptions};
/// use fedweave::penalty::SquaredNorm;
/// use fedweave::solve::{Status, certify};
/// use fedweave::{Dataset, Matrix, Problem};
/// let points = Matrix::from_rows(1, vec![0.0, 3.0]);
/// let data = Dataset::new(vec![0, 1, 2], points, vec![0.0; 2], vec![1.0; 2])?;
/// let loss = Family::Point.build(data, &LossOptions::default())?;
/// let problem = Problem::build(chain(2)?, loss, Box::new(SquaredNorm), 1.0)?;
/// // w = (1, 2) minimises w_1^2 + (w_2 - 3)^2 + (w_1 - w_2)^2.
/// let best = certify(&problem, Matrix::from_rows(1, vec![1.0, 2.0]), None, 1e-6);
/// assert_eq!((best.objective, best.status), (3.0, Status::Converged));
/// let zero = certify(&problem, Matrix::zeros(2, 1), None, 1e-6);
/// assert!(zero.certified_gap.unwrap() >= 6.0);
/// # Ok::<(), fedweave::Error>(())
/// ```
pub fn certify(problem: &Problem, w: Matrix, u: Option<Matrix>, tolerance: f64) -> Solution {
    let settings = Settings { tolerance, ..Settings::default() };
    let mut observer = Observer::new(problem, &settings);
    observer.w.copy_from(&w);
    let status = match observer.see(&w, u, None, 0, true) {
        Some(_) => observer.converged().unwrap_or(Status::IterationLimit),
        None => Status::Diverged,
    };
    let mut solution = observer.solution(status, "given").0;
    solution.choice.reason = "models that were found elsewhere".into();
    solution
}

/// What was seen so far.
struct Observer<'a> {
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

impl<'a> Observer<'a> {
    fn new(problem: &'a Problem, settings: &'a Settings) -> Self {
        let (n, d, edges) = (problem.nodes(), problem.dim(), problem.graph().edges());
        let (w, u) = (Matrix::zeros(n, d), Matrix::zeros(edges, d));
        let (records, rounds, lower) = (Vec::new(), Vec::new(), f64::NEG_INFINITY);
        Observer {
            problem,
            settings,
            records,
            rounds,
            w,
            u,
            lower,
            next_correction: FIRST_CORRECTION_ITERATION,
            constrained: false,
        }
    }

    /// Looks at a method; `Some` if that is the end.
    fn look(&mut self, method: &dyn Method, round: usize, last: bool) -> Option<Status> {
        let seen = self.see(method.models(), method.flows(), method.fixed_point_residual(), round, last);
        let Some(objective) = seen else { return Some(Status::Diverged) };
        let t = method.traffic();
        let (messages, bytes, flops) = (t.messages(), t.bytes(), t.flops());
        self.rounds.push(RoundRecord { round, value: objective, messages, bytes, flops });
        self.converged().or_else(|| self.stalled())
    }

    /// Writes down what is known about models and flows, and returns the objective; `None` if that is not a number, and the
    /// last models that were are kept.
    fn see(
        &mut self,
        w: &Matrix,
        u: Option<Matrix>,
        fixed_point: Option<f64>,
        round: usize,
        last: bool,
    ) -> Option<f64> {
        let problem = self.problem;
        let objective = Some(problem.objective(w)).filter(|objective| objective.is_finite())?;
        self.w.copy_from(w);
        // The flows of the method, or those that belong to its models, inside the domain of the conjugates.
        self.u = u.unwrap_or_else(|| flows(problem, w));
        problem.project_flows(&mut self.u);
        let mut kkt = certificate::kkt(problem, &self.w, &self.u, objective);
        if let Some(stationarity) = fixed_point {
            self.constrained = true;
            kkt = Kkt { stationarity, feasibility: 0.0, complementarity: 0.0 };
        }
        self.bound(round, objective, kkt.residual(), last);
        let gap = objective - self.lower;
        let certified_gap = gap.is_finite().then(|| gap.max(4.0 * f64::EPSILON * objective.abs()));
        self.records.push(Record { iteration: round, objective, certified_gap, kkt, step_ratio: 1.0 });
        Some(objective)
    }

    /// Improves the lower bound, where that promises to end the run.
    fn bound(&mut self, round: usize, objective: f64, residual: f64, last: bool) {
        let (problem, tolerance) = (self.problem, self.settings.tolerance);
        let enough = |lower: f64| objective - lower <= tolerance * objective.abs().max(1.0);
        if enough(self.lower) {
            return;
        }
        if last || residual <= BOUND_RESIDUAL * tolerance.sqrt() {
            let gap = certificate::bound(problem, &self.w, &self.u, objective);
            self.lower = gap.map_or(self.lower, |gap| self.lower.max(objective - gap));
        }
        let due = round >= self.next_correction || residual <= CORRECTION_RESIDUAL_IN_ROUNDS * tolerance;
        if !enough(self.lower) && (last || due) && problem.loss().has_hessian() && problem.lambda() > 0.0 {
            self.next_correction = 2 * round.max(1);
            let (w, u) = corrected(problem, &self.w, &self.u, 1.0, STIFFNESS_FIRST, CORRECTION_PRODUCTS_IN_ROUNDS);
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
