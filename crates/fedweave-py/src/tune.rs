//! Races of predictors, and what their winners say about new rows.

use fedweave_run::blend_file::{BlendFile, BlendPredictor, Labelled};
use fedweave_run::intervals::Doubts;
use fedweave_run::request::TuneRequest;
use fedweave_run::tune::{TuneResult, report_of, summary, tune as tune_job};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::errors::{of_job, plain};
use crate::fit::{Told, json};
use crate::rows::matrix;
use crate::task::Task;
use crate::watch::{Done, work};

/// Runs the race, or fits what a recipe names. The dictionary holds `interrupt`, an exception, if one stopped it early.
#[pyfunction]
pub fn tune<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = TuneRequest::of_memory(&task.settings()?).map_err(|error| of_job(py, &error, &[]))?;
    let (input, origin) = task.input(py)?;
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let done = work(py, task.threads, progress, |line| {
        let result: TuneResult = tune_job(request, input, &**line)?;
        Ok(Told { summary: json(&summary(&result)?), report: json(&report_of(&result)?), result })
    })?;
    let Done { value: told, interrupt } = done.or_raise(|error| of_job(py, &error, &origin))?;
    let (out, tuned) = (PyDict::new(py), &told.result);
    out.set_item("blend", json(&tuned.blend))?;
    out.set_item("intervals", Doubts::of_models(tuned.input.names.len(), tuned.calibration.clone()).to_json())?;
    let errors = tuned.race.errors.by_node.iter().map(|error| error.unwrap_or(f64::NAN));
    out.set_item("by_node", PyArray1::from_iter(py, errors))?;
    told.put_words(&out, interrupt)?;
    Ok(out)
}

/// The winners of a race.
#[pyclass(frozen)]
pub struct Blend {
    predictor: BlendPredictor,
    /// Features of a row, the ones of an intercept included.
    features: usize,
}

impl Blend {
    fn check(&self, py: Python<'_>, features: usize, rows: usize, node: &[i64], more: &[usize]) -> PyResult<()> {
        let known = |i: &i64| usize::try_from(*i).is_ok_and(|i| i < self.predictor.nodes().len());
        let sizes = features == self.features && node.len() == rows && more.iter().all(|size| *size == rows);
        match sizes && node.iter().all(known) {
            true => Ok(()),
            false => Err(plain(py, "SizeError", "rows, nodes and models do not fit together")),
        }
    }
}

#[pymethods]
impl Blend {
    /// From what a race left, for rows of so many features. Rows `observed` (features, nodes, labels, times) say more about what nodes
    /// share at a time.
    #[new]
    #[allow(clippy::type_complexity)]
    fn new(
        py: Python<'_>,
        text: &str,
        features: usize,
        observed: Option<(
            PyReadonlyArray2<'_, f64>,
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, f64>,
            PyReadonlyArray1<'_, f64>,
        )>,
    ) -> PyResult<Self> {
        let file: BlendFile =
            serde_json::from_str(text).map_err(|error| plain(py, "ModelError", &error.to_string()))?;
        let ready = file.check(features).and_then(|_| file.predictor());
        let mut blend = Blend { predictor: ready.map_err(|error| of_job(py, &error, &[]))?, features };
        if let Some((x, node, y, times)) = observed {
            let (x, node) = (matrix(&x), node.as_array().to_vec());
            let (y, times) = (y.as_array().to_vec(), times.as_array().to_vec());
            blend.check(py, x.cols(), x.rows(), &node, &[y.len(), times.len()])?;
            let node = node.into_iter().map(|i| i as usize).collect();
            let seen = blend.predictor.observe(&Labelled { node, x, y, times });
            seen.map_err(|error| of_job(py, &error, &[]))?;
        }
        Ok(blend)
    }

    /// The mean that is predicted for every row: of two classes the probability of the second. NaN is a time that is not known.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        node: PyReadonlyArray1<'py, i64>,
        times: Option<PyReadonlyArray1<'py, f64>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (x, node) = (matrix(&x), node.as_array().to_vec());
        let times = times.map(|times| times.as_array().to_vec());
        let sizes: Vec<usize> = times.iter().map(Vec::len).collect();
        self.check(py, x.cols(), x.rows(), &node, &sizes)?;
        let one = |r: usize| self.predictor.predict(node[r] as usize, x.row(r), times.as_ref().map(|times| times[r]));
        let done = work(py, threads, None, |_| (0..node.len()).into_par_iter().map(one).collect::<Vec<f64>>())?;
        match done.interrupt {
            Some(interrupt) => Err(interrupt),
            None => Ok(PyArray1::from_vec(py, done.value)),
        }
    }
}
