//! A certificate: a rigorous upper bound on `F(w) - min F`, and the residuals of the optimality conditions.
//!
//! For any flows `u`, weak duality and the definition of the conjugates give, with `v_i = -(D'u)_i`,
//!
//! ```text
//! F(w) - min F <= sum_i [ L_i(w_i) + L_i*(v_i) - v_i'w_i ] + sum_e [ lambda A_e phi(t_e) + (lambda A_e phi)*(u_e) - u_e't_e ]
//! ```
//!
//! where `t = D w`; every bracket is non-negative. [`Loss::fenchel_gap`] bounds the first kind by construction, so the
//! quality of the flows decides how small the bound is, never whether it holds. The flows of an iterate are usually much
//! worse than its models: before judging, solvers correct them by a few semismooth Newton steps of the dual, which also
//! puts the flow out of a node into the row space of its data, and scale them back into the domain of the conjugates.
//!
//! What rounding leaves outside the domain of `L_i*` is charged at [`RADIUS`] times the scale of `w`: the bound
//! holds if some minimiser is within that distance. It is not called a certificate unless that charge is negligible.

use crate::loss::FenchelGap;
use crate::matrix::{Matrix, axpy, dot, norm2};
use crate::parallel::{for_blocks, ordered_fold, ordered_map, ordered_sum};
use crate::penalty::ROUNDING;
use crate::problem::Problem;
use crate::scratch::Scratch;

#[cfg(doc)]
use crate::loss::Loss;

/// Some minimiser is assumed within this distance of `w`, in units of `1 + max_i |w_i|`; see the module's text.
pub const RADIUS: f64 = 1e3;
/// The largest share of the charge for rounding in a certificate, relative to `max(1, |F|)`.
pub(crate) const CHARGE_MAX: f64 = 1e-7;
/// A residue is rounding, or what an iterative solver leaves, if it is this small against what it is made of.
const RESIDUE_MAX: f64 = 1e-6;

/// How well `(w, u)` satisfies the optimality conditions, each relative to its own scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kkt {
    /// Largest `|r_i| / (1 + |grad L_i(w_i)|)` with `r_i = grad L_i(w_i) + (D'u)_i`.
    pub stationarity: f64,
    /// Largest distance of `u_e` from the domain of its conjugate, relative to its size.
    pub feasibility: f64,
    /// `sum_e [lambda A_e phi + (lambda A_e phi)* - u_e't_e] / max(1, |F|)`.
    pub complementarity: f64,
}

impl Kkt {
    /// The largest of the three.
    pub fn residual(&self) -> f64 {
        self.stationarity.max(self.feasibility).max(self.complementarity)
    }
}

/// The residuals of the optimality conditions.
pub fn kkt(problem: &Problem, w: &Matrix, u: &Matrix, objective: f64) -> Kkt {
    Evidence::new(problem, w, u, objective).kkt()
}

/// The bound for given models and flows; `None` if the flows prove nothing.
pub fn bound(problem: &Problem, w: &Matrix, u: &Matrix, objective: f64) -> Option<f64> {
    Evidence::new(problem, w, u, objective).bound()
}

/// Models and flows, with what both residuals and bounds are made of.
pub struct Evidence<'a> {
    problem: &'a Problem,
    w: &'a Matrix,
    u: &'a Matrix,
    objective: f64,
    /// `D'u`.
    divergence: Matrix,
    /// The sum of the brackets of the edges.
    edges: f64,
}

impl<'a> Evidence<'a> {
    /// Looks at models `w` with objective `objective` and flows `u`.
    pub fn new(problem: &'a Problem, w: &'a Matrix, u: &'a Matrix, objective: f64) -> Self {
        let d = problem.dim();
        let mut divergence = Matrix::zeros(problem.nodes(), d);
        if problem.lambda() == 0.0 {
            return Evidence { problem, w, u, objective, divergence, edges: 0.0 };
        }
        for_blocks(divergence.as_mut_slice(), d, |start, rows| {
            rows.chunks_exact_mut(d).enumerate().for_each(|(k, row)| problem.divergence(u, start + k, row));
        });
        let edges = ordered_sum(problem.graph().edges(), 8 * d, |e| edge_gap(problem, w, u, e));
        Evidence { problem, w, u, objective, divergence, edges }
    }

    /// The residuals of the optimality conditions.
    pub fn kkt(&self) -> Kkt {
        let (problem, w, u) = (self.problem, self.w, self.u);
        let (loss, d) = (problem.loss(), problem.dim());
        let scratch = Scratch::new(loss.work_len() + 2 * d);
        // The residual is the gradient and what flows out.
        let differentiable = loss.has_hessian();
        let stationarity = |i: usize| {
            let mut work = scratch.lock();
            let (residual, work) = work.split_at_mut(d);
            loss.residual(i, w.row(i), self.divergence.row(i), residual, work);
            let size = norm2(residual);
            match differentiable {
                true => axpy(-1.0, self.divergence.row(i), residual),
                false => loss.gradient(i, w.row(i), residual),
            }
            size / (1.0 + norm2(residual))
        };
        let stationarity = ordered_fold(problem.nodes(), 2 * loss.cost(), 0.0, stationarity, nan_max);
        if problem.lambda() == 0.0 {
            return Kkt { stationarity, feasibility: 0.0, complementarity: 0.0 };
        }
        let (edges, weights) = (problem.graph().edges(), problem.edge_weights());
        let excess = |e: usize| problem.penalty().excess(e, weights[e], u.row(e));
        let feasibility = ordered_fold(edges, 4 * d, 0.0, excess, nan_max);
        // Flows outside the domain are already counted as infeasible.
        let complementarity = if self.edges.is_finite() { self.edges / self.objective.abs().max(1.0) } else { 0.0 };
        Kkt { stationarity, feasibility, complementarity }
    }

    /// The bound; `None` if the flows prove nothing.
    pub fn bound(&self) -> Option<f64> {
        self.bound_with(|i, w, v, work| self.problem.loss().fenchel_gap(i, w, v, work))
    }

    /// [`bound`](Evidence::bound) with another way to bound the brackets of the nodes.
    pub fn bound_with(&self, node_gap: impl Fn(usize, &[f64], &[f64], &mut [f64]) -> FenchelGap + Sync) -> Option<f64> {
        if !self.edges.is_finite() {
            return None;
        }
        let (problem, w) = (self.problem, self.w);
        let (loss, d) = (problem.loss(), problem.dim());
        let scratch = Scratch::new(loss.work_len() + 4 * d);
        let fenchel = |i: usize| -> FenchelGap {
            let mut work = scratch.lock();
            let (v, work) = work.split_at_mut(d);
            v.iter_mut().zip(self.divergence.row(i)).for_each(|(v, flow)| *v = -flow);
            node_gap(i, w.row(i), v, work)
        };
        let gaps = ordered_map(problem.nodes(), fenchel);
        let radius = RADIUS * (1.0 + w.max_row_norm());
        let allowed = CHARGE_MAX * self.objective.abs().max(1.0);
        // Strong convexity from the data needs no radius, but eigenvalues: only if the radius is not good enough.
        let by_radius = radius * gaps.iter().map(|g| g.residue).sum::<f64>();
        let needs_convexity = by_radius > allowed && by_radius < 1e6 * allowed;
        let mu = |i: usize| if needs_convexity { loss.curvature(i).mu } else { 0.0 };
        let bounds = ordered_map(problem.nodes(), |i| (gaps[i].bound(mu(i), radius), mu(i)));
        let nodes: f64 = bounds.iter().map(|b| b.0).sum();
        let charge: f64 = gaps.iter().zip(&bounds).filter(|(_, b)| b.1 == 0.0).map(|(g, _)| g.residue * radius).sum();
        // The objective itself carries the rounding of its sum.
        let gap = nodes + self.edges + 4.0 * f64::EPSILON * self.objective.abs();
        let residue = |i: usize| if bounds[i].1 > 0.0 { 0.0 } else { gaps[i].residue };
        (charge <= allowed && gap.is_finite() && self.is_rounding(residue)).then_some(gap)
    }

    /// A flow that a node has no use for at all is no rounding, however small it is: residues are measured by the flows of
    /// the component and the data of the node.
    fn is_rounding(&self, residue: impl Fn(usize) -> f64) -> bool {
        let (problem, d) = (self.problem, self.problem.dim());
        let components = problem.components();
        let mut largest_flow = vec![0.0f64; components.len()];
        for e in (0..self.u.rows()).filter(|_| problem.lambda() > 0.0) {
            let c = components.part(problem.graph().nodes_of(e).0);
            largest_flow[c] = largest_flow[c].max(norm2(self.u.row(e)));
        }
        let (zero, mut gradient) = (vec![0.0; d], vec![0.0; d]);
        let mut honest = |i: usize| {
            let (residue, flow) = (residue(i), largest_flow[components.part(i)]);
            residue <= RESIDUE_MAX * flow || {
                problem.loss().gradient(i, &zero, &mut gradient);
                residue <= RESIDUE_MAX * (flow + norm2(&gradient))
            }
        };
        (0..problem.nodes()).all(&mut honest)
    }
}

/// Like `f64::max`, but a NaN is not forgotten.
fn nan_max(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// `lambda A_e phi(t) + (lambda A_e phi)*(u) - u't` with `t = (D w)_e`.
fn edge_gap(problem: &Problem, w: &Matrix, u: &Matrix, edge: usize) -> f64 {
    let (penalty, weight, u) = (problem.penalty(), problem.edge_weights()[edge], u.row(edge));
    problem.with_difference(w, edge, |t| {
        let (paid, conjugate) = (weight * penalty.value(edge, t), penalty.conjugate(edge, weight, u));
        let terms: f64 = u.iter().zip(t).map(|(u, t)| (u * t).abs()).sum();
        // Also for a flow that is outside its ball by the rounding that `conjugate` forgives.
        (paid + conjugate - dot(u, t)).max(0.0) + (4.0 * f64::EPSILON + ROUNDING) * (paid + terms)
    })
}
