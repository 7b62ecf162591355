//! The augmented Lagrangian of `z = D w`, with the minimisation over `z` done:
//!
//! ```text
//! psi(w) = sum_i L_i(w_i) + (delta / 2) |w - center|^2 + sum_e max_v [ v't_e - (lambda A_e phi)*(v) - |v - u_e|^2 / (2 sigma) ]
//! ```
//!
//! with `t = D w`. The maximum is attained at `flow_e = prox*(y_e)`, `y = u + sigma t`, so the gradient is
//! `grad L + delta (w - center) + D' flow` and a generalised Hessian `H + delta + sigma D' J D`, `J` the Jacobian of `prox*`.

use super::terms::Terms;
use crate::graph::Graph;
use crate::graph::layout::Layout;
use crate::matrix::Matrix;
use crate::parallel::sum_over_blocks;
use crate::penalty::Penalty;
use crate::scratch::Scratch;

/// What does not change while `psi` is minimised.
pub struct Augmented<'a> {
    pub terms: &'a dyn Terms,
    pub penalty: &'a dyn Penalty,
    pub layout: Layout,
    /// `lambda A_e`.
    pub weight: &'a [f64],
    pub sigma: f64,
    /// Strength of the proximal term.
    pub delta: f64,
    /// Added to the Hessian only.
    pub damping: f64,
    pub scratch: Scratch,
}

/// `psi` at a point, with its gradient and all that its Hessian needs.
pub struct AugmentedPoint {
    pub w: Matrix,
    pub y: Matrix,
    pub flow: Matrix,
    pub gradient: Matrix,
    pub value: f64,
}

impl AugmentedPoint {
    pub fn new(w: Matrix, edges: usize) -> Self {
        let (n, d) = (w.rows(), w.cols());
        let (y, flow) = (Matrix::zeros(edges, d), Matrix::zeros(edges, d));
        AugmentedPoint { w, y, flow, gradient: Matrix::zeros(n, d), value: f64::INFINITY }
    }
}

impl<'a> Augmented<'a> {
    pub fn new(terms: &'a dyn Terms, penalty: &'a dyn Penalty, graph: &Graph, weight: &'a [f64]) -> Self {
        let layout = Layout::in_order(graph);
        let scratch = Scratch::new(terms.work_len().max(4 * terms.dim()) + 2 * terms.dim());
        Augmented { terms, penalty, layout, weight, sigma: 1.0, delta: 0.0, damping: 0.0, scratch }
    }

    /// `sigma` times the mean eigenvalue of the Jacobian of an edge.
    pub fn stiffness(&self, point: &AugmentedPoint, e: usize) -> f64 {
        self.sigma * self.penalty.stiffness(self.layout.edge[e] as usize, self.weight[e], self.sigma, point.y.row(e))
    }

    /// Fills in everything that belongs to `point.w`.
    pub fn evaluate(&self, point: &mut AugmentedPoint, u: &Matrix, center: &Matrix) {
        let paid = self.evaluate_edges(&point.w, u, &mut point.y, &mut point.flow);
        point.value = paid + self.evaluate_nodes(&point.w, center, &point.flow, &mut point.gradient);
    }

    fn evaluate_edges(&self, w: &Matrix, u: &Matrix, y: &mut Matrix, flow: &mut Matrix) -> f64 {
        let (d, sigma) = (self.terms.dim(), self.sigma);
        sum_over_blocks([y.as_mut_slice(), flow.as_mut_slice()], d, d, |start, [y, flow]| {
            let places = start..start + y.len() / d;
            let u = &u.as_slice()[places.start * d..places.end * d];
            y.copy_from_slice(u);
            self.layout.add_differences(start, sigma, w, y);
            flow.copy_from_slice(y);
            let (edges, weight) = (&self.layout.edge[places.clone()], &self.weight[places]);
            self.penalty.prox_conjugate_rows(edges, weight, sigma, flow, &mut self.scratch.lock());
            let mut sum = 0.0;
            for k in 0..y.len() {
                let moved = flow[k] - u[k];
                sum += flow[k] * (y[k] - u[k]) - 0.5 * moved * moved;
            }
            sum / sigma - self.conjugates(edges, weight, flow)
        })
    }

    fn conjugates(&self, edges: &[u32], weight: &[f64], flow: &[f64]) -> f64 {
        if self.penalty.is_norm() {
            return 0.0;
        }
        let rows = flow.chunks_exact(self.terms.dim());
        edges.iter().zip(weight).zip(rows).map(|((&e, &a), u)| self.penalty.conjugate(e as usize, a, u)).sum()
    }

    fn evaluate_nodes(&self, w: &Matrix, center: &Matrix, flow: &Matrix, gradient: &mut Matrix) -> f64 {
        let (d, delta) = (self.terms.dim(), self.delta);
        sum_over_blocks([gradient.as_mut_slice()], d, d + self.terms.cost(), |start, [gradient]| {
            let mut sum = 0.0;
            for (k, g) in gradient.chunks_exact_mut(d).enumerate() {
                let place = start + k;
                sum += self.terms.value_and_gradient(place, w.row(place), g);
                for ((g, w), c) in g.iter_mut().zip(w.row(place)).zip(center.row(place)) {
                    *g += delta * (w - c);
                    sum += 0.5 * delta * (w - c) * (w - c);
                }
            }
            self.layout.add_divergence(start, |_| 1.0, flow, gradient);
            sum
        })
    }
}
