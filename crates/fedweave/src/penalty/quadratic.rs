//! `t' Q_e t` with positive semidefinite `Q_e`: for linear models, the discrepancy of predictions on public data.
//!
//! With `Q = V diag(e) V'` every operator is diagonal in the basis `V`.

use faer::{Mat, Side};

use super::Penalty;
use crate::error::{Error, Result};
use crate::matrix::{Matrix, axpy, dot};

/// A quadratic form, one for all edges or one per edge.
#[derive(Debug, Clone)]
pub struct Quadratic {
    forms: Vec<Form>,
}

/// Eigenvalues and eigenvectors (one per row) of a psd matrix.
#[derive(Debug, Clone)]
struct Form {
    values: Vec<f64>,
    vectors: Matrix,
}

impl Quadratic {
    /// One matrix for all edges, or as many matrices as there are edges.
    pub fn new(matrices: &[Matrix]) -> Result<Self> {
        let forms = matrices.iter().map(Form::new).collect::<Result<Vec<_>>>()?;
        if forms.is_empty() {
            return Err(Error::Size { what: "matrices of the quadratic penalty", expected: 1, found: 0 });
        }
        Ok(Quadratic { forms })
    }

    fn form(&self, edge: usize) -> &Form {
        if self.forms.len() == 1 { &self.forms[0] } else { &self.forms[edge] }
    }
}

impl Form {
    fn new(q: &Matrix) -> Result<Self> {
        let d = q.cols();
        if q.rows() != d {
            return Err(Error::Size { what: "rows of the penalty matrix", expected: d, found: q.rows() });
        }
        let size = q.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let asymmetry = (0..d).flat_map(|i| (0..i).map(move |j| (q.row(i)[j] - q.row(j)[i]).abs())).fold(0.0, f64::max);
        let needs = "a symmetric positive semidefinite matrix";
        if !(size.is_finite() && asymmetry <= 1e-12 * size) {
            return Err(Error::Parameter { name: "asymmetry of the penalty matrix", value: asymmetry, needs });
        }
        // One thread: the result must not depend on their number.
        faer::set_global_parallelism(faer::Par::Seq);
        let failed = Error::Parameter { name: "largest entry of the penalty matrix", value: size, needs };
        let eigen = Mat::from_fn(d, d, |i, j| q.row(i)[j]).self_adjoint_eigen(Side::Lower).map_err(|_| failed)?;
        let values: Vec<f64> = (0..d).map(|k| eigen.S()[k]).collect();
        if let Some(&value) = values.iter().find(|v| **v < -1e-10 * size) {
            return Err(Error::Parameter { name: "an eigenvalue of the penalty matrix", value, needs });
        }
        // Eigenvalues that are zero up to rounding must be zero: their directions carry no flow.
        let values = values.into_iter().map(|v| if v > 1e-13 * size * d as f64 { v } else { 0.0 }).collect();
        let vectors = Matrix::from_rows(d, (0..d * d).map(|k| eigen.U()[(k % d, k / d)]).collect());
        Ok(Form { values, vectors })
    }

    /// `t <- V f(e) V' t`.
    fn apply(&self, f: impl Fn(f64) -> f64, t: &mut [f64], work: &mut [f64]) {
        let out = &mut work[..t.len()];
        out.fill(0.0);
        for (k, &e) in self.values.iter().enumerate() {
            axpy(f(e) * dot(self.vectors.row(k), t), self.vectors.row(k), out);
        }
        t.copy_from_slice(out);
    }

    fn sum(&self, f: impl Fn(f64, f64) -> f64, t: &[f64]) -> f64 {
        (0..self.values.len()).map(|k| f(self.values[k], dot(self.vectors.row(k), t))).sum()
    }
}

impl Penalty for Quadratic {
    fn name(&self) -> &'static str {
        "quadratic"
    }

    fn check(&self, edges: usize, dim: usize) -> Result<()> {
        if self.forms.len() != 1 && self.forms.len() != edges {
            return Err(Error::Size {
                what: "matrices of the quadratic penalty",
                expected: edges,
                found: self.forms.len(),
            });
        }
        match self.forms.iter().find(|f| f.values.len() != dim) {
            Some(f) => Err(Error::Size { what: "order of a penalty matrix", expected: dim, found: f.values.len() }),
            None => Ok(()),
        }
    }

    fn value(&self, edge: usize, t: &[f64]) -> f64 {
        self.form(edge).sum(|e, c| e * c * c, t)
    }

    fn prox(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]) {
        self.form(edge).apply(|e| 1.0 / (1.0 + 2.0 * weight * e), t, work);
    }

    fn gradient(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]) {
        self.form(edge).apply(|e| 2.0 * weight * e, t, work);
    }

    fn smoothness(&self, edge: usize) -> f64 {
        2.0 * self.form(edge).values.iter().copied().fold(0.0, f64::max)
    }

    /// Infinite for a flow along a direction that costs nothing, except for what rounding puts there.
    fn conjugate(&self, edge: usize, weight: f64, u: &[f64]) -> f64 {
        let free = 1e-12 * dot(u, u).sqrt();
        let term = |e: f64, c: f64| match e > 0.0 {
            true => c * c / (4.0 * weight * e),
            false if c.abs() <= free => 0.0,
            false => f64::INFINITY,
        };
        self.form(edge).sum(term, u)
    }

    fn excess(&self, edge: usize, _weight: f64, u: &[f64]) -> f64 {
        let off = self.form(edge).sum(|e, c| if e > 0.0 { 0.0 } else { c * c }, u).sqrt();
        let size = dot(u, u).sqrt();
        if off <= 1e-12 * size { 0.0 } else { off / size }
    }

    fn prox_conjugate(&self, edge: usize, weight: f64, sigma: f64, u: &mut [f64], work: &mut [f64]) {
        self.form(edge).apply(|e| 2.0 * weight * e / (2.0 * weight * e + sigma), u, work);
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn stiffness(&self, edge: usize, weight: f64, sigma: f64, _y: &[f64]) -> f64 {
        let values = &self.form(edge).values;
        values.iter().map(|e| 2.0 * weight * e / (2.0 * weight * e + sigma)).sum::<f64>() / values.len() as f64
    }

    fn jacobian(&self, edge: usize, weight: f64, sigma: f64, _y: &[f64], v: &mut [f64], work: &mut [f64]) {
        self.prox_conjugate(edge, weight, sigma, v, work);
    }
}
