//! Flows of an iterate are usually much worse than its models. Before a bound is computed they are corrected.

use crate::certificate::{CHARGE_MAX, RADIUS};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::newton::{Losses, Newton};
use crate::solve::tuning::CORRECTION_FACTOR_WORTH;

/// Newton steps of one correction.
const CORRECTIONS_MAX: usize = 6;

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
    let terms = Losses::of(problem.loss());
    let (penalty, weights, graph) = (problem.penalty(), problem.edge_weights(), problem.graph());
    let mut newton =
        Newton::new(&terms, penalty, graph, weights, CORRECTION_FACTOR_WORTH, w.clone(), u.clone(), sigma, 0.0);
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
    let components = problem.components();
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
