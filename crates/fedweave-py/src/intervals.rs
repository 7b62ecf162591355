//! Intervals and sets of predictions of an estimator.

use fedweave::loss::Prediction;
use fedweave_run::intervals::Doubts;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::{of_job, plain};

/// What is known about how far the predictions of an estimator are off.
#[pyclass(frozen)]
pub struct Intervals {
    doubts: Doubts,
}

impl Intervals {
    fn check(&self, py: Python<'_>, rows: usize, node: &PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let known = |i: &i64| usize::try_from(*i).is_ok_and(|i| i < self.doubts.nodes());
        match node.as_array().len() == rows && node.as_array().iter().all(known) {
            true => Ok(()),
            false => Err(plain(py, "SizeError", "rows, nodes and models do not fit together")),
        }
    }
}

#[pymethods]
impl Intervals {
    /// From what a fit left.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let doubts = Doubts::of_json(text).map_err(|error| of_job(py, &error, &[]))?;
        Ok(Intervals { doubts })
    }

    /// Lower and upper ends around numbers that were predicted for rows `x` (with a column of ones, if models have an intercept).
    #[allow(clippy::type_complexity)]
    fn ends<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        predictions: PyReadonlyArray1<'py, f64>,
        node: PyReadonlyArray1<'py, i64>,
        level: f64,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (x, said) = (x.as_array(), predictions.as_array());
        self.check(py, x.nrows().max(said.len()), &node)?;
        let intervals = self.doubts.intervals(level, "this estimator").map_err(|error| of_job(py, &error, &[]))?;
        let (mut lower, mut upper) = (Vec::with_capacity(said.len()), Vec::with_capacity(said.len()));
        for ((row, &value), &node) in x.outer_iter().zip(said).zip(node.as_array()) {
            let (node, row) = (node as usize, row.to_vec());
            let scale = self.doubts.deviation(node, &row, &Prediction::Number(value));
            let (low, high) = intervals.score.interval(value, scale, intervals.thresholds[node]);
            lower.push(low);
            upper.push(high);
        }
        Ok((PyArray1::from_vec(py, lower), PyArray1::from_vec(py, upper)))
    }

    /// For every row which classes may be true: `outputs` are the probabilities of classes, or one column of margins.
    fn sets<'py>(
        &self,
        py: Python<'py>,
        outputs: PyReadonlyArray2<'py, f64>,
        node: PyReadonlyArray1<'py, i64>,
        level: f64,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let outputs = outputs.as_array();
        self.check(py, outputs.nrows(), &node)?;
        let intervals = self.doubts.intervals(level, "this estimator").map_err(|error| of_job(py, &error, &[]))?;
        let classes = outputs.ncols().max(2);
        let mut inside = vec![false; outputs.nrows() * classes];
        for (r, (row, &node)) in outputs.outer_iter().zip(node.as_array()).enumerate() {
            let prediction = prediction(&row.to_vec());
            let set = intervals.score.set(&prediction, classes, intervals.thresholds[node as usize]);
            set.into_iter().for_each(|class| inside[r * classes + class] = true);
        }
        PyArray1::from_vec(py, inside).reshape([outputs.nrows(), classes])
    }
}

fn prediction(outputs: &[f64]) -> Prediction {
    match outputs {
        [margin] => Prediction::Margin { class: usize::from(*margin > 0.0), score: *margin },
        _ => {
            let class = (1..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best });
            Prediction::Class { class, probabilities: outputs.to_vec() }
        }
    }
}
