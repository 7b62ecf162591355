//! Losses and what their scores mean: the same links as those of the command line.

use fedweave::loss::{Family, Link};
use fedweave::matrix::dot;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::plain;
use crate::rows::matrix;

/// A loss by its name.
#[pyclass(frozen, module = "fedweave._engine")]
pub struct LossKind {
    family: Family,
}

#[pymethods]
impl LossKind {
    /// The loss with this name.
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        let unknown = || plain(py, "ParameterError", &format!("loss {name:?} is unknown"));
        Ok(LossKind { family: Family::named(name, 1.0, 0.5).ok_or_else(unknown)? })
    }

    /// All of them.
    #[staticmethod]
    fn all() -> Vec<LossKind> {
        Family::all(1.0, 0.5).into_iter().map(|family| LossKind { family }).collect()
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.family.name()
    }

    /// False for the loss whose models are positions.
    #[getter]
    fn predicts(&self) -> bool {
        self.family.link().is_some()
    }

    #[getter]
    fn is_classifier(&self) -> bool {
        self.family.is_classifier()
    }

    #[getter]
    fn has_probabilities(&self) -> bool {
        self.family.link().is_some_and(Link::has_probabilities)
    }

    /// True if there is a score for every class.
    #[getter]
    fn scores_classes(&self) -> bool {
        self.family.link() == Some(Link::Softmax)
    }

    /// What scores say, row by row: numbers, the probability of the second of two classes, or the probabilities of all classes.
    fn respond<'py>(&self, py: Python<'py>, scores: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut all = matrix(&scores);
        if let Some(link) = self.family.link() {
            (0..all.rows()).for_each(|row| link.respond(all.row_mut(row)));
        }
        crate::outcome::table(py, &all)
    }

    /// The class that the scores of a row stand for.
    fn classes<'py>(&self, py: Python<'py>, scores: PyReadonlyArray2<'py, f64>) -> Bound<'py, PyArray1<i64>> {
        let (all, link) = (matrix(&scores), self.family.link());
        let class = |row: usize| link.and_then(|link| link.class(all.row(row))).unwrap_or(0) as i64;
        PyArray1::from_iter(py, (0..all.rows()).map(class))
    }
}

/// `x'w` of the model of each row's node, a column per block of parameters. `w` has a row per node: the blocks, each with an
/// intercept at its end if there is one.
#[pyfunction]
pub fn scores<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    node: PyReadonlyArray1<'py, i64>,
    w: PyReadonlyArray2<'py, f64>,
    blocks: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (x, node, w) = (x.as_array(), node.as_array(), matrix(&w));
    let width = w.cols() / blocks.max(1);
    let known = |i: &i64| usize::try_from(*i).is_ok_and(|i| i < w.rows());
    let fits = width == x.ncols() || width == x.ncols() + 1;
    if !fits || node.len() != x.nrows() || !node.iter().all(known) {
        return Err(plain(py, "SizeError", "rows, nodes and models do not fit together"));
    }
    let (mut row, mut out) = (vec![1.0; width], Vec::with_capacity(x.nrows() * blocks));
    for (from, &node) in x.outer_iter().zip(node) {
        row.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        out.extend(w.row(node as usize).chunks_exact(width).map(|w| dot(&row, w)));
    }
    PyArray1::from_vec(py, out).reshape([x.nrows(), blocks])
}
