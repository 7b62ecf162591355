//! Piecewise linear losses of a linear score: `l(s, y) = max(low (s - y), high (s - y))` with `low < 0 < high`.
//!
//! The proximal operator is a quadratic program with one box constraint per row,
//!
//! ```text
//! z = Q^-1 (b - X'g),    minimise over g    (b - X'g)' Q^-1 (b - X'g) / 2 + g'y,    a_r low <= g_r <= a_r high,
//! ```
//!
//! solved by a primal-dual interior-point method whose Newton systems are `X' C X + Q`, as small as those of the smooth
//! losses. `g` lives in sample space, so `L*(X'g) <= g'y` is a rigorous bound for every `g` in the box.
//!
//! A lasso is one more row per parameter, its axis with label 0, and slopes -1 and 1.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Row;
use crate::linalg::cholesky;
use crate::matrix::{Matrix, axpy, dot, norm2};

use super::{
    Curvature, FenchelGap, Kink, Kinks, Loss, LossOptions, LossRows, PROXIMAL_ROUNDS, SecondOrder, Smooth, SoftKink,
    Softening, positive_part,
};

/// The loss of all nodes with slopes `low` and `high`.
#[derive(Debug, Clone)]
pub struct Kinked {
    rows: LossRows,
    low: f64,
    high: f64,
    /// Of the lasso for every parameter, or none.
    strength: Vec<f64>,
}

const INTERIOR_STEPS_MAX: usize = 60;
/// Complementarity is driven down to this, relative to the size of the residuals. Further down the Newton systems lose
/// their digits; which rows sit on their kink is clear by then, and the rest is one linear system.
const COMPLEMENTARITY: f64 = 1e-12;

impl Kinked {
    /// Builds the loss; `low < 0 < high`.
    pub fn new(low: f64, high: f64, data: Dataset, options: &LossOptions) -> Result<Self> {
        if !(low < 0.0 && high > 0.0) {
            return Err(Error::Parameter { name: "slopes of a kink", value: low, needs: "of opposite signs" });
        }
        let (mut rows, mut strength) = (LossRows::new(data, options)?, Vec::new());
        if options.lasso > 0.0 {
            strength = options.lasso_of_features(rows.data.dim());
            rows = rows.with_axes(&strength)?;
        }
        Ok(Kinked { rows, low, high, strength })
    }

    /// Features, label, share and slopes of every row of a node, axes last.
    fn rows(&self, node: usize) -> impl Iterator<Item = (Row<'_>, f64, f64, (f64, f64))> {
        let own = self.rows.own_rows(node);
        self.rows.iter(node).enumerate().map(move |(r, (x, y, share))| (x, y, share, self.slopes(r < own)))
    }

    /// Slopes of a row of the data or of an axis.
    fn slopes(&self, own: bool) -> (f64, f64) {
        if own { (self.low, self.high) } else { (-1.0, 1.0) }
    }

    /// The gap that slopes `g` (times shares) in the box prove, with the ridge at `z`.
    fn gap_in_samples(
        &self,
        node: usize,
        w: &[f64],
        v: &[f64],
        z: &[f64],
        rho: &mut [f64],
        g: impl Fn(usize) -> f64,
    ) -> FenchelGap {
        self.rows.ridge_gradient(z, rho);
        let mut conjugate = self.rows.ridge_value(z);
        for (r, (x, y, _)) in self.rows.iter(node).enumerate() {
            x.add_to(g(r), rho);
            conjugate += g(r) * y;
        }
        let (value, along) = (self.value(node, w), dot(rho, w));
        let rounding = 8.0 * f64::EPSILON * (value.abs() + conjugate.abs() + along.abs());
        rho.iter_mut().zip(v).for_each(|(r, v)| *r = v - *r);
        let slope = dot(rho, z) - dot(rho, w);
        FenchelGap { gap: positive_part(value + conjugate - along) + rounding, residue: norm2(rho), slope }
    }

    /// Minimises `L(z) + shift |z|^2 / 2 - b'z`, starting from `z`; leaves `g` in the first `m` entries of `work`.
    fn interior_point(&self, node: usize, shift: f64, b: &[f64], z: &mut [f64], work: &mut [f64]) {
        let m = self.rows.data.rows(node).len();
        let (per_row, work) = work.split_at_mut(5 * m);
        let [g, p, q, c, rhs] = chunks::<5>(per_row, m);
        let own = self.rows.own_rows(node);
        let mut state = Interior { loss: self, node, own, shift, b, g, p, q, c, rhs };
        state.start();
        let (dz, work) = work.split_at_mut(z.len());
        let (factor, work) = work.split_at_mut(self.factor_len(node));
        // The scale of residuals; a start on a kink has none of its own.
        let residual =
            |(x, y, _): (Row, f64, f64)| (x.dot(z) - y).abs() + 1e-6 * (y.abs() + x.square(z.len()).sqrt() * norm2(z));
        let size = self.rows.iter(node).map(residual).fold(1e-300, f64::max);
        for _ in 0..INTERIOR_STEPS_MAX {
            let mu = state.complementarity();
            state.stationarity(z, dz);
            if mu <= COMPLEMENTARITY * size && norm2(dz) <= 1e-11 * (norm2(b) + shift * norm2(z)) {
                break;
            }
            state.step((0.1 * mu).max(0.01 * COMPLEMENTARITY * size), z, dz, factor, work);
        }
        state.clamp(size);
        state.polish(z, dz, factor);
    }
}

/// Splits a slice into `N` pieces of length `len`.
fn chunks<const N: usize>(work: &mut [f64], len: usize) -> [&mut [f64]; N] {
    let mut rest = work;
    std::array::from_fn(|_| {
        let (piece, tail) = std::mem::take(&mut rest).split_at_mut(len);
        rest = tail;
        piece
    })
}

/// The iterate: `g` inside its box, `p` and `q` the multipliers of its lower and upper side.
struct Interior<'a> {
    loss: &'a Kinked,
    node: usize,
    /// Rows before the axes.
    own: usize,
    shift: f64,
    b: &'a [f64],
    g: &'a mut [f64],
    p: &'a mut [f64],
    q: &'a mut [f64],
    c: &'a mut [f64],
    rhs: &'a mut [f64],
}

impl Interior<'_> {
    fn bounds(&self, r: usize) -> (f64, f64) {
        let share = self.loss.rows.share[self.loss.rows.data.rows(self.node).start + r];
        let (low, high) = self.loss.slopes(r < self.own);
        (share * low, share * high)
    }

    /// What the products of slacks and multipliers of a row are to be.
    fn target(&self, r: usize, share: f64, mu: f64) -> f64 {
        let (low, high) = self.loss.slopes(r < self.own);
        mu * share * (high - low)
    }

    fn start(&mut self) {
        let d = self.loss.rows.data.dim();
        let size = self.loss.rows.iter(self.node).map(|(x, y, _)| y.abs() + x.square(d).sqrt()).fold(1.0, f64::max);
        for r in 0..self.g.len() {
            let (low, high) = self.bounds(r);
            self.g[r] = 0.5 * (low + high);
            (self.p[r], self.q[r]) = (size, size);
        }
    }

    /// The largest product of a slack and its multiplier, per unit of the row's share.
    fn complementarity(&self) -> f64 {
        let product = |r: usize| {
            let (low, high) = self.bounds(r);
            if high <= low {
                return 0.0;
            }
            (self.p[r] * (self.g[r] - low)).max(self.q[r] * (high - self.g[r])) / (high - low)
        };
        (0..self.g.len()).map(product).fold(0.0, f64::max)
    }

    /// One Newton step on the conditions `q - p = Xz - y`, `p (g - low) = q (high - g) = mu`.
    fn step(&mut self, mu: f64, z: &mut [f64], dz: &mut [f64], factor: &mut [f64], work: &mut [f64]) {
        self.stationarity(z, dz);
        for (r, (x, y, share)) in self.loss.rows.iter(self.node).enumerate() {
            let (low, high) = self.bounds(r);
            if high <= low {
                self.c[r] = 0.0;
                continue;
            }
            let (below, above) = (self.g[r] - low, high - self.g[r]);
            let target = self.target(r, share, mu);
            self.c[r] = 1.0 / (self.p[r] / below + self.q[r] / above);
            self.rhs[r] = x.dot(z) - y + target / below - target / above;
            x.add_to(-self.c[r] * self.rhs[r], dz);
        }
        let normal = self.loss.rows.normal(self.node, self.shift);
        normal.factor_rows(self.c, factor);
        normal.solve(factor, dz, work);
        let length = self.longest_step(mu, dz);
        for (r, (x, _, share)) in self.loss.rows.iter(self.node).enumerate() {
            let (dg, dp, dq) = self.direction(r, x, share, mu, dz);
            // Rounding must not put an interior point on the boundary.
            let (low, high) = self.bounds(r);
            let margin = 1e-14 * (high - low);
            self.g[r] = (self.g[r] + length * dg).clamp(low + margin, high - margin);
            self.p[r] = (self.p[r] + length * dp).max(1e-300);
            self.q[r] = (self.q[r] + length * dq).max(1e-300);
        }
        axpy(length, dz, z);
    }

    /// `out <- b - X'g - Q z`, zero at the solution. `z` is a variable of its own: recovering it from `g` would magnify the
    /// rounding of `g` by `1 / shift`.
    fn stationarity(&self, z: &[f64], out: &mut [f64]) {
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.b[j] - (self.loss.rows.twice_ridge[j] + self.shift) * z[j];
        }
        for ((x, ..), g) in self.loss.rows.iter(self.node).zip(self.g.iter()) {
            x.add_to(-g, out);
        }
    }

    fn direction(&self, r: usize, x: Row, share: f64, mu: f64, dz: &[f64]) -> (f64, f64, f64) {
        let (low, high) = self.bounds(r);
        if high <= low {
            return (0.0, 0.0, 0.0);
        }
        let target = self.target(r, share, mu);
        let dg = self.c[r] * (self.rhs[r] + x.dot(dz));
        let (below, above) = (self.g[r] - low, high - self.g[r]);
        (dg, (target - self.p[r] * dg) / below - self.p[r], (target + self.q[r] * dg) / above - self.q[r])
    }

    /// The longest step, up to 1, that keeps slacks and multipliers positive.
    fn longest_step(&self, mu: f64, dz: &[f64]) -> f64 {
        let mut longest: f64 = 1.0;
        for (r, (x, _, share)) in self.loss.rows.iter(self.node).enumerate() {
            let (low, high) = self.bounds(r);
            let (dg, dp, dq) = self.direction(r, x, share, mu, dz);
            for (value, change) in [(self.g[r] - low, dg), (high - self.g[r], -dg), (self.p[r], dp), (self.q[r], dq)] {
                if change < 0.0 {
                    longest = longest.min(-0.995 * value / change);
                }
            }
        }
        longest
    }

    /// Puts rows that are off their kink exactly on their side of the box.
    fn clamp(&mut self, size: f64) {
        for r in 0..self.g.len() {
            let (low, high) = self.bounds(r);
            let range = (high - low).max(f64::MIN_POSITIVE);
            // Of a slack and its multiplier one tends to zero: the smaller one, each on its own scale.
            if (self.g[r] - low) / range < self.p[r] / size {
                self.g[r] = low;
            } else if (high - self.g[r]) / range < self.q[r] / size {
                self.g[r] = high;
            }
        }
    }

    fn on_kink(&self, r: usize) -> bool {
        let (low, high) = self.bounds(r);
        self.g[r] > low && self.g[r] < high
    }

    /// With the other rows fixed, the rows `K` on their kink satisfy `X_K z = y_K`: one linear system of their number,
    /// `(X_K Q^-1 X_K') dg = X_K z - y_K`. Kept if it stays in the box.
    fn polish(&mut self, z: &mut [f64], change: &mut [f64], matrix: &mut [f64]) {
        let kinks = (0..self.g.len()).filter(|&r| self.on_kink(r)).count();
        if kinks == 0 || kinks > z.len().min(self.g.len()) {
            return;
        }
        let (data, ridge) = (&self.loss.rows.data, &self.loss.rows.twice_ridge);
        let start = data.rows(self.node).start;
        for _ in 0..2 {
            for (rows, r) in (0..self.g.len()).filter(|&r| self.on_kink(r)).enumerate() {
                let x = data.row(start + r);
                for (k, s) in (0..=r).filter(|&s| self.on_kink(s)).enumerate() {
                    matrix[cholesky::packed_len(rows) + k] = x.inner(data.row(start + s), |j| ridge[j] + self.shift);
                }
                change[rows] = x.dot(z) - data.y()[start + r];
            }
            cholesky::factor(&mut matrix[..cholesky::packed_len(kinks)], kinks);
            cholesky::solve(matrix, &mut change[..kinks]);
            let mut changes = change.iter();
            for r in 0..self.g.len() {
                self.rhs[r] = if self.on_kink(r) { changes.next().copied().unwrap_or(0.0) } else { 0.0 };
            }
            let stays = |r: usize| (self.bounds(r).0..=self.bounds(r).1).contains(&(self.g[r] + self.rhs[r]));
            if !(0..self.g.len()).all(stays) {
                return;
            }
            axpy(1.0, self.rhs, self.g);
            for r in (0..self.g.len()).filter(|&r| self.rhs[r] != 0.0) {
                data.row(start + r).for_each(|j, x| z[j] -= self.rhs[r] * x / (ridge[j] + self.shift));
            }
        }
    }
}

impl Kinked {
    fn add_gradient(&self, (x, y, share): (Row, f64, f64), (low, high): (f64, f64), w: &[f64], out: &mut [f64]) {
        x.add_to(share * if x.dot(w) > y { high } else { low }, out);
    }
}

impl Loss for Kinked {
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
        self.rows.own_rows(node)
    }

    fn work_len(&self) -> usize {
        9 * self.dim() + 7 * self.rows.rows_max() + self.rows.factor_len_max()
    }

    fn cost(&self) -> usize {
        self.dim() * (self.rows.data.len() / self.nodes().max(1))
    }

    fn curvature(&self, node: usize) -> Curvature {
        let mu = if self.has_rows(node) { self.rows.twice_ridge_extremes().0 } else { 0.0 };
        Curvature { mu, beta: if self.has_rows(node) { f64::INFINITY } else { 0.0 } }
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        if !self.has_rows(node) {
            return 0.0;
        }
        let pointwise = |s: f64, y: f64, (low, high): (f64, f64)| (low * (s - y)).max(high * (s - y));
        let fit: f64 = self.rows(node).map(|(x, y, a, slopes)| a * pointwise(x.dot(w), y, slopes)).sum();
        fit + self.rows.ridge_value(w)
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        if !self.has_rows(node) {
            return out.fill(0.0);
        }
        self.rows.ridge_gradient(w, out);
        self.rows(node).for_each(|(x, y, share, slopes)| self.add_gradient((x, y, share), slopes, w, out));
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        if !self.has_rows(node) {
            return out.fill(0.0);
        }
        self.rows.ridge_gradient(w, out);
        self.rows.batch(node, batch).for_each(|row| self.add_gradient(row, self.slopes(true), w, out));
        let axes = self.rows.iter(node).skip(self.rows.own_rows(node));
        axes.for_each(|row| self.add_gradient(row, self.slopes(false), w, out));
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let (b, work) = work.split_at_mut(w.len());
        let (before, work) = work.split_at_mut(w.len());
        b.iter_mut().zip(w.iter()).for_each(|(b, w)| *b = w / tau);
        before.copy_from_slice(w);
        let value = self.value(node, w);
        self.interior_point(node, 1.0 / tau, b, w, work);
        // Whatever rounding did: a proximal step never makes things worse.
        let moved: f64 = before.iter().zip(w.iter()).map(|(a, b)| (a - b) * (a - b)).sum();
        let reached = self.value(node, w) + moved / (2.0 * tau);
        if reached.is_nan() || reached > value + 1e-12 * value.abs() {
            w.copy_from_slice(before);
        }
    }

    /// The proximal point method with growing steps; `g` of the last round is left at the start of `work[d..]`.
    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        if !self.has_rows(node) {
            return;
        }
        let (b, work) = work.split_at_mut(z.len());
        let mut tau = 1.0;
        for _ in 0..PROXIMAL_ROUNDS {
            for ((b, v), z) in b.iter_mut().zip(v).zip(z.iter()) {
                *b = v + z / tau;
            }
            let before = norm2(z);
            self.interior_point(node, 1.0 / tau, b, z, work);
            let moved: f64 = b.iter().zip(v).zip(z.iter()).map(|((b, v), z)| ((b - v) * tau - z).powi(2)).sum();
            if moved.sqrt() <= 1e-14 * (before + norm2(z)) {
                break;
            }
            tau *= 4.0;
        }
    }

    /// `L*(X'g + 2 ridge z) <= g'y + ridge |z|^2` for every `g` in the box.
    fn fenchel_gap(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        if !self.has_rows(node) {
            return FenchelGap { gap: 0.0, residue: norm2(v), slope: 0.0 };
        }
        let d = self.dim();
        let (z, work) = work.split_at_mut(d);
        let (rho, work) = work.split_at_mut(d);
        z.copy_from_slice(w);
        self.minimise_tilted(node, v, z, work);
        let g = &work[d..d + self.rows.data.rows(node).len()];
        self.gap_in_samples(node, w, v, z, rho, |r| g[r])
    }

    /// The step of the proximal point method: zero exactly where `-flow` is a subgradient at `w`.
    fn residual(&self, node: usize, w: &[f64], flow: &[f64], out: &mut [f64], work: &mut [f64]) {
        for ((o, w), f) in out.iter_mut().zip(w).zip(flow) {
            *o = w - f;
        }
        self.prox(node, 1.0, out, work);
        out.iter_mut().zip(w).for_each(|(o, w)| *o = w - *o);
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        Some(self)
    }

    /// Not with axes: their slopes are of another kind.
    fn softening(&self) -> Option<&dyn Softening> {
        (!self.rows.has_axes()).then_some(self)
    }

    fn lasso(&self) -> Option<&[f64]> {
        (!self.strength.is_empty()).then_some(&self.strength)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }
}

impl Kinks for Kinked {
    fn work_len(&self) -> usize {
        Loss::work_len(self)
    }

    fn kinks<'a>(&'a self, node: usize, out: &mut Vec<Kink<'a>>) {
        let rows = self.rows(node).filter(|(_, _, share, _)| *share > 0.0);
        out.extend(rows.map(|(x, y, a, (low, high))| Kink { x, y, low: a * low, high: a * high }));
    }

    fn smooth_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        if !self.has_rows(node) {
            out.fill(0.0);
            return 0.0;
        }
        self.rows.ridge_gradient(w, out);
        self.rows.ridge_value(w)
    }

    fn add_smooth_hessian(&self, node: usize, _w: &[f64], sum: &mut [f64], _work: &mut [f64]) {
        if self.has_rows(node) {
            let diagonal = self.rows.twice_ridge.iter().enumerate();
            diagonal.for_each(|(j, q)| sum[cholesky::packed_len(j) + j] += q);
        }
    }

    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], slopes: &[f64], work: &mut [f64]) -> FenchelGap {
        if !self.has_rows(node) {
            return FenchelGap { gap: 0.0, residue: norm2(v), slope: 0.0 };
        }
        // Rows without a share have no kink, and no slope.
        let (all, rho) =
            work[..w.len() + self.rows.data.rows(node).len()].split_at_mut(self.rows.data.rows(node).len());
        let mut given = slopes.iter();
        for (to, (.., share)) in all.iter_mut().zip(self.rows.iter(node)) {
            *to = if share > 0.0 { given.next().copied().unwrap_or(0.0) } else { 0.0 };
        }
        self.gap_in_samples(node, w, v, w, rho, |r| all[r])
    }
}

impl Softening for Kinked {
    fn softened(&self, beta: &[f64], sigma: f64) -> Box<dyn Loss> {
        let mut rows = self.rows.clone();
        rows.data = rows.data.shift_labels(|row| -beta[row] / sigma);
        Box::new(Smooth::with_rows(SoftKink { low: self.low, high: self.high, sigma }, rows))
    }

    fn update_slopes(&self, w: &Matrix, sigma: f64, beta: &mut Vec<f64>) {
        let data = &self.rows.data;
        beta.resize(data.len(), 0.0);
        for node in 0..data.nodes() {
            for row in data.rows(node) {
                let slope = beta[row] + sigma * (data.row(row).dot(w.row(node)) - data.y()[row]);
                beta[row] = slope.clamp(self.low, self.high);
            }
        }
    }

    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], beta: &[f64], work: &mut [f64]) -> FenchelGap {
        if !self.has_rows(node) {
            return FenchelGap { gap: 0.0, residue: norm2(v), slope: 0.0 };
        }
        let first = self.rows.data.rows(node).start;
        self.gap_in_samples(node, w, v, w, &mut work[..w.len()], |r| self.rows.share[first + r] * beta[first + r])
    }
}

impl SecondOrder for Kinked {
    fn has_kinks(&self) -> bool {
        true
    }

    fn hessian_len(&self, node: usize) -> usize {
        self.rows.hessian_len(node)
    }

    /// Rows on their kink count as very curved, the others as flat.
    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.rows.hessian(node, |x, y| kink_curvature(x.dot(w) - y, y), out, work);
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

fn kink_curvature(distance: f64, y: f64) -> f64 {
    let near = 1e-4 * (1.0 + y.abs());
    if distance.abs() < near { 1.0 / near } else { 0.0 }
}
