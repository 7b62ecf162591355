//! The edges of a network without the rows of its nodes: what a server knows of the objective.

use fedweave::certificate::Evidence;
use fedweave::loss::FenchelGap;
use fedweave::{Matrix, Problem};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{plain, raised};
use crate::outcome::put_edges;
use crate::rows::matrix;
use crate::task::Task;

/// `lambda * sum_e A_e phi(w_i - w_j)`: the objective of nodes without rows.
#[pyclass(frozen)]
pub struct Coupling {
    problem: Problem,
}

#[pymethods]
impl Coupling {
    /// The edges of a task without rows.
    #[new]
    fn new(py: Python<'_>, task: Task<'_>) -> PyResult<Self> {
        let ready = task.assembled(py)?;
        if !ready.origin.is_empty() {
            return Err(plain(py, "SizeError", "a coupling has no rows: they stay where they are"));
        }
        Ok(Coupling { problem: ready.problem().map_err(|error| raised(py, &error, &[]))? })
    }

    /// The edges, in the order of the flows.
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        put_edges(&out, self.problem.graph())?;
        Ok(out)
    }

    /// `lambda * sum_e A_e phi(w_i - w_j)`.
    fn variation(&self, py: Python<'_>, w: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
        Ok(self.problem.total_variation(&self.of_nodes(py, &w)?))
    }

    /// How far flows `u` are outside their domain, and their complementarity with models `w`.
    fn kkt(
        &self,
        py: Python<'_>,
        w: PyReadonlyArray2<'_, f64>,
        u: PyReadonlyArray2<'_, f64>,
        objective: f64,
    ) -> PyResult<(f64, f64)> {
        let (w, u) = (self.of_nodes(py, &w)?, self.of_edges(py, &u)?);
        let kkt = Evidence::new(&self.problem, &w, &u, objective).kkt();
        Ok((kkt.feasibility, kkt.complementarity))
    }

    /// The certified gap of models `w` and flows `u`, from what nodes say about their own brackets; `None` if that proves nothing.
    #[allow(clippy::too_many_arguments)]
    fn bound(
        &self,
        py: Python<'_>,
        w: PyReadonlyArray2<'_, f64>,
        u: PyReadonlyArray2<'_, f64>,
        objective: f64,
        gap: PyReadonlyArray1<'_, f64>,
        residue: PyReadonlyArray1<'_, f64>,
        slope: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Option<f64>> {
        let (w, u) = (self.of_nodes(py, &w)?, self.of_edges(py, &u)?);
        let (gap, residue, slope) = (gap.as_array(), residue.as_array(), slope.as_array());
        if [gap.len(), residue.len(), slope.len()] != [self.problem.nodes(); 3] {
            return Err(plain(py, "SizeError", "one gap, residue and slope per node"));
        }
        let said = |i: usize| FenchelGap { gap: gap[i], residue: residue[i], slope: slope[i] };
        let said: Vec<FenchelGap> = (0..self.problem.nodes()).map(said).collect();
        Ok(Evidence::new(&self.problem, &w, &u, objective).bound_with(|i, _, _, _| said[i]))
    }
}

impl Coupling {
    /// The objective of nodes without rows.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    fn of_nodes(&self, py: Python<'_>, array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
        self.sized(py, array, self.problem.nodes())
    }

    fn of_edges(&self, py: Python<'_>, array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
        self.sized(py, array, self.problem.graph().edges())
    }

    fn sized(&self, py: Python<'_>, array: &PyReadonlyArray2<'_, f64>, rows: usize) -> PyResult<Matrix> {
        let made = matrix(array);
        let (expected, found) = ((rows, self.problem.dim()), (made.rows(), made.cols()));
        match expected == found {
            true => Ok(made),
            false => Err(plain(py, "SizeError", &format!("expected an array of {expected:?}, found {found:?}"))),
        }
    }
}
