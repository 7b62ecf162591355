//! Fits: the rows of all nodes in, a model for every node out.

use std::time::Instant;

use fedweave::cluster::{Clusters, clusters};
use fedweave::solve::{Solution, solve};
use fedweave::tune::Tuning;
use fedweave::{Matrix, Problem};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::choose::{hold_out, put_tuning, try_lambdas};
use crate::errors::{plain, raised};
use crate::outcome::put_solution;
use crate::task::{Ready, Task};
use crate::watch::{Done, Line, work};

/// Everything about a finished fit.
struct Fitted {
    problem: Problem,
    solution: Solution,
    parameters: Matrix,
    clusters: Clusters,
    tuning: Option<Tuning>,
    seconds: f64,
}

/// Fits the task. The dictionary holds `interrupt`, an exception, if one stopped the solver early.
#[pyfunction]
pub fn fit<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<Bound<'py, PyDict>> {
    let mut ready = task.ready(py)?;
    let lambda = match ready.graph.edges() {
        0 => Some(task.lam.unwrap_or(0.0)),
        _ => task.lam,
    };
    let progress = task.progress.as_ref().map(|p| p.clone_ref(py));
    let seed = task.seed;
    let Done { value, interrupt } =
        work(py, task.threads, task.time_limit, progress, |line| run(&mut ready, lambda, seed, line))?;
    let Some(fitted) = value.map_err(|error| raised(py, &error, &ready.origin))? else {
        let message = "no row could be held out to choose lam: every node has fewer than 4 rows; give lam a number";
        return Err(plain(py, "ParameterError", message));
    };
    let out = PyDict::new(py);
    put_solution(&out, &fitted.problem, &fitted.solution, &fitted.parameters, &fitted.clusters)?;
    out.set_item("seconds", fitted.seconds)?;
    out.set_item("interrupt", interrupt.map(|error| error.into_value(py)))?;
    if let Some(tuning) = &fitted.tuning {
        let tried = PyDict::new(py);
        put_tuning(&tried, tuning)?;
        out.set_item("tuning", tried)?;
    }
    Ok(out)
}

/// `None` if lambda was to be chosen and no row can be held out.
fn run(ready: &mut Ready, lambda: Option<f64>, seed: u64, line: &Line) -> fedweave::Result<Option<Fitted>> {
    let (lambda, tuning) = match lambda {
        Some(lambda) => (lambda, None),
        None => {
            let Some(split) = hold_out(ready, seed)? else { return Ok(None) };
            let tuning = try_lambdas(ready, &split, None, line)?;
            (tuning.best().lambda, Some(tuning))
        }
    };
    let rows = ready.take_data()?;
    let scaling = ready.scaling(&rows);
    let rows = match &scaling {
        Some(scaling) => scaling.apply(&rows),
        None => rows,
    };
    let problem = ready.problem(rows, lambda)?;
    let started = Instant::now();
    let solution = solve(&problem, &ready.settings, None, &mut |record| line.see(record));
    let seconds = started.elapsed().as_secs_f64();
    let parameters = ready.restore(scaling.as_ref(), &solution.w);
    let clusters = clusters(&problem, &parameters, &solution.u);
    Ok(Some(Fitted { problem, solution, parameters, clusters, tuning, seconds }))
}
