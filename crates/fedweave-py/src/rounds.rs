//! Rounds at a server, for strategies of other federations: points go out to nodes, their proximal steps come back.

use fedweave::Matrix;
use fedweave::solve::{PdmmOptions, Round, ServerRound, Subset};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::coupling::Coupling;
use crate::errors::{plain, raised};
use crate::outcome::table;
use crate::rows::matrix;

/// Points and lengths of the steps that nodes are asked for.
type Questions<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A method between rounds.
#[pyclass]
pub struct Rounds {
    round: ServerRound,
}

#[pymethods]
impl Rounds {
    /// The primal-dual method; `step_ratio` is adapted if None.
    #[staticmethod]
    fn primal_dual(py: Python<'_>, coupling: &Coupling, step_ratio: Option<f64>, relaxation: f64) -> PyResult<Self> {
        Self::made(py, ServerRound::primal_dual(coupling.problem().clone(), step_ratio, relaxation))
    }

    /// PDMM with a share of the nodes in a round. `curvatures` is the sum of the mean curvatures that nodes tell, from which
    /// `rho` follows where it is None.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn pdmm(
        py: Python<'_>,
        coupling: &Coupling,
        rho: Option<f64>,
        eta: Option<f64>,
        tau: Option<f64>,
        nu: Option<f64>,
        share: f64,
        curvatures: f64,
    ) -> PyResult<Self> {
        let edges = coupling.problem().graph().edges();
        let rho = Some(rho.unwrap_or_else(|| PdmmOptions::suggested_rho(curvatures, edges)));
        let options = PdmmOptions { rho, eta, tau, nu, subset: Subset::Users(share), ..PdmmOptions::default() };
        Self::made(py, ServerRound::pdmm(coupling.problem().clone(), options))
    }

    /// FedRelax, all nodes at once; for the squared penalty.
    #[staticmethod]
    fn fedrelax(py: Python<'_>, coupling: &Coupling) -> PyResult<Self> {
        Self::made(py, ServerRound::fedrelax(coupling.problem().clone()))
    }

    /// Where the nodes are, a row each.
    #[getter]
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        table(py, self.round.models())
    }

    /// The model to start from at a node.
    fn start_at(&mut self, py: Python<'_>, node: usize, w: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let models = self.round.models_mut();
        if node >= models.rows() || w.len()? != models.cols() {
            return Err(plain(py, "SizeError", "a model to start from does not fit the network"));
        }
        models.row_mut(node).iter_mut().zip(w.as_array()).for_each(|(m, w)| *m = *w);
        Ok(())
    }

    /// The points from which nodes are asked for proximal steps in the next round, a row each, and the lengths of these steps.
    fn begin<'py>(&mut self, py: Python<'py>) -> PyResult<Questions<'py>> {
        self.round.begin();
        let (n, d) = (self.round.models().rows(), self.round.models().cols());
        let mut points = Matrix::zeros(n, d);
        (0..n).for_each(|i| points.row_mut(i).copy_from_slice(self.round.outgoing(i)));
        Ok((table(py, &points)?, PyArray1::from_slice(py, self.round.steps())))
    }

    /// Ends the round with the answers of the nodes that are `there`; the others keep their models.
    fn complete(
        &mut self,
        py: Python<'_>,
        answers: PyReadonlyArray2<'_, f64>,
        there: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<()> {
        let answers = self.sized(py, &answers)?;
        if there.len()? != answers.rows() {
            return Err(plain(py, "SizeError", "one mark per node: who answered"));
        }
        for (i, _) in there.as_array().iter().enumerate().filter(|(_, there)| **there) {
            self.round.incoming(i).copy_from_slice(answers.row(i));
        }
        self.round.complete();
        Ok(())
    }

    /// Flows in the domain of the conjugates that fit models `w`, a row per edge.
    fn flows<'py>(&self, py: Python<'py>, w: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let flows = self.round.flows_at(&self.sized(py, &w)?);
        table(py, &flows)
    }
}

impl Rounds {
    fn made(py: Python<'_>, round: fedweave::Result<ServerRound>) -> PyResult<Self> {
        let round = round.map_err(|error| raised(py, &error, &[]))?;
        Ok(Rounds { round })
    }

    fn sized(&self, py: Python<'_>, array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
        let (made, models) = (matrix(array), self.round.models());
        let (expected, found) = ((models.rows(), models.cols()), (made.rows(), made.cols()));
        match expected == found {
            true => Ok(made),
            false => Err(plain(py, "SizeError", &format!("expected an array of {expected:?}, found {found:?}"))),
        }
    }
}
