//! The loss of one node on its own: what a client of a federation is asked about its rows.

use fedweave::loss::Loss;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{plain, raised};
use crate::task::Task;

/// `L_i` of one node, with its rows.
#[pyclass(frozen)]
pub struct LocalLoss {
    loss: Box<dyn Loss>,
}

#[pymethods]
impl LocalLoss {
    /// The loss of a task with one node. It may lack a minimiser: neighbours, and proximal steps, hold it back.
    #[new]
    fn new(py: Python<'_>, task: Task<'_>) -> PyResult<Self> {
        let ready = task.assembled(py)?;
        let loss = ready.loss.build(ready.input.data, &ready.request.model.options);
        let loss = loss.map_err(|error| raised(py, &error, &ready.origin))?;
        if loss.nodes() != 1 {
            return Err(plain(py, "SizeError", &format!("a local loss has one node, found {}", loss.nodes())));
        }
        Ok(LocalLoss { loss })
    }

    /// Number of parameters.
    #[getter]
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    /// Mean second derivative at zero; `None` for losses with kinks.
    fn curvature(&self) -> Option<f64> {
        let d = self.dim();
        if !self.loss.has_hessian() || !self.loss.has_rows(0) {
            return None;
        }
        let second = self.loss.second_order()?;
        let (mut hessian, mut sum) = (vec![0.0; second.hessian_len(0)], vec![0.0; d * (d + 1) / 2]);
        second.hessian(0, &vec![0.0; d], &mut hessian, &mut self.work());
        second.add_hessian(0, &hessian, &mut sum);
        Some((0..d).map(|j| sum[j * (j + 3) / 2]).sum::<f64>() / d as f64)
    }

    /// `L_i(w)`.
    fn value(&self, py: Python<'_>, w: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let w = self.vector(py, "w", &w)?;
        Ok(py.detach(|| self.loss.value(0, &w)))
    }

    /// `argmin_z L_i(z) + |z - v|^2 / (2 tau)`.
    fn prox<'py>(
        &self,
        py: Python<'py>,
        v: PyReadonlyArray1<'py, f64>,
        tau: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut w = self.vector(py, "v", &v)?;
        if !(tau > 0.0 && tau.is_finite()) {
            return Err(plain(py, "ParameterError", &format!("tau is {tau}; it must be positive and finite")));
        }
        py.detach(|| self.loss.prox(0, tau, &mut w, &mut self.work()));
        Ok(PyArray1::from_vec(py, w))
    }

    /// What bounds `L_i(w) + L_i*(v) - v'w`: gap, residue and slope.
    fn fenchel_gap(
        &self,
        py: Python<'_>,
        w: PyReadonlyArray1<'_, f64>,
        v: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(f64, f64, f64)> {
        let (w, v) = (self.vector(py, "w", &w)?, self.vector(py, "v", &v)?);
        let found = py.detach(|| self.loss.fenchel_gap(0, &w, &v, &mut self.work()));
        Ok((found.gap, found.residue, found.slope))
    }
}

impl LocalLoss {
    fn work(&self) -> Vec<f64> {
        vec![0.0; self.loss.work_len() + 4 * self.dim()]
    }

    /// A finite vector of the right size.
    fn vector(&self, py: Python<'_>, name: &str, array: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
        let vector = array.as_array().to_vec();
        if vector.len() != self.dim() {
            let message = format!("{name}: expected {} parameters, found {}", self.dim(), vector.len());
            return Err(plain(py, "SizeError", &message));
        }
        match vector.iter().all(|x| x.is_finite()) {
            true => Ok(vector),
            false => Err(plain(py, "NotFiniteError", &format!("{name}: not all of its numbers are finite"))),
        }
    }
}
