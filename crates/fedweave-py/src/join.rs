//! Nodes that were not there at the fit.

use fedweave::Dataset;
use fedweave::loss::Family;
use fedweave_run::network_file::{Neighbours, NetworkFile};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::{of_job, plain};
use crate::outcome::table;
use crate::rows::{Grouped, Rows, matrix};

/// New nodes as Python has them, in the order of their names.
#[derive(FromPyObject)]
pub struct Newcomers<'py> {
    /// What the fit left for them.
    network: String,
    loss: String,
    /// Of a target that is a class.
    classes: usize,
    /// The models of the others, in the order of their names.
    w: PyReadonlyArray2<'py, f64>,
    names: Vec<String>,
    /// Their rows with labels, if there are some; without edges.
    rows: Rows<'py>,
    /// Where they are.
    at: Option<PyReadonlyArray2<'py, f64>>,
    /// The new end, the known end, the weight.
    edges: Option<Vec<(usize, usize, f64)>>,
}

impl Newcomers<'_> {
    fn family(&self) -> Option<Family> {
        match Family::named(&self.loss, 1.0, 0.5)? {
            Family::Multinomial { .. } => Some(Family::Multinomial { classes: self.classes }),
            family => Some(family),
        }
    }

    fn neighbours(
        &self,
        py: Python<'_>,
        network: &NetworkFile,
        family: Family,
        rows: &Dataset,
    ) -> PyResult<Neighbours> {
        let mut near: Neighbours = vec![Vec::new(); self.names.len()];
        let known = self.w.as_array().nrows();
        if let Some(edges) = &self.edges {
            for &(new, old, weight) in edges.iter().filter(|edge| edge.0 < self.names.len() && edge.1 < known) {
                near[new].push((old, weight));
            }
        } else if let (Some(places), Some(at)) = (network.places(), &self.at) {
            near = places.nearest(&matrix(at)).map_err(|error| of_job(py, &error, &[]))?;
        } else if let Some(found) =
            network.alike(family, &matrix(&self.w), rows).map_err(|error| of_job(py, &error, &[]))?
        {
            near = found;
        } else if !network.has_hub() {
            let message = "join: how are new nodes joined? The graph was given by its edges: give edges=";
            return Err(plain(py, "GraphError", message));
        }
        match near.iter().position(Vec::is_empty).filter(|_| !network.has_hub()) {
            Some(i) => {
                let message = format!(
                    "join: no edge joins node '{}' to a known one; give edges=, or rows= that say who is like it",
                    self.names[i]
                );
                Err(plain(py, "GraphError", &message))
            }
            None => Ok(near),
        }
    }
}

/// The models of new nodes, a row each; those of the others stay as they are.
#[pyfunction]
pub fn join<'py>(py: Python<'py>, new: Newcomers<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let network: NetworkFile =
        serde_json::from_str(&new.network).map_err(|error| plain(py, "FedweaveError", &error.to_string()))?;
    let unknown = || plain(py, "ParameterError", &format!("loss {:?} is unknown", new.loss));
    let family = new.family().ok_or_else(unknown)?;
    let Grouped { data, origin, .. } = new.rows.grouped(py, None)?;
    if let (None, Some(at)) = (&new.edges, &new.at) {
        let models = network.at_places(&matrix(at), &data).map_err(|error| of_job(py, &error, &origin))?;
        if let Some(models) = models {
            return table(py, &models);
        }
    }
    let (near, w) = (new.neighbours(py, &network, family, &data)?, matrix(&new.w));
    let models = py.detach(|| network.join(family, &w, &data, &near));
    table(py, &models.map_err(|error| of_job(py, &error, &origin))?)
}
