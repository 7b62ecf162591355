//! What a node's rows say about its model, as a Gaussian: `log p(rows | w) = g'(w - mu) - (w - mu)'H(w - mu) / 2 + const`, with
//! gradient `g` and Hessian `H` of the log-likelihood at the pooled model `mu` (exact for squared losses, Laplace's
//! approximation else). Models of different nodes vary around `mu` with covariance `D`. All of `mu`, `D` and the noise are
//! learnt from all rows ([`coupling`](crate::learn::coupling) without a graph), so that nodes with fewer rows than
//! parameters can be compared as well.
//!
//! With `P = D^-1`, the rows of a node, or of two nodes that share their model, have the log marginal likelihood
//!
//! ```text
//! f(H, g) = g'(H + P)^-1 g / 2 - log|H + P| / 2 + log|P| / 2
//! ```

use super::{Discrepancy, NodeRows};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::learn::coupling::{Coupling, CouplingOptions, Likelihood, Rho, Structure, learn};
use crate::linalg::cholesky::{factor, packed_len, row, solve};
use crate::loss::{Family, LossOptions};
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::ordered_map;

/// Nodes that the spread of the models is learnt from.
const NODES_MAX: usize = 2_000;

/// Gradient and Hessian of every node, and how models vary.
pub struct Gaussian {
    /// `g_i`.
    gradient: Matrix,
    /// `H_i`, lower triangles row after row.
    hessian: Matrix,
    /// `P`, its lower triangle.
    precision: Vec<f64>,
    /// `log|P| / 2`.
    half_log: f64,
    /// Posterior means of the models, relative to `mu`.
    mean: Matrix,
    /// `f(H_i, g_i)`.
    alone: Vec<f64>,
}

impl Gaussian {
    /// Learns how models vary, and what every node says.
    pub fn of(rows: &NodeRows) -> Result<Gaussian> {
        let coupling = spread(rows)?;
        let (gradient, hessian) = curvatures(rows, &coupling)?;
        let precision = inverse(&coupling.covariance);
        let mut factored = precision.clone();
        let d = gradient.cols();
        factor(&mut factored, d);
        let half_log = half_log_determinant(&factored, d);
        let n = gradient.rows();
        let mut gaussian =
            Gaussian { gradient, hessian, precision, half_log, mean: Matrix::zeros(n, d), alone: Vec::new() };
        let one = |i: usize| {
            let mut work = Vec::new();
            let value = gaussian.value(&[i], &mut work);
            (value, work[..d].to_vec())
        };
        let (alone, means): (Vec<f64>, Vec<Vec<f64>>) = ordered_map(n, one).into_iter().unzip();
        gaussian.mean = Matrix::from_rows(d, means.concat());
        gaussian.alone = alone;
        Ok(gaussian)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.alone.len()
    }

    /// `f` of some nodes that share a model; the start of `work` gets its mean.
    fn value(&self, nodes: &[usize], work: &mut Vec<f64>) -> f64 {
        let d = self.gradient.cols();
        work.clear();
        work.resize(2 * d + packed_len(d), 0.0);
        let (mean, rest) = work.split_at_mut(d);
        let (sum, form) = rest.split_at_mut(d);
        form.copy_from_slice(&self.precision);
        for &i in nodes {
            axpy(1.0, self.gradient.row(i), sum);
            axpy(1.0, self.hessian.row(i), form);
        }
        factor(form, d);
        mean.copy_from_slice(sum);
        solve(form, mean);
        0.5 * dot(sum, mean) - half_log_determinant(form, d) + self.half_log
    }

    /// Log of the odds that rows of two nodes come from one model rather than from two independent ones, where both are
    /// equally likely beforehand.
    pub fn log_odds(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        self.value(&[i, j], work) - self.alone[i] - self.alone[j]
    }

    /// Twice the log-likelihood that is lost if two nodes share a model (with the ridge that the spread of models stands for).
    fn loss_of_sharing(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        let d = self.gradient.cols();
        self.value(&[i, j], work);
        let shared: f64 = work[..d].iter().zip(&work[d..2 * d]).map(|(m, g)| m * g).sum();
        let apart = |k: usize| dot(self.mean.row(k), self.gradient.row(k));
        (apart(i) + apart(j) - shared).max(0.0)
    }

    /// `(m_i - m_j)' (C_i + C_j)^-1 (m_i - m_j)` with posterior means and covariances `C = (H + P)^-1`.
    fn wald(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        // (C_i + C_j)^-1 = A_i (A_i + A_j)^-1 A_j for A = C^-1: one factor instead of three.
        let d = self.gradient.cols();
        work.clear();
        work.resize(3 * d + 3 * packed_len(d), 0.0);
        let (vectors, forms) = work.split_at_mut(3 * d);
        let (first, rest) = forms.split_at_mut(packed_len(d));
        let (second, both) = rest.split_at_mut(packed_len(d));
        for (form, k) in [(&mut *first, i), (&mut *second, j)] {
            form.copy_from_slice(&self.precision);
            axpy(1.0, self.hessian.row(k), form);
        }
        both.iter_mut().zip(first.iter().zip(second.iter())).for_each(|(b, (a, c))| *b = a + c);
        let (difference, rest) = vectors.split_at_mut(d);
        let (left, right) = rest.split_at_mut(d);
        difference.copy_from_slice(self.mean.row(i));
        axpy(-1.0, self.mean.row(j), difference);
        crate::linalg::cholesky::symmetric_product(first, difference, left);
        crate::linalg::cholesky::symmetric_product(second, difference, right);
        factor(both, d);
        solve(both, right);
        dot(left, right).max(0.0)
    }
}

fn spread(rows: &NodeRows) -> Result<Coupling> {
    if !matches!(rows.family, Family::Squared | Family::Logistic | Family::Poisson) {
        return Err(Error::Method {
            method: "a test of two nodes",
            needs: "a likelihood: squared, logistic or Poisson loss",
        });
    }
    let (n, all) = (rows.data.nodes(), &rows.data);
    let step = n.div_ceil(NODES_MAX).max(1);
    let few: Vec<usize> = (0..n).step_by(step).collect();
    let data = if step > 1 { of_nodes(all, &few) } else { all.clone() };
    let options = CouplingOptions {
        family: rows.family,
        structures: vec![Structure::Diagonal],
        rho: Rho::Fixed(0.0),
        likelihood: Likelihood::Restricted,
        prior: false,
        intercept: rows.intercept,
        ..CouplingOptions::default()
    };
    Ok(learn(&Graph::new(data.nodes(), &[])?, &data, &options)?.coupling)
}

/// The rows of some nodes.
pub fn of_nodes(data: &Dataset, nodes: &[usize]) -> Dataset {
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for &i in nodes {
        x.extend_from_slice(data.features(i));
        y.extend_from_slice(data.labels(i));
        weight.extend_from_slice(data.weights(i));
        offsets.push(y.len());
    }
    Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight).expect("rows that were valid stay valid")
}

/// Gradients and Hessians of the log-likelihoods at the common mean.
fn curvatures(rows: &NodeRows, coupling: &Coupling) -> Result<(Matrix, Matrix)> {
    let loss = rows.family.build(rows.data.clone(), &LossOptions::default())?;
    let second = loss.second_order().expect("losses with a likelihood have Hessians");
    let (d, mu) = (loss.dim(), &coupling.mu);
    // L_i is a mean over rows; (y - s)^2 is twice the negative log-likelihood in units of s2.
    let unit = if rows.family == Family::Squared { 0.5 / coupling.s2.max(f64::MIN_POSITIVE) } else { 1.0 };
    let one = |i: usize| {
        let scale = unit * rows.data.weights(i).iter().sum::<f64>();
        let (mut gradient, mut sum) = (vec![0.0; d], vec![0.0; packed_len(d)]);
        let (mut hessian, mut work) = (vec![0.0; second.hessian_len(i)], vec![0.0; loss.work_len()]);
        loss.gradient(i, mu, &mut gradient);
        second.hessian(i, mu, &mut hessian, &mut work);
        second.add_hessian(i, &hessian, &mut sum);
        gradient.iter_mut().for_each(|g| *g *= -scale);
        sum.iter_mut().for_each(|h| *h *= scale);
        (gradient, sum)
    };
    let (gradients, hessians): (Vec<_>, Vec<_>) = ordered_map(loss.nodes(), one).into_iter().unzip();
    Ok((Matrix::from_rows(d, gradients.concat()), Matrix::from_rows(packed_len(d), hessians.concat())))
}

/// `D^-1`, its lower triangle. A coefficient that hardly varies has a large, but harmless, precision.
fn inverse(covariance: &Matrix) -> Vec<f64> {
    let d = covariance.cols();
    let mut all = covariance.as_slice().to_vec();
    let largest = (0..d).map(|j| all[j * d + j]).fold(f64::MIN_POSITIVE, f64::max);
    (0..d).for_each(|j| all[j * d + j] += 1e-9 * largest);
    crate::linalg::cholesky::invert(&mut all, d, &mut vec![0.0; d]);
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| all[i * d + j]).collect()
}

/// Half the log determinant of a factored matrix, whose factor keeps reciprocals on its diagonal.
fn half_log_determinant(factored: &[f64], d: usize) -> f64 {
    -(0..d).map(|j| row(factored, j)[j].ln()).sum::<f64>()
}

/// The difference of two models in units of its standard error.
pub struct Wald(pub Gaussian);

impl Discrepancy for Wald {
    fn points(&self) -> &Matrix {
        &self.0.mean
    }

    fn between(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        self.0.wald(i, j, work).sqrt()
    }

    fn is_euclidean(&self) -> bool {
        false
    }
}

/// The likelihood lost by sharing a model.
pub struct PooledFit(pub Gaussian);

impl Discrepancy for PooledFit {
    fn points(&self) -> &Matrix {
        &self.0.mean
    }

    fn between(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64 {
        self.0.loss_of_sharing(i, j, work).sqrt()
    }

    fn is_euclidean(&self) -> bool {
        false
    }
}

impl Gaussian {
    /// Posterior means of the models, relative to the common mean.
    pub fn means(&self) -> &Matrix {
        &self.mean
    }
}
