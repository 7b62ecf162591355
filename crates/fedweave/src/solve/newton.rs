//! Augmented Lagrangian with a semismooth Newton method inside: few, expensive, very accurate steps.
//!
//! An outer round minimises `psi` (see [`augmented`]) over `w` and takes the flows it finds as the new multipliers `u`. That is
//! the proximal point method on the dual problem with step `sigma`: the larger `sigma`, the fewer rounds, and the harder
//! their linear systems.

mod augmented;
mod coupling;
mod direct;
mod fusion;
mod judged;
mod routing;
mod softened;
mod system;
mod terms;
mod wide;

use crate::graph::Graph;
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::ordered_sum;
use crate::penalty::Penalty;
use augmented::{Augmented, AugmentedPoint};
pub use fusion::{FusionEffort, averaged, minimise_fused};
pub use judged::run;
pub use routing::routed;
pub use softened::run as run_softened;
use system::System;
pub use terms::{Losses, Terms, mean_curvature};

/// The state of the method. Places are nodes and edges of the graph.
pub struct Newton<'a> {
    a: Augmented<'a>,
    system: System<'a>,
    at: AugmentedPoint,
    trial: AugmentedPoint,
    /// Multipliers.
    u: Matrix,
    /// Center of the proximal term.
    center: Matrix,
    steps: usize,
    evaluations: usize,
    /// Mean curvature of the losses.
    curvature: f64,
    /// Residuals of the linear systems relative to their right-hand sides, at most.
    reduction: f64,
}

/// Most products with the matrix for one Newton step.
const PRODUCTS_MAX: usize = 500;
/// Residuals of the linear systems relative to their right-hand sides, at most.
const REDUCTION: f64 = 0.1;
/// Share of the predicted decrease that a step must bring.
const ARMIJO: f64 = 1e-4;
const LENGTH_MIN: f64 = 1e-5;
/// The first damping of a step that failed, relative to the mean curvature, and how often it is raised.
const DAMPING: f64 = 1e-8;
const DAMPINGS_MAX: usize = 6;
/// Changes of the value below this, relatively, are rounding.
const ROUNDING: f64 = 1e-15;

impl<'a> Newton<'a> {
    /// Starts from models `w` and multipliers `u`; `weight` is `lambda A_e`. A factorisation is considered if it costs at most
    /// `worth` products. The strength of the proximal term, for losses that are not strongly convex, is relative to their mean
    /// curvature.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        terms: &'a dyn Terms,
        penalty: &'a dyn Penalty,
        graph: &'a Graph,
        weight: &'a [f64],
        worth: f64,
        w: Matrix,
        u: Matrix,
        sigma: f64,
        proximal: f64,
    ) -> Self {
        let mut a = Augmented::new(terms, penalty, graph, weight);
        let curvature = mean_curvature(terms, graph.nodes(), |i| w.row(i));
        (a.sigma, a.delta) = (sigma, proximal * curvature);
        let system = System::new(&a, graph, worth, curvature);
        let trial = AugmentedPoint::new(w.clone(), weight.len());
        let (center, at) = (w.clone(), AugmentedPoint::new(w, weight.len()));
        let mut newton =
            Newton { a, system, at, trial, u, center, steps: 0, evaluations: 0, curvature, reduction: REDUCTION };
        newton.a.evaluate(&mut newton.at, &newton.u, &newton.center);
        newton
    }

    /// Models.
    pub fn w(&self) -> &Matrix {
        &self.at.w
    }

    /// Flows: the multipliers of the next round, in the domain of the conjugates.
    pub fn flow(&self) -> &Matrix {
        &self.at.flow
    }

    /// Edges whose flow is strictly inside the domain: their ends are fused.
    pub fn fused(&self) -> Vec<bool> {
        (0..self.u.rows()).map(|e| self.at.flow.row(e) == self.at.y.row(e)).collect()
    }

    /// The step of the dual.
    pub fn sigma(&self) -> f64 {
        self.a.sigma
    }

    /// How linear systems are solved, in words.
    pub fn linear_solver(&self) -> String {
        self.system.describe()
    }

    /// Newton steps and products with their matrices so far.
    pub fn work(&self) -> (usize, usize) {
        (self.steps, self.system.products)
    }

    fn gradient_norm(&self) -> f64 {
        norm(&self.at.gradient)
    }

    /// `|flow - u|`, how far the multipliers want to move.
    fn moved(&self) -> f64 {
        let (f, u) = (&self.at.flow, &self.u);
        let distance2 = |e: usize| f.row(e).iter().zip(u.row(e)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        ordered_sum(f.rows(), f.cols(), distance2).sqrt()
    }

    /// One Newton step. Returns the decrease that it promised, zero where rounding ends all progress. Where the matrix is
    /// nearly singular its step leads nowhere; damping, more and more, makes it a step along the gradient.
    fn step(&mut self, reduction: f64) -> f64 {
        self.steps += 1;
        for _ in 0..DAMPINGS_MAX {
            if let Some(promised) = self.try_step(reduction) {
                self.a.damping = if self.a.damping > self.curvature * DAMPING { 0.1 * self.a.damping } else { 0.0 };
                return promised;
            }
            self.a.damping = (100.0 * self.a.damping).max(DAMPING * self.curvature);
        }
        0.0
    }

    /// A step with backtracking; `None` if it leads nowhere.
    fn try_step(&mut self, reduction: f64) -> Option<f64> {
        self.system.set(&self.a, &self.at);
        self.system.solve(&self.a, &self.at, reduction, PRODUCTS_MAX);
        let slope = inner(&self.at.gradient, &self.system.x);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let (before, rounding) = (self.gradient_norm(), ROUNDING * self.at.value.abs());
        let mut length = 1.0;
        while length > LENGTH_MIN {
            self.trial.w.as_mut_slice().copy_from_slice(self.at.w.as_slice());
            axpy(length, self.system.x.as_slice(), self.trial.w.as_mut_slice());
            self.evaluations += 1;
            self.a.evaluate(&mut self.trial, &self.u, &self.center);
            let decrease = self.at.value - self.trial.value;
            if decrease >= -ARMIJO * length * slope - rounding {
                // So near the minimum that rounding hides the decrease, the gradient decides.
                let better = decrease > rounding || norm(&self.trial.gradient) < 0.5 * before;
                if better || decrease >= 0.0 {
                    std::mem::swap(&mut self.at, &mut self.trial);
                }
                return Some(if better { -0.5 * slope } else { 0.0 });
            }
            length *= 0.5;
        }
        None
    }

    /// Newton steps until one promises a decrease of at most `decrease_min`, or the next would be beyond so many steps or so
    /// many products with the matrix and evaluations.
    pub fn minimise_to(&mut self, decrease_min: f64, steps_max: usize, work_max: usize) {
        for _ in 0..steps_max {
            let work = self.evaluations + self.system.products;
            if self.gradient_norm() == 0.0 || work >= work_max || self.step(REDUCTION) <= decrease_min {
                break;
            }
        }
    }

    /// Newton steps until the gradient is small against the way that the multipliers want to move (or `floor`): the
    /// accuracy that the round deserves. `go_on` is asked before every step. False if there were too few steps for that.
    pub fn minimise(&mut self, floor: f64, steps_max: usize, go_on: &mut dyn FnMut() -> bool) -> bool {
        for _ in 0..steps_max {
            let g = self.gradient_norm();
            let deserved = 0.3 * (self.curvature / self.a.sigma).sqrt() * self.moved();
            if g <= deserved.max(floor) || !go_on() || self.step(self.reduction.min(g.sqrt())) == 0.0 {
                return true;
            }
        }
        false
    }

    /// Newton steps as long as they bring anything.
    pub fn minimise_steps(&mut self, steps_max: usize, go_on: &mut dyn FnMut() -> bool) {
        for _ in 0..steps_max {
            if self.gradient_norm() == 0.0 || !go_on() || self.step(1e-3) == 0.0 {
                break;
            }
        }
    }

    /// Newton steps until the gradient is `wanted`. Full steps: near the minimum the gradient is a better guide than the value.
    pub fn minimise_gradient(&mut self, wanted: f64, steps_max: usize, products_max: usize) {
        let budget = self.system.products.saturating_add(products_max);
        for _ in 0..steps_max {
            let size = self.gradient_norm();
            let left = budget.saturating_sub(self.system.products);
            if size <= wanted || left == 0 || !size.is_finite() {
                return;
            }
            self.steps += 1;
            self.system.set(&self.a, &self.at);
            self.system.solve(&self.a, &self.at, (wanted / size).max(1e-15), left);
            self.trial.w.as_mut_slice().copy_from_slice(self.at.w.as_slice());
            axpy(1.0, self.system.x.as_slice(), self.trial.w.as_mut_slice());
            self.a.evaluate(&mut self.trial, &self.u, &self.center);
            let reached = norm(&self.trial.gradient);
            if reached.is_nan() || reached >= size {
                return;
            }
            std::mem::swap(&mut self.at, &mut self.trial);
            self.system.forget();
        }
    }

    /// The flows after one more linear step: those of the last one that was tried and not taken.
    pub fn corrected_flow(&self) -> Matrix {
        let mut flow = self.system.flow_of_solution(&self.a, &self.at);
        axpy(1.0, self.at.flow.as_slice(), flow.as_mut_slice());
        flow
    }

    /// Changes the step.
    pub fn set_sigma(&mut self, sigma: f64) {
        self.a.sigma = sigma;
        self.a.evaluate(&mut self.at, &self.u, &self.center);
    }

    /// Takes the flows as multipliers, with a new step.
    pub fn update(&mut self, sigma: f64) {
        self.u.as_mut_slice().copy_from_slice(self.at.flow.as_slice());
        self.center.as_mut_slice().copy_from_slice(self.at.w.as_slice());
        self.set_sigma(sigma);
    }

    /// How exactly linear systems are to be solved.
    pub fn set_reduction(&mut self, reduction: f64) {
        self.reduction = reduction;
    }

    /// Mean curvature of the losses.
    pub fn curvature(&self) -> f64 {
        self.curvature
    }
}

fn inner(a: &Matrix, b: &Matrix) -> f64 {
    ordered_sum(a.rows(), a.cols(), |i| dot(a.row(i), b.row(i)))
}

fn norm(a: &Matrix) -> f64 {
    inner(a, a).sqrt()
}
