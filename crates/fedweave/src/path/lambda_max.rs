//! `lambda_max`: the smallest `lambda` at which every connected component has one model.
//!
//! Let `g_i` be the gradient of `L_i` at the pooled model of its component. One model per component is optimal exactly if
//! flows `u` with `D'u = -g` and `|u_e|* <= lambda A_e` exist, so
//!
//! ```text
//! lambda_max  =  min over flows, D'u = -g, of  max_e |u_e|* / A_e  =  max over z of  -<g, z> / sum_e A_e phi((D z)_e) .
//! ```
//!
//! Every balancing flow bounds it from above and every `z` from below, however they were found. Both are taken from the
//! point problem `sum_i |w_i + g_i/2|^2 + lambda sum_e A_e phi`, whose gradients at `w = 0` are the same `g`: its solution at a
//! `lambda` too small is a `z` with a larger quotient (Dinkelbach's method), its flows are nearly balanced.

use std::sync::Arc;

use super::balance::balance;
use super::broken_off;
use super::pooled::{Pooled, pooled};
use crate::cluster::clusters;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{Family, Loss, LossOptions};
use crate::matrix::{Matrix, dot};
use crate::problem::Problem;
use crate::solve::{Record, Settings, Solution, Start, Status, Watch, solve};

/// `lambda_max` is between the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Bracket {
    /// Some component has several models below this.
    pub below: f64,
    /// Every component has one model from here on.
    pub above: f64,
    /// Both ends are proven, up to rounding: by a `z` and by a flow. Otherwise they were seen in solutions.
    pub proven: bool,
    /// A solution for every `lambda` from `above` on, if proven.
    pub one_model: Option<Start>,
}

const ROUNDS_MAX: usize = 40;
/// The point problem's objective near its minimum goes with the square of the distance. Bounds are valid at any accuracy.
const TOLERANCE: f64 = 1e-4;
const ITERATIONS_MAX: usize = 5000;
/// Solutions of the point problem whose largest model is smaller than this (demands are of size one) are zero but for rounding.
const NOISE: f64 = 1e-10;

/// Brackets `lambda_max` to the relative width `width`, or as closely as some dozen solves can. `None` if there is no
/// such value: the penalty is not a norm of all coordinates, or there are no edges. Leaves `problem` as it was.
pub fn lambda_max(
    problem: &mut Problem,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Option<Bracket>> {
    if problem.graph().edges() == 0 || !problem.penalty().is_norm() {
        return Ok(None);
    }
    let before = problem.lambda();
    let pooled = pooled(problem);
    let bracket = match pooled.balanced {
        true => by_gradients(problem, pooled, width, watch),
        false => by_looking(problem, width, watch),
    };
    problem.set_lambda(before)?;
    bracket.map(Some)
}

/// The bracket from the gradients at the pooled models.
fn by_gradients(
    problem: &mut Problem,
    pooled: Pooled,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Bracket> {
    let (gradients, edges) = (&pooled.gradients, problem.graph().edges());
    let unit = gradients.max_row_norm();
    let (mut ends, mut flows) = (Ends { below: 0.0, above: 0.0 }, Matrix::zeros(edges, problem.dim()));
    if unit > 0.0 {
        let mut points = Arc::from(point_loss(gradients, unit)?);
        problem.swap_loss(&mut points);
        let demand = scaled(gradients, -1.0 / unit);
        let found = narrow(problem, &demand, width, watch);
        problem.swap_loss(&mut points);
        (ends, flows) = found?;
    }
    let clusters = Some(problem.components().clone());
    let one_model = Some(Start { w: pooled.w, u: scaled(&flows, unit), step_ratio: 1.0, clusters });
    Ok(Bracket { below: unit * ends.below, above: unit * ends.above, proven: true, one_model })
}

/// Bounds in units of the largest gradient.
#[derive(Clone, Copy, PartialEq)]
struct Ends {
    below: f64,
    above: f64,
}

fn scaled(m: &Matrix, factor: f64) -> Matrix {
    Matrix::from_rows(m.cols(), m.as_slice().iter().map(|v| factor * v).collect())
}

/// `|w_i - x_i|^2` with `x_i = -g_i / (2 unit)`.
fn point_loss(gradients: &Matrix, unit: f64) -> Result<Box<dyn Loss>> {
    let n = gradients.rows();
    let data = Dataset::new((0..=n).collect(), scaled(gradients, -0.5 / unit), vec![0.0; n], vec![1.0; n])?;
    Family::Point.build(data, &LossOptions::default())
}

/// Solves the point problem at better and better values. Also returns balanced flows that need no more than the upper end.
fn narrow(
    problem: &mut Problem,
    demand: &Matrix,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<(Ends, Matrix)> {
    let mut settings =
        Settings { tolerance: TOLERANCE * width * width, iterations_max: ITERATIONS_MAX, ..Settings::default() };
    let mut best = Matrix::zeros(problem.graph().edges(), problem.dim());
    let mut ends = Ends { below: quotient(problem, demand, demand), above: needed(problem, &mut best, demand) };
    let (mut start, mut trial): (Option<Start>, f64) = (None, ends.below);
    for _ in 0..ROUNDS_MAX {
        if ends.above <= ends.below * (1.0 + width) {
            break;
        }
        problem.set_lambda(trial)?;
        let solution = solve(problem, &settings, start.take(), watch);
        let before = ends;
        ends.below = ends.below.max(quotient(problem, demand, &solution.w));
        let mut flows = solution.u.clone();
        let above = needed(problem, &mut flows, demand);
        if above < ends.above {
            (ends.above, best) = (above, flows);
        }
        // The quotient is Dinkelbach's next value; where it hardly rises, the middle decides.
        let risen = ends.below > before.below + 0.1 * (before.above - before.below);
        trial = if risen { ends.below } else { (ends.below * ends.above).sqrt() };
        let stuck = ends == before;
        if stuck && solution.status != Status::Converged || broken_off(solution.status).is_some() {
            break;
        }
        // The stop rule is about models; flows may lag behind.
        settings.tolerance *= if stuck { 1e-2 } else { 1.0 };
        let clusters = Some(clusters(problem, &solution.w, &solution.u).partition);
        start = Some(Start { clusters, ..Start::from(&solution) });
    }
    Ok((ends, best))
}

/// `<demand, z> / sum_e A_e phi((D z)_e)`, a lower bound for any `z` that is more than rounding.
fn quotient(problem: &Problem, demand: &Matrix, z: &Matrix) -> f64 {
    if z.max_row_norm() < NOISE {
        return 0.0;
    }
    let graph = problem.graph();
    let paid = |e: usize| problem.with_difference(z, e, |t| graph.weight(e) * problem.penalty().value(e, t));
    let (gained, paid) = (dot(demand.as_slice(), z.as_slice()), (0..graph.edges()).map(paid).sum::<f64>());
    if paid > 0.0 && gained > 0.0 { gained / paid } else { 0.0 }
}

/// `max_e |u_e|* / A_e` after the flows were balanced, an upper bound for any flows.
fn needed(problem: &Problem, flows: &mut Matrix, demand: &Matrix) -> f64 {
    let graph = problem.graph();
    balance(graph, flows, demand);
    let norm = |e: usize| problem.penalty().dual_norm(e, flows.row(e)).expect("checked to be a norm");
    (0..graph.edges()).map(|e| norm(e) / graph.weight(e)).fold(0.0, f64::max)
}

/// Without gradients (losses with kinks): solves the problem itself and counts clusters.
fn by_looking(problem: &mut Problem, width: f64, watch: &mut dyn FnMut(&Record) -> Watch) -> Result<Bracket> {
    let mut look = Look { components: problem.components().len(), start: None, rounds: 0 };
    let (mut below, mut above) = (1.0, 1.0);
    if look.agree(problem, above, watch)? {
        while look.goes_on() && look.agree(problem, 0.25 * below, watch)? {
            (below, above) = (0.25 * below, 0.25 * below);
        }
        below *= 0.25;
    } else {
        while look.goes_on() && !look.agree(problem, 4.0 * above, watch)? {
            (below, above) = (4.0 * above, 4.0 * above);
        }
        above *= 4.0;
    }
    while look.goes_on() && above > below * (1.0 + width) {
        let middle = f64::sqrt(below * above);
        match look.agree(problem, middle, watch)? {
            true => above = middle,
            false => below = middle,
        }
    }
    Ok(Bracket { below, above, proven: false, one_model: None })
}

/// One look at the clusters after another, as long as that may go on.
struct Look {
    components: usize,
    start: Option<Start>,
    rounds: usize,
}

impl Look {
    fn goes_on(&self) -> bool {
        self.rounds < ROUNDS_MAX
    }

    fn agree(&mut self, problem: &mut Problem, lambda: f64, watch: &mut dyn FnMut(&Record) -> Watch) -> Result<bool> {
        let settings = Settings { tolerance: 1e-8, iterations_max: ITERATIONS_MAX, ..Settings::default() };
        problem.set_lambda(lambda)?;
        let solution: Solution = solve(problem, &settings, self.start.take(), watch);
        self.rounds = if broken_off(solution.status).is_some() { ROUNDS_MAX } else { self.rounds + 1 };
        self.start = Some(Start::from(&solution));
        Ok(clusters(problem, &solution.w, &solution.u).partition.len() == self.components)
    }
}
