//! Differentiable losses of a linear score: `L_i(w) = sum_r a_r l(x_r'w, y_r) + sum_j ridge_j w_j^2`.
//!
//! Everything is derived once from the pointwise loss `l`: the proximal operator and the conjugate are found by Newton's
//! method with the Hessian `sum_r a_r l'' x_r x_r' + 2 ridge`, which for `m < d` is solved through an `m x m` kernel.

use std::sync::OnceLock;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::{Block, Row};
use crate::linalg::cholesky;
use crate::matrix::{axpy, dot, norm2};
use crate::parallel::{arena, for_pieces};
use crate::scratch::Scratch;
use crate::unroll::{by_dim, known};

use super::newton::{self, Shift};
use super::{Curvature, FenchelGap, Loss, LossOptions, LossRows, Prepared, SecondOrder};

/// A convex, differentiable loss of one row, as a function of the score `s`.
pub trait Pointwise: Send + Sync + 'static {
    /// Name of the loss, as on the command line.
    const NAME: &'static str;
    /// The labels it takes, in words.
    const LABELS: &'static str;
    /// True if the second derivative is constant: factors can then be reused.
    const QUADRATIC: bool = false;
    /// True for a label it takes.
    fn accepts(&self, y: f64) -> bool;
    /// `l(s, y)`.
    fn value(&self, s: f64, y: f64) -> f64;
    /// What a row with this score is told to cost.
    fn error(&self, s: f64, y: f64) -> f64 {
        self.value(s, y)
    }
    /// `dl/ds`.
    fn slope(&self, s: f64, y: f64) -> f64;
    /// `d2l/ds2` (an element of the generalised derivative of the slope).
    fn curvature(&self, s: f64, y: f64) -> f64;
    /// Bounds on the second derivative over all scores.
    fn curvature_bounds(&self) -> (f64, f64);
}

/// What an exponential costs, in numbers read.
const TRANSCENDENTAL: usize = 20;

/// The loss of all nodes with pointwise loss `P`.
#[derive(Debug, Clone)]
pub struct Smooth<P> {
    rows: LossRows,
    family: P,
    /// Constant Hessians, computed when first asked for.
    hessians: OnceLock<Hessians>,
}

/// The Hessian, its factor and the gradient at zero of every node, one piece per node: rows are not visited again.
#[derive(Debug, Clone)]
struct Hessians {
    offsets: Vec<usize>,
    pieces: Vec<f64>,
}

/// `sum_r a_r l(x_r'w, y_r)`.
#[inline(always)]
fn fit<const D: usize>(family: &impl Pointwise, x: &[f64], y: &[f64], share: &[f64], w: &[f64]) -> f64 {
    let d = known::<D>(w.len());
    let (rows, w) = (x.chunks_exact(d).zip(y).zip(share), &w[..d]);
    rows.map(|((x, y), a)| a * family.value(dot(x, w), *y)).sum()
}

/// `w <- pull + A w` for a piece that holds `pull` and the columns of `A`.
#[inline(always)]
fn affine<const D: usize>(piece: &[f64], w: &mut [f64], work: &mut [f64]) {
    let d = known::<D>(w.len());
    let (mut few, (pull, columns)) = ([0.0; D], piece.split_at(d));
    let sum = if D > 0 { &mut few[..] } else { &mut work[..d] };
    sum.copy_from_slice(pull);
    for (column, w) in columns.chunks_exact(d).zip(w.iter()) {
        for k in 0..d {
            sum[k] += w * column[k];
        }
    }
    w.copy_from_slice(sum);
}

/// What is known of a quadratic.
struct Gram<'a> {
    hessian: &'a [f64],
    /// Cholesky factor.
    factor: &'a [f64],
    /// Gradient at zero.
    at_zero: &'a [f64],
}

impl<P: Pointwise> Smooth<P> {
    /// Checks labels and builds the loss.
    pub fn new(family: P, data: Dataset, options: &LossOptions) -> Result<Self> {
        if let Some(row) = data.y().iter().position(|&y| !family.accepts(y)) {
            return Err(Error::Label { row, label: data.y()[row], loss: P::NAME, needs: P::LABELS });
        }
        Ok(Self::with_rows(family, LossRows::new(data, options)?))
    }

    /// The loss on rows that were checked before.
    pub fn with_rows(family: P, rows: LossRows) -> Self {
        Smooth { rows, family, hessians: OnceLock::new() }
    }

    fn gradient_on<'r>(&self, rows: impl Iterator<Item = (Row<'r>, f64, f64)>, w: &[f64], out: &mut [f64]) {
        self.rows.ridge_gradient(w, out);
        for (x, y, share) in rows {
            x.add_to(share * self.family.slope(x.dot(w), y), out);
        }
    }

    /// Keeps a Hessian that may be singular (or zero, where all rows are flat) invertible.
    fn damping(&self, node: usize, z: &[f64]) -> f64 {
        let curvature = |x: Row, y: f64| self.family.curvature(x.dot(z), y) + 1e-3;
        newton::DAMPING * self.rows.iter(node).map(|(x, y, a)| a * curvature(x, y) * x.square(z.len())).sum::<f64>()
    }
}

impl<P: Pointwise> Loss for Smooth<P> {
    fn nodes(&self) -> usize {
        self.rows.data.nodes()
    }

    fn dim(&self) -> usize {
        self.rows.data.dim()
    }

    fn has_rows(&self, node: usize) -> bool {
        self.rows.has_rows(node)
    }

    fn row_count(&self, node: usize) -> usize {
        self.rows.data.rows(node).len()
    }

    fn work_len(&self) -> usize {
        6 * self.dim() + 2 * self.rows.rows_max() + self.rows.factor_len_max() + self.rows.hessian_len_max()
    }

    fn cost(&self) -> usize {
        let (d, rows) = (self.dim(), self.rows.data.len() / self.nodes().max(1));
        if P::QUADRATIC { d * rows.min(d) } else { rows * (d + TRANSCENDENTAL) }
    }

    fn curvature(&self, node: usize) -> Curvature {
        if !self.has_rows(node) {
            return Curvature { mu: 0.0, beta: 0.0 };
        }
        let (low, high) = self.family.curvature_bounds();
        let (gram_low, gram_high) = self.rows.gram_extremes(node);
        let (ridge_low, ridge_high) = self.rows.twice_ridge_extremes();
        Curvature { mu: low * gram_low + ridge_low, beta: high * gram_high + ridge_high }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        if !self.has_rows(node) {
            return 0.0;
        }
        let (family, rows, range) = (&self.family, &self.rows, self.rows.data.rows(node));
        let (y, share) = (&rows.data.y()[range.clone()], &rows.share[range]);
        let fit = match rows.data.block(node) {
            Block::Dense { x, .. } => by_dim!(w.len(), fit(family, x, y, share, w)),
            Block::Sparse { .. } => rows.iter(node).map(|(x, y, a)| a * family.value(x.dot(w), y)).sum(),
        };
        fit + self.rows.ridge_value(w)
    }

    fn error(&self, node: usize, w: &[f64]) -> f64 {
        let rows = self.rows.iter(node).map(|(x, y, share)| share * self.family.error(x.dot(w), y));
        rows.sum::<f64>() + self.rows.ridge_value(w)
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        if !self.has_rows(node) {
            return out.fill(0.0);
        }
        if let Some(Gram { hessian, at_zero, .. }) = self.gram(node) {
            cholesky::symmetric_product(hessian, w, out);
            return axpy(1.0, at_zero, out);
        }
        self.gradient_on(self.rows.iter(node), w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        match self.has_rows(node) {
            true => self.gradient_on(self.rows.batch(node, batch), w, out),
            false => out.fill(0.0),
        }
    }

    /// Both from one score per row.
    fn value_and_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        if !self.has_rows(node) {
            out.fill(0.0);
            return 0.0;
        }
        self.rows.ridge_gradient(w, out);
        let mut value = self.rows.ridge_value(w);
        for (x, y, share) in self.rows.iter(node) {
            let s = x.dot(w);
            value += share * self.family.value(s, y);
            x.add_to(share * self.family.slope(s, y), out);
        }
        value
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let (b, work) = work.split_at_mut(w.len());
        b.iter_mut().zip(w.iter()).for_each(|(b, w)| *b = w / tau);
        newton::minimise(self, node, Shift { shift: 1.0 / tau, damping: 0.0, constant: P::QUADRATIC }, b, w, work);
    }

    fn prepare(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        if P::QUADRATIC { self.prepare_factors(nodes, tau) } else { Prepared::default() }
    }

    fn prox_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        prepared: &Prepared,
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        let d = self.dim();
        for (k, row) in rows.chunks_exact_mut(d).enumerate().filter(|(k, _)| tau[start + k] > 0.0) {
            let (place, node) = (start + k, nodes[k] as usize);
            if !P::QUADRATIC {
                self.prox(node, tau[place], row, work);
                continue;
            }
            let piece = &prepared.factors[prepared.offsets[place]..prepared.offsets[place + 1]];
            if piece.len() == d + d * d {
                by_dim!(d, affine(piece, row, work));
            } else if !piece.is_empty() {
                let (shift, (pull, factor)) = (1.0 / tau[place], piece.split_at(d));
                row.iter_mut().zip(pull).for_each(|(w, p)| *w = *w * shift + p);
                self.factor_solve(node, shift, factor, row, work);
            }
        }
    }

    fn prepare_majorised(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        if P::QUADRATIC || self.majorises() { self.prepare_factors(nodes, tau) } else { Prepared::default() }
    }

    /// `w - (H + I / tau)^-1 (grad L(w) + (w - v) / tau)` with `H` the largest Hessian there is.
    fn majorised_rows(
        &self,
        start: usize,
        nodes: &[u32],
        tau: &[f64],
        prepared: &Prepared,
        old: &[f64],
        rows: &mut [f64],
        work: &mut [f64],
    ) {
        if !self.majorises() {
            return self.prox_rows(start, nodes, tau, prepared, rows, work);
        }
        let d = self.dim();
        let (gradient, work) = work.split_at_mut(d);
        for (k, (row, old)) in rows.chunks_exact_mut(d).zip(old.chunks_exact(d)).enumerate() {
            let (place, node) = (start + k, nodes[k] as usize);
            let piece = &prepared.factors[prepared.offsets[place]..prepared.offsets[place + 1]];
            if tau[place] > 0.0 && !piece.is_empty() {
                let shift = 1.0 / tau[place];
                self.gradient(node, old, gradient);
                gradient.iter_mut().zip(old).zip(row.iter()).for_each(|((g, o), v)| *g += shift * (o - v));
                self.prepared_solve(node, shift, &piece[d..], gradient, work);
                row.iter_mut().zip(old).zip(gradient.iter()).for_each(|((w, o), g)| *w = o - g);
            }
        }
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        if self.has_rows(node) {
            let shift = Shift { shift: 0.0, damping: self.damping(node, z), constant: P::QUADRATIC };
            newton::minimise(self, node, shift, v, z, work);
        }
    }

    fn fenchel_gap(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        match self.gram(node) {
            Some(gram) => self.quadratic_gap(w, v, gram, work),
            None => self.fenchel_gap_by_newton(node, w, v, work),
        }
    }

    fn bregman(&self, node: usize, w: &[f64], z: &[f64], gradient_z: &[f64]) -> f64 {
        if P::QUADRATIC {
            // A quadratic: no cancellation between nearly equal values.
            let half = 0.5 * self.family.curvature_bounds().1;
            let fit: f64 = self.rows.iter(node).map(|(x, _, a)| a * half * (x.dot(w) - x.dot(z)).powi(2)).sum();
            return fit
                + self.rows.ridge.iter().zip(w.iter().zip(z)).map(|(q, (w, z))| q * (w - z).powi(2)).sum::<f64>();
        }
        let along: f64 = w.iter().zip(z).zip(gradient_z).map(|((w, z), g)| g * (w - z)).sum();
        self.value(node, w) - self.value(node, z) - along
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }
}

impl<P: Pointwise> SecondOrder for Smooth<P> {
    fn is_constant(&self) -> bool {
        P::QUADRATIC
    }

    fn hessian_len(&self, node: usize) -> usize {
        self.rows.hessian_len(node)
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        if let Some(gram) = self.gram(node) {
            return out.copy_from_slice(gram.hessian);
        }
        self.rows.hessian(node, |x, y| self.family.curvature(x.dot(w), y), out, work);
    }

    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        self.rows.hessian_product(node, hessian, v, out);
    }

    fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.rows.add_hessian(node, hessian, sum);
    }

    fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.rows.add_hessian_diagonal(node, hessian, sum);
    }

    fn factor_len(&self, node: usize) -> usize {
        self.rows.factor_len(node)
    }

    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        self.rows.factor(node, hessian, shift, out);
    }

    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        self.rows.factor_solve(node, shift, factor, b, work);
    }
}

impl<P: Pointwise> Smooth<P> {
    /// The gap of a quadratic: with `r = v - grad L(w)` and `z = w + H^-1 r` it is `r' H^-1 r / 2`. The solution of the
    /// linear system is checked, not trusted.
    fn quadratic_gap(&self, w: &[f64], v: &[f64], gram: Gram, work: &mut [f64]) -> FenchelGap {
        let Gram { hessian, factor, at_zero } = gram;
        let d = w.len();
        let (r, work) = work.split_at_mut(d);
        let (step, work) = work.split_at_mut(d);
        let product = &mut work[..d];
        cholesky::symmetric_product(hessian, w, r);
        let size = norm2(r) + norm2(at_zero) + norm2(v);
        r.iter_mut().zip(at_zero).zip(v).for_each(|((r, g), v)| *r = v - *r - g);
        step.copy_from_slice(r);
        cholesky::solve(factor, step);
        cholesky::symmetric_product(hessian, step, product);
        let bregman = 0.5 * dot(step, product);
        let rounding = 8.0 * f64::EPSILON * size * (norm2(w) + norm2(step));
        // rho = v - grad L(z).
        r.iter_mut().zip(product.iter()).for_each(|(r, p)| *r -= p);
        FenchelGap { gap: bregman.max(0.0) + rounding, residue: norm2(r), slope: dot(r, step) }
    }

    /// The constant Hessian of a node with enough rows, and what belongs to it.
    fn gram(&self, node: usize) -> Option<Gram<'_>> {
        if !P::QUADRATIC {
            return None;
        }
        let hessians = self.known_hessians();
        let piece = &hessians.pieces[hessians.offsets[node]..hessians.offsets[node + 1]];
        (!piece.is_empty()).then(|| {
            let (hessian, rest) = piece.split_at(cholesky::packed_len(self.dim()));
            let (factor, at_zero) = rest.split_at(hessian.len());
            Gram { hessian, factor, at_zero }
        })
    }

    /// The Hessians, computed when first asked for, and not while others wait for the cell: they are computed on all cores, and a
    /// core that waits for a piece may take up other work, which may want them too and would wait for itself. Whoever comes second has
    /// computed the same.
    fn known_hessians(&self) -> &Hessians {
        match self.hessians.get() {
            Some(hessians) => hessians,
            None => {
                let hessians = self.all_hessians();
                self.hessians.get_or_init(|| hessians)
            }
        }
    }

    fn all_hessians(&self) -> Hessians {
        let (d, scratch) = (self.dim(), Scratch::new(self.work_len()));
        let gram = |node: usize| self.has_rows(node) && self.rows.hessian_len(node) == cholesky::packed_len(d);
        let packed = cholesky::packed_len(d);
        let len = |node: usize| if gram(node) { 2 * packed + d } else { 0 };
        let (offsets, mut pieces) = arena(self.nodes(), len);
        for_pieces(&offsets, &mut pieces, |node, piece| {
            if !piece.is_empty() {
                let (hessian, rest) = piece.split_at_mut(packed);
                let (factor, gradient) = rest.split_at_mut(packed);
                self.largest_hessian(node, hessian, &mut scratch.lock());
                factor.copy_from_slice(hessian);
                // Rounding must not make a pivot negative.
                let trace: f64 = (0..d).map(|j| hessian[cholesky::packed_len(j) + j]).sum();
                (0..d).for_each(|j| factor[cholesky::packed_len(j) + j] += 1e-14 * trace);
                cholesky::factor(factor, d);
                for (x, y, share) in self.rows.iter(node) {
                    x.add_to(share * self.family.slope(0.0, y), gradient);
                }
            }
        });
        Hessians { offsets, pieces }
    }

    /// True if Hessians are bounded, and not constant.
    fn majorises(&self) -> bool {
        !P::QUADRATIC && self.family.curvature_bounds().1.is_finite()
    }

    /// `b <- (H + shift)^-1 b` with the inverse or the factor of [`prepare_factors`](Smooth::prepare_factors).
    fn prepared_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        if !self.inverts(node) {
            return self.factor_solve(node, shift, factor, b, work);
        }
        let d = b.len();
        work[..d].copy_from_slice(b);
        cholesky::dense_product(factor, &work[..d], b);
    }

    /// The largest Hessian of a node.
    fn largest_hessian(&self, node: usize, out: &mut [f64], work: &mut [f64]) {
        let curvature = self.family.curvature_bounds().1;
        self.rows.hessian(node, |_, _| curvature, out, work);
    }

    /// True if proximal steps keep the inverse rather than a factor.
    fn inverts(&self, node: usize) -> bool {
        self.dim() <= cholesky::INVERSE_MAX && self.rows.data.rows(node).len() >= self.dim()
    }

    /// For every place: the gradient at zero with its sign changed (which the proximal step adds), then the factor or the inverse.
    /// A quadratic with the inverse has a proximal step `pull + A v`, and both are kept.
    fn prepare_factors(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        let d = self.dim();
        let len = |p: usize| {
            let node = nodes[p] as usize;
            let len = if self.inverts(node) { d * d } else { self.factor_len(node) };
            if tau[p] > 0.0 && self.has_rows(node) { d + len } else { 0 }
        };
        let (offsets, mut factors) = arena(nodes.len(), len);
        let (zero, scratch) = (vec![0.0; d], Scratch::new(self.work_len()));
        for_pieces(&offsets, &mut factors, |p, piece| {
            if !piece.is_empty() {
                let (pull, factor) = piece.split_at_mut(d);
                self.gradient(nodes[p] as usize, &zero, pull);
                pull.iter_mut().for_each(|p| *p = -*p);
                let (node, mut work) = (nodes[p] as usize, scratch.lock());
                let (hessian, work) = work.split_at_mut(self.hessian_len(node));
                match self.gram(node) {
                    Some(gram) => hessian.copy_from_slice(gram.hessian),
                    None => self.largest_hessian(node, hessian, work),
                }
                if self.inverts(node) {
                    cholesky::shifted_inverse(hessian, d, 1.0 / tau[p], factor, &mut work[..d]);
                    if P::QUADRATIC {
                        let b = &mut work[..d];
                        b.copy_from_slice(pull);
                        cholesky::dense_product(factor, b, pull);
                        factor.iter_mut().for_each(|a| *a /= tau[p]);
                    }
                } else {
                    self.factor(node, hessian, 1.0 / tau[p], factor, work);
                }
            }
        });
        Prepared { offsets, factors }
    }
}
