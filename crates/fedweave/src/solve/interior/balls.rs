//! Flows in balls: `|u| < c`, with `z` the multiplier of the bound. For the differences `t` of an edge they want `t = z u` and
//! `z (c^2 - |u|^2) = 2 mu` (Andersen, Christiansen, Conn and Overton treat sums of norms much like this).

use crate::matrix::{Matrix, dot};

/// The flows of all edges, and the direction in which they move.
pub struct Balls {
    radius: Vec<f64>,
    pub u: Matrix,
    z: Vec<f64>,
    /// `du = M (pull + dt)`.
    pub pull: Matrix,
    /// What the products of slacks and multipliers are to be.
    target: Vec<f64>,
    pub du: Matrix,
    dz: Vec<f64>,
}

impl Balls {
    /// Flows that fit the differences `t`, with complementarity of about `mu`.
    pub fn new(radius: &[f64], t: &Matrix, mu: f64) -> Self {
        let mut u = t.clone();
        let mut z = vec![0.0; radius.len()];
        for e in 0..radius.len() {
            z[e] = 2.0 * (dot(t.row(e), t.row(e)).sqrt() + mu / radius[e]) / radius[e];
            u.row_mut(e).iter_mut().for_each(|u| *u /= z[e]);
        }
        let zero = || Matrix::zeros(t.rows(), t.cols());
        let len = z.len();
        Balls { radius: radius.to_vec(), u, dz: vec![0.0; len], target: vec![0.0; len], z, pull: zero(), du: zero() }
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.z.len()
    }

    fn slack(&self, e: usize) -> f64 {
        let size = dot(self.u.row(e), self.u.row(e)).sqrt();
        (self.radius[e] - size) * (self.radius[e] + size)
    }

    /// `sum z (c^2 - |u|^2)` after a step of this length.
    pub fn complementarity(&self, length: f64) -> f64 {
        let at = |e: usize| {
            let (u, du) = (self.u.row(e), self.du.row(e));
            let slack = self.slack(e) - length * (2.0 * dot(u, du) + length * dot(du, du));
            (self.z[e] + length * self.dz[e]) * slack
        };
        (0..self.len()).map(at).sum()
    }

    /// `out <- M v = (v - 2 u u'v / (c^2 + |u|^2)) / z`.
    pub fn multiply(&self, e: usize, v: &[f64], out: &mut [f64]) {
        let u = self.u.row(e);
        let along = 2.0 * dot(u, v) / (self.radius[e] * self.radius[e] + dot(u, u));
        out.iter_mut().zip(v).zip(u).for_each(|((o, v), u)| *o = (v - along * u) / self.z[e]);
    }

    /// `block <- M`, all entries.
    pub fn fill(&self, e: usize, block: &mut [f64]) {
        let u = self.u.row(e);
        let d = u.len();
        let c = 2.0 / (self.radius[e] * self.radius[e] + dot(u, u));
        for (i, row) in block.chunks_exact_mut(d).enumerate() {
            let along = c * u[i] / self.z[e];
            row.iter_mut().zip(u).for_each(|(m, u)| *m = -along * u);
            row[i] += 1.0 / self.z[e];
        }
    }

    /// Aims at complementarity `mu` for differences `t`; after a first direction, with its second order corrected for.
    pub fn aim(&mut self, mu: f64, corrected: bool, t: &Matrix) {
        for e in 0..self.len() {
            self.target[e] = self.corrected_target(e, mu, corrected);
            let share = self.target[e] / self.slack(e);
            let dz = if corrected { self.dz[e] } else { 0.0 };
            let (pull, u, du) = (self.pull.row_mut(e), self.u.row(e), self.du.row(e));
            for (j, pull) in pull.iter_mut().enumerate() {
                *pull = t.row(e)[j] - dz * du[j] - share * u[j];
            }
        }
    }

    fn corrected_target(&self, e: usize, mu: f64, corrected: bool) -> f64 {
        let (u, du, dz) = (self.u.row(e), self.du.row(e), self.dz[e]);
        match corrected {
            true => 2.0 * mu + 2.0 * dz * dot(u, du) + (self.z[e] + dz) * dot(du, du),
            false => 2.0 * mu,
        }
    }

    /// The direction, for the change `dt`.
    pub fn direct(&mut self, dt: &Matrix) {
        let mut v = vec![0.0; dt.cols()];
        for e in 0..self.len() {
            let target = self.target[e];
            v.iter_mut().zip(dt.row(e)).zip(self.pull.row(e)).for_each(|((v, t), p)| *v = t + p);
            let mut du = std::mem::take(&mut self.du);
            self.multiply(e, &v, du.row_mut(e));
            let along = dot(self.u.row(e), du.row(e));
            self.du = du;
            self.dz[e] = (target + 2.0 * self.z[e] * along) / self.slack(e) - self.z[e];
        }
    }

    /// The longest step that keeps everything inside.
    pub fn longest(&self) -> f64 {
        let mut longest = f64::INFINITY;
        for e in 0..self.len() {
            let (u, du) = (self.u.row(e), self.du.row(e));
            if self.dz[e] < 0.0 {
                longest = longest.min(-self.z[e] / self.dz[e]);
            }
            // The positive root of |u + a du|^2 = c^2, without cancellation.
            let (a, b, c) = (dot(du, du), dot(u, du), self.slack(e));
            if a > 0.0 {
                let root = (b * b + a * c).sqrt();
                longest = longest.min(if b > 0.0 { c / (b + root) } else { (root - b) / a });
            }
        }
        longest
    }

    /// A step; rounding does not put anything on the boundary.
    pub fn step(&mut self, length: f64) {
        for e in 0..self.len() {
            self.z[e] = (self.z[e] + length * self.dz[e]).max(1e-300);
            let (du, c) = (self.du.row(e), (1.0 - 1e-15) * self.radius[e]);
            let u = self.u.row_mut(e);
            u.iter_mut().zip(du).for_each(|(u, du)| *u += length * du);
            let size = dot(u, u).sqrt();
            if size > c {
                u.iter_mut().for_each(|u| *u *= c / size);
            }
        }
    }
}
