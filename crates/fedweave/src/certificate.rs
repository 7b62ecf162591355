//! A certificate, not a hope: a rigorous upper bound on `F(w) - min F`, and the residuals of the optimality conditions.
//!
//! For any flows `u`, weak duality and the definition of the conjugates give, with `v_i = -(D'u)_i`,
//!
//! ```text
//! F(w) - min F <= sum_i [ L_i(w_i) + L_i*(v_i) - v_i'w_i ] + sum_e [ lambda A_e phi(t_e) + (lambda A_e phi)*(u_e) - u_e't_e ]
//! ```
//!
//! where `t = D w`; every bracket is non-negative. [`Loss::fenchel_gap`] bounds the first kind by construction, so the
//! quality of the flows decides how small the bound is, never whether it holds. The flows of an iterate are usually much
//! worse than its models: before judging, they are corrected by a few semismooth Newton steps of the dual
//! ([`corrected`]), which also puts the flow out of a node into the row space of its data, and scaled back into the
//! domain of the conjugates.
//!
//! What rounding leaves outside the domain of `L_i*` is charged at [`RADIUS`] times the scale of `w`: the bound
//! holds if some minimiser is within that distance. It is not called a certificate unless that charge is negligible.

use crate::graph::partition::Partition;
use crate::loss::FenchelGap;
use crate::matrix::{Matrix, dot, norm2};
use crate::parallel::{ordered_fold, ordered_map, ordered_sum};
use crate::penalty::ROUNDING;
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::solve::newton::{EXACT, Losses, Newton};

#[cfg(doc)]
use crate::loss::Loss;

/// Some minimiser is assumed within this distance of `w`, in units of `1 + max_i |w_i|`; see the module's text.
pub const RADIUS: f64 = 1e3;
/// The largest share of the charge for rounding in a certificate, relative to `max(1, |F|)`.
const CHARGE_MAX: f64 = 1e-7;
/// Newton steps of one correction.
const CORRECTIONS_MAX: usize = 6;
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
    let (loss, d) = (problem.loss(), problem.dim());
    let scratch = Scratch::new(loss.work_len() + 3 * d);
    let stationarity = |i: usize| {
        let mut work = scratch.lock();
        let (flow, work) = work.split_at_mut(d);
        let (residual, work) = work.split_at_mut(d);
        if problem.lambda() > 0.0 {
            problem.divergence(u, i, flow)
        } else {
            flow.fill(0.0)
        }
        loss.residual(i, w.row(i), flow, residual, work);
        let size = norm2(residual);
        loss.gradient(i, w.row(i), residual);
        size / (1.0 + norm2(residual))
    };
    let stationarity = ordered_fold(problem.nodes(), 32 * d, 0.0, stationarity, nan_max);
    if problem.lambda() == 0.0 {
        return Kkt { stationarity, feasibility: 0.0, complementarity: 0.0 };
    }
    let (edges, weights) = (problem.graph().edges(), problem.edge_weights());
    let excess = |e: usize| problem.penalty().excess(e, weights[e], u.row(e));
    let feasibility = ordered_fold(edges, 4 * d, 0.0, excess, nan_max);
    let complementarity = ordered_sum(edges, 8 * d, |e| edge_gap(problem, w, u, e));
    // Flows outside the domain are already counted as infeasible.
    let complementarity = if complementarity.is_finite() { complementarity / objective.abs().max(1.0) } else { 0.0 };
    Kkt { stationarity, feasibility, complementarity }
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

/// The bound for given models and flows; `None` if the flows prove nothing.
pub fn bound(problem: &Problem, w: &Matrix, u: &Matrix, objective: f64) -> Option<f64> {
    bound_with(problem, w, u, objective, |i, w, v, work| problem.loss().fenchel_gap(i, w, v, work))
}

/// [`bound`] with another way to bound the brackets of the nodes.
pub fn bound_with(
    problem: &Problem,
    w: &Matrix,
    u: &Matrix,
    objective: f64,
    node_gap: impl Fn(usize, &[f64], &[f64], &mut [f64]) -> FenchelGap + Sync,
) -> Option<f64> {
    let (loss, d) = (problem.loss(), problem.dim());
    let scratch = Scratch::new(loss.work_len() + 4 * d);
    let fenchel = |i: usize| -> FenchelGap {
        let mut work = scratch.lock();
        let (v, work) = work.split_at_mut(d);
        if problem.lambda() > 0.0 {
            problem.divergence(u, i, v)
        } else {
            v.fill(0.0)
        }
        v.iter_mut().for_each(|v| *v = -*v);
        node_gap(i, w.row(i), v, work)
    };
    let gaps = ordered_map(problem.nodes(), fenchel);
    let radius = RADIUS * (1.0 + w.max_row_norm());
    let allowed = CHARGE_MAX * objective.abs().max(1.0);
    // Strong convexity from the data needs no radius, but eigenvalues: only if the radius is not good enough.
    let by_radius = radius * gaps.iter().map(|g| g.residue).sum::<f64>();
    let needs_convexity = by_radius > allowed && by_radius < 1e6 * allowed;
    let mu = |i: usize| if needs_convexity { loss.curvature(i).mu } else { 0.0 };
    let bounds = ordered_map(problem.nodes(), |i| (gaps[i].bound(mu(i), radius), mu(i)));
    let nodes: f64 = bounds.iter().map(|b| b.0).sum();
    let charge: f64 = gaps.iter().zip(&bounds).filter(|(_, b)| b.1 == 0.0).map(|(g, _)| g.residue * radius).sum();
    // A flow that a node has no use for at all is no rounding, however small it is: residues are measured by the flows of
    // the component and the data of the node.
    let components = Partition::components(problem.graph());
    let mut largest_flow = vec![0.0f64; components.len()];
    for e in (0..u.rows()).filter(|_| problem.lambda() > 0.0) {
        let c = components.part(problem.graph().nodes_of(e).0);
        largest_flow[c] = largest_flow[c].max(norm2(u.row(e)));
    }
    let made_of = |i: usize| -> f64 {
        let mut work = scratch.lock();
        let (zero, work) = work.split_at_mut(d);
        zero.fill(0.0);
        loss.gradient(i, zero, &mut work[..d]);
        largest_flow[components.part(i)] + norm2(&work[..d])
    };
    let honest = |i: usize| bounds[i].1 > 0.0 || gaps[i].residue <= RESIDUE_MAX * made_of(i);
    let edges = match problem.lambda() > 0.0 {
        true => ordered_sum(problem.graph().edges(), 8 * d, |e| edge_gap(problem, w, u, e)),
        false => 0.0,
    };
    // The objective itself carries the rounding of its sum.
    let rounding = 4.0 * f64::EPSILON * objective.abs();
    let gap = nodes + edges + rounding;
    (charge <= allowed && gap.is_finite() && (0..problem.nodes()).all(honest)).then_some(gap)
}

/// A point with better flows, by a few semismooth Newton steps from `w` on the augmented Lagrangian with multipliers `u`: the flow
/// out of a node ends up in the row space of its data (a Newton step `x` leaves `-H_i x_i` there). Edges are
/// made `stiff` compared to nodes: they take what is missing, soft ones would leave it to the nodes, who pay for it.
/// `products_max` limits the work.
pub fn corrected(
    problem: &Problem,
    w: &Matrix,
    u: &Matrix,
    sigma: f64,
    stiff: f64,
    products_max: usize,
) -> (Matrix, Matrix) {
    let terms = Losses(problem.loss());
    let (penalty, weights, graph) = (problem.penalty(), problem.edge_weights(), problem.graph());
    let mut newton = Newton::new(&terms, penalty, graph, weights, EXACT, w.clone(), u.clone(), sigma);
    let degree = 2.0 * graph.edges() as f64 / graph.nodes() as f64;
    newton.set_sigma(sigma.max(stiff * newton.curvature() / degree));
    // What is left of the gradient is charged by the radius: a tenth of what a certificate allows.
    let objective = problem.objective(w).abs().max(1.0);
    let charged = RADIUS * (1.0 + w.max_row_norm()) * (problem.nodes() as f64).sqrt();
    let wanted = 0.1 * CHARGE_MAX * objective / charged;
    newton.minimise_gradient(wanted, CORRECTIONS_MAX, products_max);
    let mut flows = newton.corrected_flow();
    shrink_into_domain(problem, &mut flows);
    (newton.w().clone(), flows)
}

/// Scales the flows of every component until all are in the domain; that keeps the flows out of nodes in the row spaces.
fn shrink_into_domain(problem: &Problem, flows: &mut Matrix) {
    let components = Partition::components(problem.graph());
    let mut excess = vec![0.0f64; components.len()];
    let component = |e: usize| components.part(problem.graph().nodes_of(e).0);
    for e in 0..flows.rows() {
        let worst = problem.penalty().excess(e, problem.edge_weights()[e], flows.row(e));
        excess[component(e)] = excess[component(e)].max(worst);
    }
    for e in 0..flows.rows() {
        let keep = 1.0 / (1.0 + excess[component(e)]);
        flows.row_mut(e).iter_mut().for_each(|u| *u *= keep);
    }
}
