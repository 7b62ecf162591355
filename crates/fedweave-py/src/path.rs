//! The solution as a function of lambda.

use fedweave::Matrix;
use fedweave::path::{Breakpoint, Path, PathPoint, PathSettings, PathWatch, geometric, lambda_max};
use fedweave::scaling::Scaling;
use fedweave::solve::{Record, Solution, Watch};
use fedweave::tune::stiff_lambda;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raised;
use crate::outcome::{labels, put_edges};
use crate::task::{Ready, Task};
use crate::watch::{Done, Line, work};

/// How closely the top of the grid is looked for.
const WIDTH: f64 = 1e-3;

/// The grid that was asked for.
#[derive(Clone)]
struct Ask {
    lambdas: Option<Vec<f64>>,
    count: usize,
    ratio: Option<f64>,
    breakpoints: Option<f64>,
}

/// Solves a grid of lambda, from the smallest value to the largest: `lams`, or `count` values of its own. The dictionary holds
/// `interrupt`, an exception, if one stopped it early.
#[pyfunction]
#[pyo3(signature = (task, lams, count, ratio, breakpoints))]
pub fn path<'py>(
    py: Python<'py>,
    task: Task<'py>,
    lams: Option<Vec<f64>>,
    count: usize,
    ratio: Option<f64>,
    breakpoints: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let ready = task.ready(py)?;
    let ask = Ask { lambdas: lams, count, ratio, breakpoints };
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let Done { value, interrupt } = work(py, task.threads, task.time_limit, progress, |line| walk(&ready, &ask, line))?;
    let walked = value.map_err(|error| raised(py, &error, &ready.origin))?;
    let out = put(py, &ready, &walked)?;
    out.set_item("interrupt", interrupt.map(|error| error.into_value(py)))?;
    Ok(out)
}

struct Walked {
    path: Path,
    models: Vec<f64>,
    dim: usize,
    lambda_max: Option<f64>,
}

fn walk(ready: &Ready, ask: &Ask, line: &Line) -> fedweave::Result<Walked> {
    let scaling = ready.scaling(&ready.data);
    let rows = scaling.as_ref().map_or_else(|| ready.data.clone(), |s| s.apply(&ready.data));
    let mut problem = ready.problem(rows, 1.0)?;
    let bracket = lambda_max(&mut problem, WIDTH, &mut |record| line.see(record))?;
    let top = bracket.as_ref().map(|b| b.above).filter(|top| *top > 0.0);
    let mut grid = match (&ask.lambdas, top) {
        (Some(lambdas), _) => lambdas.clone(),
        (None, Some(top)) => geometric(top, ask.ratio.unwrap_or(1e-3), ask.count),
        (None, None) => geometric(stiff_lambda(&problem), ask.ratio.unwrap_or(1e-7), ask.count),
    };
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    let settings =
        PathSettings { solve: ready.settings.clone(), breakpoints: ask.breakpoints, lambda_max: bracket.as_ref() };
    let mut keep = Keep { ready, scaling: scaling.as_ref(), line, models: Vec::new() };
    let path = fedweave::path::path(&mut problem, &grid, &settings, &mut keep)?;
    Ok(Walked { path, models: keep.models, dim: problem.dim(), lambda_max: top })
}

/// Keeps the models of every lambda.
struct Keep<'a> {
    ready: &'a Ready,
    scaling: Option<&'a Scaling>,
    line: &'a Line,
    models: Vec<f64>,
}

impl PathWatch for Keep<'_> {
    fn see(&mut self, k: usize, record: &Record) -> Watch {
        self.line.see_piece(k, record)
    }

    fn keep(&mut self, _k: usize, _point: &PathPoint, solution: &Solution) {
        self.models.extend_from_slice(self.ready.restore(self.scaling, &solution.w).as_slice());
    }

    fn models(&self, w: &Matrix) -> Option<Matrix> {
        self.scaling.map(|scaling| self.ready.restore(Some(scaling), w))
    }
}

fn put<'py>(py: Python<'py>, ready: &Ready, walked: &Walked) -> PyResult<Bound<'py, PyDict>> {
    let (out, points, nodes) = (PyDict::new(py), &walked.path.points, ready.graph.nodes());
    let column = |of: fn(&PathPoint) -> f64| PyArray1::from_iter(py, points.iter().map(of));
    out.set_item("lams", column(|p| p.lambda))?;
    out.set_item("objective", column(|p| p.objective))?;
    out.set_item("certified_gap", column(|p| p.certified_gap.unwrap_or(f64::NAN)))?;
    out.set_item("n_clusters", PyArray1::from_iter(py, points.iter().map(|p| p.partition.len() as i64)))?;
    out.set_item("labels", points.iter().map(|p| labels(py, &p.partition, nodes)).collect::<Vec<_>>())?;
    out.set_item("status", points.iter().map(|p| p.status.name()).collect::<Vec<_>>())?;
    let models = PyArray1::from_slice(py, &walked.models).reshape([points.len(), nodes, walked.dim])?;
    out.set_item("w", models)?;
    out.set_item("lambda_max", walked.lambda_max)?;
    out.set_item("stopped", walked.path.stopped.map(|status| status.to_string()))?;
    let bracket = |b: &Breakpoint| (b.below, b.above);
    out.set_item("breakpoints", walked.path.breakpoints.iter().map(bracket).collect::<Vec<_>>())?;
    put_edges(&out, &ready.graph)?;
    Ok(out)
}
