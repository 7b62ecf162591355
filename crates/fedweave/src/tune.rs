//! Choosing `lambda` on held-out rows, over a geometric grid with warm starts.

mod folds;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{Loss, LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::parallel::ordered_map;
use crate::path::{geometric, lambda_max};
use crate::problem::Problem;
use crate::solve::newton::{Losses, mean_curvature};
use crate::solve::{Record, Settings, Start, Status, Watch, solve};

pub(crate) use folds::mean_errors;
pub use folds::{FoldTask, FoldTuning, pooled_errors};

/// The mean of the node's losses, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Errors {
    /// Mean pointwise loss of each node that has rows.
    pub by_node: Vec<Option<f64>>,
}

impl Errors {
    /// Evaluates models `w` on the rows of `loss` (built without ridge).
    pub fn of(loss: &dyn Loss, w: &Matrix) -> Self {
        let error = |i: usize| loss.has_rows(i).then(|| loss.error(i, w.row(i)));
        Errors { by_node: ordered_map(loss.nodes(), error) }
    }

    /// Mean over the nodes that have rows; `None` if no node has.
    pub fn mean(&self) -> Option<f64> {
        mean_and_error(self.by_node.iter().flatten().copied()).map(|m| m.0)
    }

    /// Standard error of [`mean`](Errors::mean), from the spread over nodes.
    pub fn standard_error(&self) -> Option<f64> {
        mean_and_error(self.by_node.iter().flatten().copied()).map(|m| m.1)
    }

    /// Mean and standard error of the node-wise difference `self - other`.
    pub fn minus(&self, other: &Errors) -> Option<(f64, f64)> {
        let pairs = self.by_node.iter().zip(&other.by_node);
        mean_and_error(pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)))
    }
}

/// Mean of some numbers and its standard error.
pub fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let n = values.clone().count() as f64;
    if n == 0.0 {
        return None;
    }
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    Some((mean, (variance / n).sqrt()))
}

/// One value of `lambda` that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The value.
    pub lambda: f64,
    /// Errors on the rows trained with.
    pub train: Errors,
    /// Errors on held-out rows.
    pub validation: Errors,
    /// The models.
    pub w: Matrix,
    /// The solver reached its tolerance.
    pub converged: bool,
}

/// How the winner is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// The smallest validation error.
    #[default]
    Minimum,
    /// The largest `lambda` whose validation error exceeds the smallest by at most one standard error of the (node-wise) difference:
    /// the simplest models that are not clearly worse.
    OneStandardError,
}

/// Everything that was tried, in the order of the grid, and the choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// Values tried, largest first.
    pub tried: Vec<Tried>,
    /// Position of the chosen one.
    pub chosen: usize,
}

impl Tuning {
    /// The chosen value.
    pub fn best(&self) -> &Tried {
        &self.tried[self.chosen]
    }

    /// The chosen value is the smallest of several: a smaller one might do better.
    pub fn at_low_end(&self) -> bool {
        self.tried.len() > 1 && self.chosen + 1 == self.tried.len()
    }

    /// The chosen value is the largest of several. On the default grid of a norm nothing changes beyond it.
    pub fn at_high_end(&self) -> bool {
        self.tried.len() > 1 && self.chosen == 0
    }
}

/// Iterations for one `lambda` while it is being chosen.
const ITERATIONS_MAX: usize = 10_000;
/// Accuracy while it is being chosen.
const TOLERANCE: f64 = 1e-5;

impl Settings {
    /// The settings to choose `lambda` with: which one is best does not depend on the last digits, nor is it worth waiting for ever.
    pub fn quick(&self) -> Settings {
        let (tolerance, iterations_max) = (self.tolerance.max(TOLERANCE), self.iterations_max.min(ITERATIONS_MAX));
        Settings { tolerance, iterations_max, ..self.clone() }
    }
}

/// Number of values on the default grid, from consensus down to nearly independent nodes.
const GRID: usize = 17;
/// Decades that an open grid may grow by.
const DECADES_MORE: f64 = 4.0;
/// Wide enough for the top of a grid.
const TOP_WIDTH: f64 = 0.25;

/// Solves for every `lambda` of the grid (see [`lambda_grid`]), largest first, each warm-started from the one before. An
/// `open` grid goes on below its end, decade by decade, while the smallest value is the best, but not for ever.
#[allow(clippy::too_many_arguments)]
pub fn tune(
    problem: &mut Problem,
    train: &dyn Loss,
    validation: &dyn Loss,
    grid: &[f64],
    open: bool,
    rule: Rule,
    settings: &Settings,
    watch: &mut dyn FnMut(usize, &Record) -> Watch,
) -> Result<Tuning> {
    let mut start: Option<Start> = None;
    let mut grid = grid.to_vec();
    grid.sort_by(|a, b| b.total_cmp(a));
    let end = if open { grid.last().map_or(0.0, |last| last * 10f64.powf(-DECADES_MORE)) } else { f64::INFINITY };
    let mut tried: Vec<Tried> = Vec::with_capacity(grid.len());
    let mut stopped = false;
    loop {
        let k = tried.len();
        if k == grid.len() {
            match next_decade(&grid, end).filter(|_| choose(&tried, Rule::Minimum) + 1 == k) {
                Some(decade) => grid.extend(decade),
                None => break,
            }
        }
        let lambda = grid[k];
        problem.set_lambda(lambda)?;
        let solution = solve(problem, settings, start.take(), &mut |record| watch(k, record));
        start = Some(Start::from(&solution));
        let errors = |loss: &dyn Loss| Errors::of(loss, &solution.w);
        let converged = solution.status == Status::Converged;
        let (train, validation) = (errors(train), errors(validation));
        tried.push(Tried { lambda, train, validation, w: solution.w.clone(), converged });
        stopped = matches!(solution.status, Status::Interrupted | Status::TimeLimit);
        if stopped {
            break;
        }
    }
    // What was broken off says nothing, unless there is nothing else.
    if tried.len() > 1 && stopped {
        tried.pop();
    }
    let chosen = choose(&tried, rule);
    Ok(Tuning { tried, chosen })
}

/// [`tune`] on rows: errors are means of the losses of `spec` without ridge.
#[allow(clippy::too_many_arguments)]
pub fn tune_rows(
    problem: &mut Problem,
    spec: &LossSpec,
    train: &Dataset,
    validation: &Dataset,
    grid: &[f64],
    open: bool,
    rule: Rule,
    settings: &Settings,
    watch: &mut dyn FnMut(usize, &Record) -> Watch,
) -> Result<Tuning> {
    let bare = |rows: &Dataset| spec.build(rows.clone(), &LossOptions::default());
    tune(problem, &*bare(train)?, &*bare(validation)?, grid, open, rule, settings, watch)
}

/// The grid's next decade, at its own spacing; `None` below `end`.
fn next_decade(grid: &[f64], end: f64) -> Option<Vec<f64>> {
    let [.., before, last] = *grid else { return None };
    let ratio = last / before;
    let more = (-1.0 / ratio.log10()).round().max(1.0);
    let decade = (1..=more as i32).map(|k| last * ratio.powi(k));
    // The last decade allowed may end a rounding error below.
    (ratio > 0.0 && ratio < 1.0 && last * ratio.powf(more) >= 0.99 * end).then(|| decade.collect())
}

fn choose(tried: &[Tried], rule: Rule) -> usize {
    let error = |k: usize| tried[k].validation.mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY);
    let best = (0..tried.len()).fold(0, |b, k| if error(k) < error(b) { k } else { b });
    let not_clearly_worse = |k: &usize| {
        let difference = tried[*k].validation.minus(&tried[best].validation);
        difference.is_some_and(|(mean, error)| mean <= error)
    };
    match rule {
        Rule::Minimum => best,
        Rule::OneStandardError => (0..best).find(not_clearly_worse).unwrap_or(best),
    }
}

/// A geometric grid, largest first: for norms from the `lambda` at which all models of a component agree, over four decades; for
/// quadratic penalties, which never make models agree, seven decades around the curvature of the losses.
pub fn lambda_grid(problem: &mut Problem, watch: &mut dyn FnMut(&Record) -> Watch) -> Result<Vec<f64>> {
    if problem.graph().edges() == 0 {
        return Ok(vec![0.0]);
    }
    let (top, decades) = match lambda_max(problem, TOP_WIDTH, watch)?.filter(|b| b.above > 0.0) {
        Some(bracket) => (bracket.above, 4.0),
        None => (stiff_lambda(problem), 7.0),
    };
    Ok(geometric(top, 10f64.powf(-decades), GRID))
}

/// The top of the default grid of a penalty that never makes models agree.
pub fn stiff_lambda(problem: &Problem) -> f64 {
    1e3 * stiffness(problem)
}

/// Mean curvature of the losses per unit of mean weighted degree.
fn stiffness(problem: &Problem) -> f64 {
    let (n, zero) = (problem.nodes(), vec![0.0; problem.dim()]);
    let degree: f64 = (0..n).map(|i| problem.graph().weighted_degree(i)).sum();
    let curvature = match problem.loss().second_order() {
        Some(_) => mean_curvature(&Losses::of(problem.loss()), n, |_| &zero),
        None => 1.0,
    };
    let stiffness = curvature * n as f64 / degree;
    if stiffness > 0.0 && stiffness.is_finite() { stiffness } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(lambda: f64, errors: [f64; 3]) -> Tried {
        let errors = Errors { by_node: errors.map(Some).to_vec() };
        Tried { lambda, train: errors.clone(), validation: errors, w: Matrix::zeros(3, 1), converged: true }
    }

    #[test]
    fn the_one_standard_error_rule_takes_the_largest_lambda_that_is_not_clearly_worse() {
        let all = [tried(10.0, [9.0, 9.1, 9.2]), tried(1.0, [1.0, 2.5, 3.0]), tried(0.1, [1.2, 2.0, 3.0])];
        assert_eq!((choose(&all, Rule::Minimum), choose(&all, Rule::OneStandardError)), (2, 1));
    }

    #[test]
    fn a_decade_more_keeps_the_spacing() {
        let grid = geometric(10.0, 1e-4, 17);
        let more = next_decade(&grid, 1e-7).unwrap();
        assert_eq!(more.len(), 4);
        assert!((more[3] - 1e-4).abs() < 1e-15 && (more[0] - 1e-3 * 10f64.powf(-0.25)).abs() < 1e-15);
        assert_eq!((next_decade(&grid, 1e-3), next_decade(&[1.0], 0.0)), (None, None));
    }

    #[test]
    fn mean_and_standard_error_of_known_numbers() {
        let (mean, error) = mean_and_error([1.0, 2.0, 3.0].into_iter()).unwrap();
        assert_eq!((mean, error), (2.0, (1.0f64 / 3.0).sqrt()));
    }
}
