//! Federated gradient descent (Algorithm 5.1 of the book), for any differentiable loss and smooth penalty:
//!
//! ```text
//! w_i+ = P( w_i - eta * ( grad L_i(w_i) + sum_j grad (lambda A_ij phi)(w_i - w_j) ) )
//! ```
//!
//! with `P` the projection onto a [`Constraint`], where there is one (projected gradient descent, section 4.6). The default
//! step is `1 / (max_i beta_i + 4 lambda d_max)`. Where a loss has no smoothness constant (Poisson) the step is found by
//! backtracking on the objective: it halves until `F(w+) <= F(w) + g'(w+ - w) + |w+ - w|^2 / (2 eta)`, which holds for every
//! step that is short enough, and grows a little after every round.

use super::descent::{GradientRound, check_smooth, check_step, exchange_models, safe_step};
use super::method::Method;
use super::projected::Constraint;
use crate::accounting::{Traffic, work};
use crate::error::Result;
use crate::matrix::{Matrix, norm2};
use crate::parallel::ordered_sum;
use crate::problem::Problem;

/// First step of a backtracking search, and its growth after a round.
const FIRST: f64 = 1.0;
const GROWTH: f64 = 1.25;
/// Halvings of one round.
const HALVINGS_MAX: usize = 200;

/// Synchronous gradient descent over the edges of the graph.
pub struct FedGd<'p> {
    at: GradientRound<&'p Problem>,
    constraint: Option<Constraint>,
    /// The step of the last round.
    moved_by: f64,
    backtracks: bool,
    traffic: Traffic,
}

impl<'p> FedGd<'p> {
    /// Starts at zero, with the given step or one that never diverges.
    pub fn new(problem: &'p Problem, step: Option<f64>) -> Result<Self> {
        check_smooth(problem, "fedgd")?;
        let safe = match step {
            Some(step) => Some(check_step(step)?),
            None => safe_step(problem),
        };
        let (step, backtracks) = (safe.unwrap_or(FIRST), safe.is_none());
        let (at, traffic) = (GradientRound::new(problem, step), Traffic::new(problem.nodes()));
        Ok(FedGd { at, constraint: None, moved_by: step, backtracks, traffic })
    }

    /// The same with every model kept in a convex set.
    pub fn projected(problem: &'p Problem, step: Option<f64>, constraint: Constraint) -> Result<Self> {
        check_smooth(problem, "projected-gradient")?;
        constraint.check()?;
        let method = FedGd { constraint: Some(constraint), ..FedGd::new(problem, step)? };
        // Zero may be outside the set.
        Ok(method.starting_at(&Matrix::zeros(problem.nodes(), problem.dim())))
    }

    /// The same from other models (or the nearest that the constraint allows). Panics if their shape is another one.
    pub fn starting_at(mut self, w: &Matrix) -> Self {
        self.at.w.copy_from(w);
        if let Some(constraint) = &self.constraint {
            self.at.w.as_mut_slice().chunks_exact_mut(w.cols()).for_each(|row| constraint.project(row));
        }
        self
    }

    /// The step of the next round; the first to be tried, where it is searched for.
    pub fn step(&self) -> f64 {
        self.at.step
    }

    fn move_by(&mut self, step: f64) {
        self.moved_by = step;
        self.traffic.compute(2.0 * self.at.w.as_slice().len() as f64);
        match &self.constraint {
            None => self.at.move_by(step, |_| ()),
            Some(constraint) => self.at.move_by(step, |row| constraint.project(row)),
        }
    }

    /// Every trial sends the models to the neighbours, who need them to know the penalty, and each node's share of the
    /// objective (one number) to whoever adds them up.
    fn search(&mut self) {
        let (problem, n, d) = (self.at.problem, self.at.problem.nodes(), self.at.problem.dim());
        let before = problem.objective(&self.at.w);
        let rounding = 4.0 * f64::EPSILON * (1.0 + before.abs());
        for _ in 0..HALVINGS_MAX {
            self.move_by(self.at.step);
            let after = problem.objective(&self.at.next);
            self.traffic.compute(work::of_all(problem.loss(), work::value) + work::coupling(problem));
            (0..n).for_each(|i| self.traffic.send(i, 1, 1));
            let (at, half) = (&self.at, 0.5 / self.at.step);
            let allowed = ordered_sum(n, 4 * d, |i| {
                let ends = at.w.row(i).iter().zip(at.next.row(i)).zip(at.gradient.row(i));
                ends.map(|((w, next), g)| (next - w) * (g + half * (next - w))).sum()
            });
            if after <= before + allowed + rounding {
                self.at.step *= GROWTH;
                return;
            }
            self.at.step *= 0.5;
            exchange_models(problem, &mut self.traffic);
        }
        self.at.next.copy_from(&self.at.w);
    }
}

impl Method for FedGd<'_> {
    fn name(&self) -> &'static str {
        if self.constraint.is_some() { "projected-gradient" } else { "fedgd" }
    }

    fn round(&mut self) {
        let loss = self.at.problem.loss();
        exchange_models(self.at.problem, &mut self.traffic);
        self.at.compute_gradient(|loss, i, w, out| loss.gradient(i, w, out));
        self.traffic.compute(work::coupling(self.at.problem) + work::of_all(loss, work::gradient));
        match self.backtracks {
            true => self.search(),
            false => self.move_by(self.at.step),
        }
        self.at.accept();
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.at.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// With a constraint: the largest `|w_i+ - w_i| / (eta (1 + |grad F_i|))`.
    fn fixed_point_residual(&self) -> Option<f64> {
        self.constraint.as_ref()?;
        if self.traffic.rounds() == 0 {
            return Some(f64::INFINITY);
        }
        let moved = |i: usize| {
            let both = self.at.w.row(i).iter().zip(self.at.next.row(i));
            let distance = both.map(|(new, old)| (new - old) * (new - old)).sum::<f64>().sqrt();
            distance / (self.moved_by * (1.0 + norm2(self.at.gradient.row(i))))
        };
        Some((0..self.at.w.rows()).map(moved).fold(0.0, f64::max))
    }
}
