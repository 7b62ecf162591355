//! The quadratic form `w' Q w` of a problem with quadratic losses and the penalty `squared`; Propositions 5.1 and 5.2 of the book.
//!
//! ```text
//! Q = blockdiag(Q^(i)) + lambda L (x) I,    Q^(i) = L_i'' / 2 = X_i'X_i / m_i + ridge
//! ```

use super::connectivity::{Connectivity, degree_max, eigenvalues};
use super::{Comparison, Finding};
use crate::graph::Graph;
use crate::matrix::{Matrix, axpy, dot};
use crate::problem::Problem;
use crate::trust::explain::hessians;

/// Eigenvalues of larger forms are left out.
const DENSE_MAX: usize = 1600;

/// What the propositions are made of.
#[derive(Debug, Clone)]
pub(super) struct Quadratic {
    /// `L_i''`, `d x d` each.
    pub hessians: Vec<f64>,
    /// `lambda`.
    pub alpha: f64,
    /// The largest eigenvalue of any `Q^(i)`.
    pub lambda_max: f64,
    /// The smallest eigenvalue of the mean of all `Q^(i)`.
    pub lambda_bar_min: f64,
    /// Of the graph.
    pub connectivity: Connectivity,
    /// The largest weighted degree.
    pub degree_max: f64,
    /// The smallest and the largest eigenvalue of `Q`; `None` if it is too large to be looked at.
    pub extremes: Option<(f64, f64)>,
}

impl Quadratic {
    /// Looks at a problem; says why there is no quadratic form.
    pub fn of(problem: &Problem) -> Result<Self, String> {
        let (n, d) = (problem.nodes(), problem.dim());
        if problem.penalty().name() != "squared" || problem.lambda() == 0.0 {
            return Err("about the penalty squared with a positive lambda".into());
        }
        if !problem.loss().is_quadratic() {
            return Err("about losses that are quadratic".into());
        }
        let hessians = hessians(problem, &Matrix::zeros(n, d)).ok_or("about losses with Hessians")?;
        let eigen = |a: &[f64]| eigenvalues(a, d).ok_or("eigenvalues did not converge");
        let (mut lambda_max, mut mean) = (0.0f64, vec![0.0; d * d]);
        for hessian in hessians.chunks_exact(d * d) {
            lambda_max = lambda_max.max(0.5 * eigen(hessian)?[d - 1]);
            mean.iter_mut().zip(hessian).for_each(|(m, h)| *m += 0.5 * h / n as f64);
        }
        let means = eigen(&mean)?;
        let lambda_bar_min = positive(means[0], means[d - 1], d);
        let alpha = problem.lambda();
        let extremes = (n * d <= DENSE_MAX).then(|| extremes(problem, &hessians)).flatten();
        let connectivity = Connectivity::of(problem.graph());
        let degree_max = degree_max(problem.graph());
        Ok(Quadratic { hessians, alpha, lambda_max, lambda_bar_min, connectivity, degree_max, extremes })
    }

    /// `lambda_bar_min / (4 lambda_max)`.
    pub fn rho(&self) -> f64 {
        self.lambda_bar_min / (4.0 * self.lambda_max)
    }

    /// `min(lambda_2 alpha rho^2, lambda_bar_min / 2)`; says which assumption of Proposition 5.2 fails.
    pub fn least(&self) -> Result<f64, String> {
        if self.connectivity.lambda_2 <= 0.0 {
            return Err("the graph is not connected".into());
        }
        if self.lambda_bar_min <= 0.0 {
            return Err("the mean of the local forms is singular".into());
        }
        Ok((self.connectivity.lambda_2 * self.alpha * self.rho().powi(2)).min(0.5 * self.lambda_bar_min))
    }

    /// The bound of Proposition 5.2.
    pub fn smallest(&self) -> Result<f64, String> {
        Ok(self.least()? / (1.0 + self.rho().powi(2)))
    }

    /// Both eigenvalues, the smallest positive; says why not.
    pub fn ends(&self) -> Result<(f64, f64), String> {
        let (low, high) = self.extremes.ok_or_else(|| format!("more than {DENSE_MAX} parameters in all"))?;
        match low > 1e-12 * high {
            true => Ok((low, high)),
            false => Err("the form is singular: rows and coupling do not determine the models".into()),
        }
    }

    /// `out <- 2 Q v`.
    pub fn product(&self, graph: &Graph, v: &Matrix, out: &mut Matrix) {
        let d = v.cols();
        for i in 0..v.rows() {
            let rows = self.hessians[i * d * d..][..d * d].chunks_exact(d);
            out.row_mut(i).iter_mut().zip(rows).for_each(|(out, row)| *out = dot(row, v.row(i)));
            for end in graph.ends(i) {
                let weight = 2.0 * self.alpha * graph.weight(end.edge as usize);
                axpy(weight, v.row(i), out.row_mut(i));
                axpy(-weight, v.row(end.neighbour as usize), out.row_mut(i));
            }
        }
    }

    /// A bound on the distance of `w` from the minimiser, given the gradient there.
    pub fn distance(&self, gradient: f64) -> Result<f64, String> {
        let low = self.ends().map(|ends| ends.0).or_else(|_| self.smallest())?;
        Ok(gradient / (2.0 * low))
    }
}

/// An eigenvalue that is zero up to rounding is zero.
pub(super) fn positive(value: f64, largest: f64, n: usize) -> f64 {
    if value > 1e-13 * n as f64 * largest { value } else { 0.0 }
}

fn extremes(problem: &Problem, hessians: &[f64]) -> Option<(f64, f64)> {
    let (n, d, graph) = (problem.nodes(), problem.dim(), problem.graph());
    let size = n * d;
    let mut q = vec![0.0; size * size];
    for i in 0..n {
        for (a, row) in hessians[i * d * d..][..d * d].chunks_exact(d).enumerate() {
            row.iter().enumerate().for_each(|(b, h)| q[(i * d + a) * size + i * d + b] += 0.5 * h);
        }
    }
    for e in 0..graph.edges() {
        let ((i, j), weight) = (graph.nodes_of(e), problem.edge_weights()[e]);
        for a in 0..d {
            let (p, r) = (i * d + a, j * d + a);
            q[p * size + p] += weight;
            q[r * size + r] += weight;
            q[p * size + r] -= weight;
            q[r * size + p] -= weight;
        }
    }
    let values = eigenvalues(&q, size)?;
    Some((values[0], values[size - 1]))
}

/// Propositions 5.1 and 5.2.
pub(super) fn findings(facts: &Result<Quadratic, String>) -> Vec<Finding> {
    let with = |f: fn(&Quadratic) -> Result<Comparison, String>| facts.as_ref().map_err(String::clone).and_then(f);
    vec![
        Finding::new("Prop. 5.1", "largest eigenvalue of Q, by the Laplacian's", with(by_laplacian)),
        Finding::new("Prop. 5.1", "largest eigenvalue of Q, by the largest degree", with(by_degree)),
        Finding::new("Prop. 5.2", "smallest eigenvalue of Q", with(proposition_5_2)),
    ]
}

pub(super) fn by_laplacian(q: &Quadratic) -> Result<Comparison, String> {
    let high = q.extremes.ok_or_else(|| format!("more than {DENSE_MAX} parameters in all"))?.1;
    Ok(Comparison::at_most(high, q.lambda_max + q.alpha * q.connectivity.lambda_n, 0.0))
}

pub(super) fn by_degree(q: &Quadratic) -> Result<Comparison, String> {
    let high = q.extremes.ok_or_else(|| format!("more than {DENSE_MAX} parameters in all"))?.1;
    Ok(Comparison::at_most(high, q.lambda_max + 2.0 * q.alpha * q.degree_max, 0.0))
}

pub(super) fn proposition_5_2(q: &Quadratic) -> Result<Comparison, String> {
    let bound = q.smallest()?;
    let (low, high) = q.extremes.ok_or_else(|| format!("more than {DENSE_MAX} parameters in all"))?;
    Ok(Comparison::at_least(low, bound, 1e-13 * high))
}
