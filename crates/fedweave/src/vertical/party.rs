//! One party: its columns, its parameters, and its part of conjugate gradients. Nothing here looks at another party.

use super::{Sums, VerticalOptions};
use crate::linalg::cholesky::{factor, packed_len, solve};
use crate::matrix::{Matrix, axpy, dot};

/// Columns that are nearly combinations of others still have a factor.
const LIFT: f64 = 1e-13;

pub(super) struct Party {
    /// Scaled columns; the last one of the holder of the labels may be ones.
    x: Matrix,
    /// Twice the ridge of every column.
    stiff: Vec<f64>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    w: Vec<f64>,
    /// The step that is being found.
    step: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// The Cholesky factor of its block of the Hessian.
    block: Vec<f64>,
}

impl Party {
    pub fn new(x: &Matrix, intercept: bool, options: &VerticalOptions) -> Party {
        let (n, own) = (x.rows(), x.cols());
        let (mut mean, mut scale) = (vec![0.0; own], vec![1.0; own]);
        if options.standardize {
            for j in 0..own {
                let column = || (0..n).map(|r| x.row(r)[j]);
                let centre = column().sum::<f64>() / n.max(1) as f64;
                let deviation = (column().map(|v| (v - centre).powi(2)).sum::<f64>() / n.max(1) as f64).sqrt();
                if options.intercept {
                    mean[j] = centre;
                }
                if deviation > 1e-12 * centre.abs() {
                    scale[j] = deviation;
                }
            }
        }
        let d = own + usize::from(intercept);
        let entry = |r: usize, j: usize| if j < own { (x.row(r)[j] - mean[j]) / scale[j] } else { 1.0 };
        let rows = (0..n).flat_map(|r| (0..d).map(move |j| (r, j))).map(|(r, j)| entry(r, j)).collect();
        let stiff = (0..d).map(|j| if j < own { 2.0 * options.ridge } else { 0.0 }).collect();
        let zeros = || vec![0.0; d];
        Party {
            x: Matrix::from_rows(d, rows),
            stiff,
            w: zeros(),
            step: zeros(),
            residual: zeros(),
            direction: zeros(),
            block: vec![0.0; packed_len(d)],
            mean,
            scale,
        }
    }

    fn dim(&self) -> usize {
        self.w.len()
    }

    /// Factors `X' C X + stiff`.
    pub fn prepare(&mut self, curvature: &[f64]) {
        let d = self.dim();
        self.block.fill(0.0);
        for (r, c) in curvature.iter().enumerate() {
            let x = self.x.row(r);
            for (i, xi) in x.iter().enumerate() {
                axpy(c * xi, &x[..=i], &mut self.block[packed_len(i)..packed_len(i + 1)]);
            }
        }
        for (i, stiff) in self.stiff.iter().enumerate() {
            let diagonal = &mut self.block[packed_len(i + 1) - 1];
            *diagonal += stiff + LIFT * *diagonal;
        }
        factor(&mut self.block, d);
    }

    /// `X'v + stiff . u`.
    fn pulled(&self, v: &[f64], u: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.stiff.iter().zip(u).map(|(s, u)| s * u).collect();
        v.iter().enumerate().for_each(|(r, v)| axpy(*v, self.x.row(r), &mut out));
        out
    }

    /// The gradient of its parameters, from the slopes of all rows; returns the sum of its squares.
    pub fn pull(&mut self, slopes: &[f64]) -> f64 {
        self.residual = self.pulled(slopes, &self.w);
        self.residual.iter_mut().for_each(|g| *g = -*g);
        self.step.fill(0.0);
        dot(&self.residual, &self.residual)
    }

    fn prepared(&self) -> Vec<f64> {
        let mut out = self.residual.clone();
        solve(&self.block, &mut out);
        out
    }

    /// The first direction; returns its product with the residual.
    pub fn begin(&mut self) -> f64 {
        self.direction = self.prepared();
        dot(&self.residual, &self.direction)
    }

    /// Adds `X p` to the scores; returns `p' stiff p`.
    pub fn add_scores(&self, scores: &mut [f64]) -> f64 {
        scores.iter_mut().enumerate().for_each(|(r, s)| *s += dot(self.x.row(r), &self.direction));
        self.direction.iter().zip(&self.stiff).map(|(p, s)| p * p * s).sum()
    }

    /// Goes `length` along the direction; returns the squares of what is left, and its product with what is left, prepared.
    pub fn step(&mut self, length: f64, weighted: &[f64]) -> (f64, f64) {
        let product = self.pulled(weighted, &self.direction);
        axpy(length, &self.direction, &mut self.step);
        axpy(-length, &product, &mut self.residual);
        (dot(&self.residual, &self.residual), dot(&self.residual, &self.prepared()))
    }

    /// The next direction.
    pub fn turn(&mut self, turn: f64) {
        let prepared = self.prepared();
        self.direction.iter_mut().zip(&prepared).for_each(|(p, z)| *p = z + turn * *p);
    }

    pub fn sums(&self) -> Sums {
        let ridged = (0..self.dim()).filter(|j| self.stiff[*j] > 0.0);
        ridged.fold(Sums::default(), |sums, j| Sums {
            across: sums.across + self.w[j] * self.step[j],
            direction: sums.direction + self.step[j] * self.step[j],
        })
    }

    /// Goes this share of the step.
    pub fn advance(&mut self, share: f64) {
        axpy(share, &self.step, &mut self.w);
    }

    /// Parameters of its columns as they are; returns what the intercept has to give up for that.
    pub fn restore(&mut self) -> f64 {
        let mut shift = 0.0;
        for (w, (m, s)) in self.w.iter_mut().zip(self.mean.iter().zip(&self.scale)) {
            *w /= s;
            shift += *w * m;
        }
        shift
    }

    pub fn take_intercept(&mut self) -> f64 {
        self.w.pop().unwrap_or(0.0)
    }

    pub fn into_parameters(self) -> Vec<f64> {
        self.w
    }
}
