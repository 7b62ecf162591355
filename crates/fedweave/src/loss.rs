//! `sum_i L_i(w_i)`: what each node wants of its own parameters.
//!
//! One value of a [`Loss`] holds the data of ALL nodes, contiguously. `L_i` is the weighted mean over the rows of node
//! `i` of a pointwise loss, plus the ridge; a node without rows has `L_i = 0`.

mod absolute;
mod confusion;
mod family;
mod huber;
mod kinked;
mod kinks;
mod lasso;
mod link;
mod logistic;
mod mixed;
mod multinomial;
mod newton;
mod point;
mod poisson;
mod quantile;
mod rows;
mod second_order;
mod smooth;
mod soft_kink;
mod softening;
mod squared;
mod squared_hinge;
mod tilted;
mod with_form;

use crate::matrix::{axpy, dot, norm2};

pub use absolute::absolute;
pub use confusion::Confusion;
pub use family::{Family, LossOptions, LossSpec, NodeWeight};
pub use huber::Huber;
pub use kinked::Kinked;
pub use kinks::{Kink, Kinks};
pub use lasso::Lasso;
pub use link::{Link, Prediction};
pub use logistic::Logistic;
pub use mixed::Mixed;
pub use multinomial::Multinomial;
pub use point::Point;
pub use poisson::Poisson;
pub use quantile::quantile;
pub use rows::LossRows;
pub use second_order::SecondOrder;
pub use smooth::{Pointwise, Smooth};
use soft_kink::SoftKink;
pub use softening::Softening;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;
pub use tilted::Tilted;
pub(crate) use with_form::WithForm;

/// Bounds on the second derivative of `L_i`: `mu |v|^2 <= v' L_i'' v <= beta |v|^2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curvature {
    /// Strong convexity `mu_i`; 0 if there is none.
    pub mu: f64,
    /// Smoothness `beta_i`; infinite if the gradient is not Lipschitz.
    pub beta: f64,
}

/// An upper bound on `L_i(w) + L_i*(v) - v'w`: at most `gap + residue * R` when the supremum in `L_i*` is
/// taken over `|x - w| <= R` only. The residue is what rounding leaves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FenchelGap {
    /// The part that needs no radius.
    pub gap: f64,
    /// `|rho|`, the distance of `v` from a point `g` at which `L_i*` is known.
    pub residue: f64,
    /// `rho'(z - w)`: with strong convexity `mu`, `slope + residue^2 / (2 mu)` replaces `residue * R`.
    pub slope: f64,
}

impl FenchelGap {
    /// The bound, by strong convexity `mu` if that is positive, else by the radius.
    pub fn bound(&self, mu: f64, radius: f64) -> f64 {
        let rest = match mu > 0.0 {
            true => self.slope + self.residue * self.residue / (2.0 * mu),
            false => self.residue * radius,
        };
        positive_part(self.gap + rest)
    }
}

/// `max(x, 0)`, but a NaN, which proves nothing, is infinite.
fn positive_part(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.max(0.0) }
}

/// Rounds of the proximal point method that minimises a tilted loss; a polyhedral one ends after a few.
const PROXIMAL_ROUNDS: usize = 12;

/// Factors of `(L_i'' + I / tau_i)` of all nodes, computed once and used in every iteration.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// Start of the factor of each place in `factors`.
    pub offsets: Vec<usize>,
    /// All factors, one after another.
    pub factors: Vec<f64>,
}

/// The local loss functions of all nodes.
///
/// An implementer says eight things: how many nodes, parameters and rows there are, the curvature, the value, the gradient (also
/// of a batch of rows) and the proximal step. All else follows from these and may be replaced by something faster;
/// [`second_order`](Loss::second_order) and [`softening`](Loss::softening) open the way to Newton's method.
///
/// ```
/// use fedweave::{Dataset, Matrix};
/// use fedweave::loss::{Family, Loss, LossOptions};
/// // One node with the rows (x, y) = (1, 2) and (2, 4): the loss of w = 2 is zero.
/// let x = Matrix::from_rows(1, vec![1.0, 2.0]);
/// let data = Dataset::new(vec![0, 2], x, vec![2.0, 4.0], vec![1.0; 2]).unwrap();
/// let loss = Family::Squared.build(data, &LossOptions::default()).unwrap();
/// assert_eq!(loss.value(0, &[2.0]), 0.0);
/// ```
pub trait Loss: Send + Sync {
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Number of parameters of a node.
    fn dim(&self) -> usize;
    /// Number of rows of a node, also of those with weight zero.
    fn row_count(&self, node: usize) -> usize;
    /// False for a node without rows (or whose rows have no weight), whose loss is zero.
    fn has_rows(&self, node: usize) -> bool {
        self.row_count(node) > 0
    }
    /// Entries of scratch space the other functions may need.
    fn work_len(&self) -> usize {
        8 * self.dim()
    }
    /// What a gradient of a node costs on average, in numbers read: decides whether a loop is worth several threads.
    fn cost(&self) -> usize {
        4 * self.dim()
    }
    /// Strong convexity and smoothness of `L_i`.
    fn curvature(&self, node: usize) -> Curvature;
    /// `L_i(w)`.
    fn value(&self, node: usize, w: &[f64]) -> f64;
    /// What is told as the error of `w`: never negative, unlike a likelihood without its constant.
    fn error(&self, node: usize, w: &[f64]) -> f64 {
        self.value(node, w)
    }
    /// A (sub)gradient of `L_i` at `w`.
    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]);
    /// `out <-` the gradient as rows `batch` of the node (counted from 0) suggest it: their part of it, scaled up from
    /// `|batch|` rows to all, and the ridge. Its mean over random batches is the gradient.
    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]);
    /// `L_i(w)`; `out` gets the gradient.
    fn value_and_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        self.gradient(node, w, out);
        self.value(node, w)
    }
    /// `w <- argmin_z L_i(z) + |z - w|^2 / (2 tau)`.
    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]);

    /// Does the work that all proximal steps share: step `tau[p]` at `nodes[p]`, for every place `p`.
    fn prepare(&self, _nodes: &[u32], _tau: &[f64]) -> Prepared {
        Prepared::default()
    }

    /// [`prox`](Loss::prox) on the nodes at consecutive places from `start`, one row each; where `tau = 0`, rows are
    /// left alone.
    fn prox_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        _prepared: &Prepared,
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        for (k, row) in rows.chunks_exact_mut(self.dim()).enumerate() {
            if tau[start + k] > 0.0 {
                self.prox(nodes[k] as usize, tau[start + k], row, work);
            }
        }
    }

    /// Like [`prepare`](Loss::prepare), for [`majorised_rows`](Loss::majorised_rows).
    fn prepare_majorised(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        self.prepare(nodes, tau)
    }
    /// [`prox_rows`](Loss::prox_rows) of a quadratic that touches the loss at `old` and lies above it, which costs one
    /// gradient; the proximal step itself where no such quadratic is known.
    #[allow(clippy::too_many_arguments)]
    fn majorised_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        prepared: &Prepared,
        _old: &[f64],
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        self.prox_rows(start, nodes, tau, prepared, rows, work);
    }

    /// Hessians, for Newton's method; without them only proximal steps and gradients are used.
    fn second_order(&self) -> Option<&dyn SecondOrder> {
        None
    }
    /// For losses with kinks: the same made smooth, for Newton's method.
    fn softening(&self) -> Option<&dyn Softening> {
        None
    }
    /// For losses with kinks: what an interior-point method sees of them.
    fn kinks(&self) -> Option<&dyn Kinks> {
        None
    }
    /// The strength of `|w_j|` in it for every parameter, if there is one: models may have exact zeros.
    fn lasso(&self) -> Option<&[f64]> {
        None
    }
    /// False for losses with kinks, and where no Hessian is known.
    fn has_hessian(&self) -> bool {
        self.second_order().is_some_and(|second| !second.has_kinks())
    }
    /// True if all Hessians are constant.
    fn is_quadratic(&self) -> bool {
        self.second_order().is_some_and(|second| second.is_constant())
    }

    /// Moves `z` towards `argmin_z L_i(z) - v'z`, the point at which `L_i*(v)` is attained: by the proximal point method with
    /// growing steps, where nothing better is known.
    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        let (before, work) = work.split_at_mut(z.len());
        let mut tau = 1.0;
        for _ in 0..PROXIMAL_ROUNDS {
            before.copy_from_slice(z);
            axpy(tau, v, z);
            self.prox(node, tau, z, work);
            axpy(-1.0, z, before);
            if norm2(before) <= 1e-14 * norm2(z) {
                return;
            }
            tau *= 4.0;
        }
    }

    /// `L_i(w) - L_i(z) - grad L_i(z)'(w - z)`.
    fn bregman(&self, node: usize, w: &[f64], z: &[f64], gradient_z: &[f64]) -> f64 {
        let along: f64 = w.iter().zip(z).zip(gradient_z).map(|((w, z), g)| g * (w - z)).sum();
        self.value(node, w) - self.value(node, z) - along
    }

    /// Bounds `L_i(w) + L_i*(v) - v'w` from above. For ANY `z` with gradient `g` and `rho = v - g`, Fenchel's equality
    /// `L*(g) = g'z - L(z)` gives
    ///
    /// ```text
    /// L(w) + L*(v) - v'w  <=  bregman(w, z) + rho'(x - w),      |x - w| <= R,
    ///                     <=  bregman(w, z) - rho'(w - z) + |rho|^2 / (2 mu)   if L is mu-strongly convex,
    /// ```
    ///
    /// so the bound is rigorous however well `z` was found.
    fn fenchel_gap(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        self.fenchel_gap_by_newton(node, w, v, work)
    }

    /// [`fenchel_gap`](Loss::fenchel_gap) with the `z` that [`minimise_tilted`](Loss::minimise_tilted) finds.
    fn fenchel_gap_by_newton(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        let d = self.dim();
        let (z, rest) = work.split_at_mut(d);
        let (gradient, rest) = rest.split_at_mut(d);
        z.copy_from_slice(w);
        self.minimise_tilted(node, v, z, rest);
        self.gradient(node, z, gradient);
        // A far-away z makes the terms of the divergence large: their rounding belongs to the bound.
        let terms = self.value(node, w).abs() + self.value(node, z).abs() + norm2(gradient) * (norm2(w) + norm2(z));
        let bregman = positive_part(self.bregman(node, w, z, gradient)) + 8.0 * f64::EPSILON * terms;
        let rho = rest[..d].iter_mut().zip(v).zip(gradient.iter());
        rho.for_each(|((r, v), g)| *r = v - g);
        let rho = &rest[..d];
        FenchelGap { gap: bregman, residue: norm2(rho), slope: dot(rho, z) - dot(rho, w) }
    }

    /// How far `w` is from solving `0 in dL_i(w) + flow`, as a vector in the units of a gradient.
    fn residual(&self, node: usize, w: &[f64], flow: &[f64], out: &mut [f64], _work: &mut [f64]) {
        self.gradient(node, w, out);
        out.iter_mut().zip(flow).for_each(|(r, f)| *r += f);
    }
}
