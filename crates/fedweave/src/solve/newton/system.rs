//! The Newton system `(H + delta + sigma D' J D) x = -gradient` of an augmented Lagrangian: by a sparse factor where that is
//! cheap, otherwise by conjugate gradients preconditioned with the diagonal blocks or, where edges are stiffer than nodes,
//! with the whole network seen from far away.

use super::augmented::{Augmented, AugmentedPoint};
use super::coupling::Coupling;
use super::direct::Direct;
use crate::graph::Graph;
use crate::linalg::cholesky::{self, INVERSE_MAX, packed_len};
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::{arena, for_blocks, for_pieces, sum_over_blocks};
use crate::solve::tuning::COUPLED_STIFFNESS;

/// `out <- (H + shift)^-1`, all entries.
fn invert(a: &Augmented, place: usize, hessian: &[f64], shift: f64, out: &mut [f64]) {
    let (d, mut work) = (a.terms.dim(), a.scratch.lock());
    let mut few = [0.0; packed_len(INVERSE_MAX)];
    let packed = &mut few[..packed_len(d)];
    a.terms.add_hessian(place, hessian, packed);
    cholesky::shifted_inverse(packed, d, shift, out, &mut work[..d]);
}

/// Hessians and factors of their diagonal blocks, one piece per place.
pub struct System<'a> {
    direct: Option<Direct<'a>>,
    hessian_at: Vec<usize>,
    hessian: Vec<f64>,
    factor_at: Vec<usize>,
    factor: Vec<f64>,
    shift: Vec<f64>,
    fresh: bool,
    graph: &'a Graph,
    worth: f64,
    curvature: f64,
    coupling: Planned<Coupling<'a>>,
    /// The preconditioner is that of the [`Coupling`].
    stiff: bool,
    // Iterates of conjugate gradients.
    pub x: Matrix,
    r: Matrix,
    z: Matrix,
    p: Matrix,
    product: Matrix,
    /// `M p` with the preconditioner `M`.
    mp: Matrix,
    flow: Matrix,
    /// Products with the matrix so far.
    pub products: usize,
}

/// Something that is planned when first needed, if it is affordable.
enum Planned<T> {
    Unknown,
    Known(Option<T>),
}

/// Residuals down to this, relatively, are within reach of a product that follows from the last one.
const ROUGH: f64 = 1e-6;

impl<'a> System<'a> {
    /// The places are the nodes of the graph; a factorisation is considered if it costs at most `worth` products.
    /// `curvature` is the mean one of the terms.
    pub fn new(a: &Augmented, graph: &'a Graph, worth: f64, curvature: f64) -> Self {
        let n = graph.nodes();
        let d = a.terms.dim();
        let (hessian_at, hessian) = arena(n, |p| a.terms.hessian_len(p));
        let direct = Direct::plan(graph, d, worth);
        let inverts = d <= INVERSE_MAX;
        let (factor_at, factor) = arena(n, |p| match direct.is_some() {
            true => 0,
            false if inverts => d * d,
            false => a.terms.factor_len(p),
        });
        let rows = || Matrix::zeros(n, d);
        System {
            direct,
            hessian_at,
            hessian,
            factor_at,
            factor,
            shift: vec![0.0; n],
            fresh: false,
            graph,
            worth,
            curvature,
            coupling: Planned::Unknown,
            stiff: false,
            x: rows(),
            r: rows(),
            z: rows(),
            p: rows(),
            product: rows(),
            mp: rows(),
            flow: Matrix::zeros(a.weight.len(), d),
            products: 0,
        }
    }

    /// How systems are solved, in words.
    pub fn describe(&self) -> String {
        match &self.direct {
            Some(direct) => {
                format!("sparse Cholesky factors, {} entries for a matrix of {}", direct.fill(), direct.entries())
            }
            None if self.worth > 0.0 => "conjugate gradients, since factors would fill up".into(),
            None => "conjugate gradients".into(),
        }
    }

    /// The matrix at a point.
    pub fn set(&mut self, a: &Augmented, point: &AugmentedPoint) {
        if !(self.fresh && a.terms.is_quadratic()) {
            for_pieces(&self.hessian_at, &mut self.hessian, |place, out| {
                a.terms.hessian(place, point.w.row(place), out, &mut a.scratch.lock());
            });
            self.fresh = true;
        }
        if self.direct.is_some() {
            return;
        }
        self.set_shift(a, point);
        self.stiff = self.set_coupling(a, point);
        if self.stiff {
            return;
        }
        let d = a.terms.dim();
        let (hessian_at, hessian, shift) = (&self.hessian_at, &self.hessian, &self.shift);
        for_pieces(&self.factor_at, &mut self.factor, |place, out| {
            let own = &hessian[hessian_at[place]..hessian_at[place + 1]];
            match out.len() == d * d {
                true => invert(a, place, own, shift[place], out),
                false => a.terms.factor(place, own, shift[place], out, &mut a.scratch.lock()),
            }
        });
    }

    /// Factors the preconditioner for stiff edges; false if edges are soft or it would cost too much.
    fn set_coupling(&mut self, a: &Augmented, point: &AugmentedPoint) -> bool {
        let mean_shift = self.shift.iter().sum::<f64>() / self.shift.len().max(1) as f64;
        if mean_shift < COUPLED_STIFFNESS * self.curvature {
            return false;
        }
        if let Planned::Unknown = self.coupling {
            self.coupling = Planned::Known(Coupling::plan(self.graph, a.terms.dim()));
        }
        let Planned::Known(Some(coupling)) = &mut self.coupling else { return false };
        let stiffness: Vec<f64> = (0..self.graph.edges()).map(|e| a.stiffness(point, e)).collect();
        coupling.set(&stiffness, self.curvature + a.delta + a.damping)
    }

    /// The edges' share of the diagonal.
    fn set_shift(&mut self, a: &Augmented, point: &AugmentedPoint) {
        let at =
            |place: usize| a.layout.at_node(place).iter().map(|end| a.stiffness(point, end.edge as usize)).sum::<f64>();
        for_blocks(&mut self.shift, 1, |start, shift| {
            shift
                .iter_mut()
                .enumerate()
                .for_each(|(k, s)| *s = (a.delta + a.damping + at(start + k)).max(f64::MIN_POSITIVE));
        });
    }

    /// `flow <- sigma J D v`.
    fn edge_product(a: &Augmented, point: &AugmentedPoint, v: &Matrix, flow: &mut Matrix) {
        let (d, sigma) = (a.terms.dim(), a.sigma);
        for_blocks(flow.as_mut_slice(), d, |start, rows| {
            let places = start..start + rows.len() / d;
            rows.fill(0.0);
            a.layout.add_differences(start, sigma, v, rows);
            let y = &point.y.as_slice()[places.start * d..places.end * d];
            let (edges, weight) = (&a.layout.edge[places.clone()], &a.weight[places]);
            a.penalty.jacobian_rows(edges, weight, sigma, y, rows, &mut a.scratch.lock());
        });
    }

    /// The solution belongs to another point now.
    pub fn forget(&mut self) {
        self.x.as_mut_slice().fill(0.0);
    }

    /// `sigma J D x` for the solution `x`: what it adds to the flows.
    pub fn flow_of_solution(&self, a: &Augmented, point: &AugmentedPoint) -> Matrix {
        let mut flow = Matrix::zeros(a.weight.len(), a.terms.dim());
        Self::edge_product(a, point, &self.x, &mut flow);
        flow
    }

    /// `product <- (H + delta + sigma D' J D) p`; returns `p'product`. `known` tells that `M p` is, and with it `H p`.
    fn multiply(&mut self, a: &Augmented, point: &AugmentedPoint, known: bool) -> f64 {
        self.products += 1;
        Self::edge_product(a, point, &self.p, &mut self.flow);
        let (d, p, flow) = (a.terms.dim(), &self.p, &self.flow);
        let (hessian_at, hessian, mp, shift) = (&self.hessian_at, &self.hessian, &self.mp, &self.shift);
        let own_shift = a.delta + a.damping;
        sum_over_blocks([self.product.as_mut_slice()], d, d * d, |start, [product]| {
            for (k, out) in product.chunks_exact_mut(d).enumerate() {
                let (place, v) = (start + k, p.row(start + k));
                if known {
                    out.copy_from_slice(mp.row(place));
                    axpy(own_shift - shift[place], v, out);
                } else {
                    a.terms.hessian_product(place, &hessian[hessian_at[place]..hessian_at[place + 1]], v, out);
                    axpy(own_shift, v, out);
                }
            }
            a.layout.add_divergence(start, |_| 1.0, flow, product);
            dot(product, &p.as_slice()[start * d..start * d + product.len()])
        })
    }

    /// `z <- M^-1 r` after `x <- x + step p`, `r <- r - step product`; returns `r'z` and `r'r`.
    fn advance(&mut self, a: &Augmented, step: f64) -> (f64, f64) {
        let d = a.terms.dim();
        if let (true, Planned::Known(Some(coupling))) = (self.stiff, &mut self.coupling) {
            axpy(step, self.p.as_slice(), self.x.as_mut_slice());
            axpy(-step, self.product.as_slice(), self.r.as_mut_slice());
            coupling.solve(&self.r, &mut self.z);
            return (dot(self.r.as_slice(), self.z.as_slice()), dot(self.r.as_slice(), self.r.as_slice()));
        }
        let (p, product, shift) = (&self.p, &self.product, &self.shift);
        let (factor_at, factor) = (&self.factor_at, &self.factor);
        let tables = [self.x.as_mut_slice(), self.r.as_mut_slice(), self.z.as_mut_slice()];
        let rz = sum_over_blocks(tables, d, d * d, |start, [x, r, z]| {
            let (rows, mut work) = (start * d..start * d + x.len(), a.scratch.lock());
            axpy(step, &p.as_slice()[rows.clone()], x);
            axpy(-step, &product.as_slice()[rows], r);
            for (k, (z, r)) in z.chunks_exact_mut(d).zip(r.chunks_exact(d)).enumerate() {
                let place = start + k;
                let own = &factor[factor_at[place]..factor_at[place + 1]];
                if own.len() == d * d {
                    cholesky::dense_product(own, r, z);
                } else {
                    z.copy_from_slice(r);
                    a.terms.factor_solve(place, shift[place], own, z, &mut work);
                }
            }
            dot(r, z)
        });
        let rr = sum_over_blocks([self.r.as_mut_slice()], d, d, |_, [r]| dot(r, r));
        (rz, rr)
    }

    /// Solves for `x` with right-hand side `-gradient` until the residual is `reduction` times that; false if it ran out
    /// of steps or the matrix is singular.
    pub fn solve(&mut self, a: &Augmented, point: &AugmentedPoint, reduction: f64, steps_max: usize) -> bool {
        if let Some(direct) = &mut self.direct {
            return direct.solve(a, point, &self.hessian_at, &self.hessian, self.x.as_mut_slice());
        }
        let d = a.terms.dim();
        self.x.as_mut_slice().fill(0.0);
        self.p.as_mut_slice().fill(0.0);
        self.product.as_mut_slice().fill(0.0);
        self.mp.as_mut_slice().fill(0.0);
        self.r.as_mut_slice().iter_mut().zip(point.gradient.as_slice()).for_each(|(r, g)| *r = -g);
        // With M = H + shift exactly, p = M^-1 r + beta p' and so M p = r + beta M p': no product is needed for that.
        let known = !self.stiff && a.terms.factors_are_exact() && reduction >= ROUGH;
        let (mut rz, rr) = self.advance(a, 0.0);
        let goal = reduction * reduction * rr;
        let mut beta = 0.0;
        for _ in 0..steps_max {
            let follow = |vector: &mut Matrix, from: &Matrix| {
                for_blocks(vector.as_mut_slice(), d, |start, rows| {
                    let from = &from.as_slice()[start * d..start * d + rows.len()];
                    rows.iter_mut().zip(from).for_each(|(to, from)| *to = from + beta * *to);
                });
            };
            follow(&mut self.p, &self.z);
            if known {
                follow(&mut self.mp, &self.r);
            }
            let curvature = self.multiply(a, point, known);
            if !(curvature > 0.0 && rz.is_finite()) {
                return false;
            }
            let (next, rr) = self.advance(a, rz / curvature);
            if rr <= goal {
                return true;
            }
            beta = next / rz;
            rz = next;
        }
        false
    }
}
