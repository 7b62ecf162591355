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

use super::balance::balance;
use super::pooled::pooled;
use crate::cluster::clusters;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::partition::Partition;
use crate::loss::{Family, Loss, LossOptions};
use crate::matrix::{Matrix, dot};
use crate::problem::Problem;
use crate::solve::{Record, Settings, Solution, Start, Status, Watch, solve};

/// `lambda_max` is between the two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// Some component has several models below this.
    pub below: f64,
    /// Every component has one model from here on.
    pub above: f64,
    /// Both ends are proven, up to rounding: by a `z` and by a flow. Otherwise they were seen in solutions.
    pub proven: bool,
}

impl Bracket {
    fn is_narrow(&self, width: f64) -> bool {
        self.above <= self.below * (1.0 + width)
    }
}

const ROUNDS_MAX: usize = 40;
/// The point problem's objective near its minimum goes with the square of the distance. Bounds are valid at any accuracy.
const TOLERANCE: f64 = 1e-4;
const ITERATIONS_MAX: usize = 5000;

/// Brackets `lambda_max` to the relative width `width`, or as closely as some dozen solves can. `None` if there is no
/// such value: the penalty is not a norm of all coordinates, or there are no edges. Leaves `problem` as it was.
pub fn lambda_max(
    problem: &mut Problem,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Option<Bracket>> {
    let zero = vec![0.0; problem.dim()];
    if problem.graph().edges() == 0 || problem.penalty().dual_norm(0, &zero).is_none() {
        return Ok(None);
    }
    let before = problem.lambda();
    let pooled = pooled(problem);
    let bracket = match pooled.balanced {
        true => by_gradients(problem, &pooled.gradients, width, watch),
        false => by_looking(problem, width, watch),
    };
    problem.set_lambda(before)?;
    bracket.map(Some)
}

/// The bracket from the gradients at the pooled models.
fn by_gradients(
    problem: &mut Problem,
    gradients: &Matrix,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Bracket> {
    let unit = gradients.max_row_norm();
    if unit == 0.0 {
        return Ok(Bracket { below: 0.0, above: 0.0, proven: true });
    }
    let mut points = point_loss(gradients, unit)?;
    problem.swap_loss(&mut points);
    let demand = scaled(gradients, -1.0 / unit);
    let found = narrow(problem, &demand, width, watch);
    problem.swap_loss(&mut points);
    found.map(|b| Bracket { below: unit * b.below, above: unit * b.above, proven: true })
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

/// Solves the point problem at better and better values.
fn narrow(
    problem: &mut Problem,
    demand: &Matrix,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Bracket> {
    let settings = Settings { tolerance: TOLERANCE * width * width, iterations_max: ITERATIONS_MAX, ..Settings::default() };
    let mut flows = Matrix::zeros(problem.graph().edges(), problem.dim());
    let (below, above) = (quotient(problem, demand, demand), needed(problem, &mut flows, demand));
    let mut bracket = Bracket { below, above, proven: true };
    let mut start: Option<Start> = None;
    let mut trial = below;
    for _ in 0..ROUNDS_MAX {
        if bracket.is_narrow(width) {
            break;
        }
        problem.set_lambda(trial)?;
        let solution = solve(problem, &settings, start.take(), watch);
        let next = Bracket {
            below: bracket.below.max(quotient(problem, demand, &solution.w)),
            above: bracket.above.min(needed(problem, &mut solution.u.clone(), demand)),
            proven: true,
        };
        // The quotient is Dinkelbach's next value; where it stops rising, the middle decides.
        let risen = next.below > bracket.below * (1.0 + 0.1 * (bracket.above / bracket.below - 1.0));
        trial = if risen { next.below } else { (next.below * next.above).sqrt() };
        let stuck = next == bracket && solution.status != Status::Converged;
        bracket = next;
        if stuck || matches!(solution.status, Status::Interrupted | Status::TimeLimit) {
            break;
        }
        start = Some(Start::from(&solution));
    }
    Ok(bracket)
}

/// `<demand, z> / sum_e A_e phi((D z)_e)`, a lower bound for any `z`.
fn quotient(problem: &Problem, demand: &Matrix, z: &Matrix) -> f64 {
    let graph = problem.graph();
    let paid = |e: usize| graph.weight(e) * problem.penalty().value(e, &problem.difference(z, e));
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
    let mut look = Look { components: Partition::components(problem.graph()).len(), start: None, rounds: 0 };
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
    Ok(Bracket { below, above, proven: false })
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
        let stopped = matches!(solution.status, Status::Interrupted | Status::TimeLimit);
        self.rounds = if stopped { ROUNDS_MAX } else { self.rounds + 1 };
        self.start = Some(Start::from(&solution));
        Ok(clusters(problem, &solution.w, &solution.u).partition.len() == self.components)
    }
}
