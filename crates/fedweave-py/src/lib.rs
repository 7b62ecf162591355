//! The engine of the Python package: glue between NumPy arrays and the mathematics, nothing else. What users see is
//! `python/fedweave`.
//!
//! Arrays are read in place, whatever their strides; the solver runs on threads of its own while the interpreter is free
//! and looks after signals.
#![cfg(feature = "python")]

mod active;
mod attack;
mod choose;
mod compare;
mod coupling;
mod errors;
mod fit;
mod graphs;
mod intervals;
mod join;
mod local;
mod losses;
mod models;
mod outcome;
#[cfg(feature = "federation")]
mod part;
mod path;
mod relax;
mod rounds;
mod rows;
mod settings;
mod task;
mod tune;
mod vertical;
mod watch;

use pyo3::prelude::*;

/// What the Python face calls.
#[pymodule(name = "_engine")]
mod engine {
    #[pymodule_export]
    use super::active::active;
    #[pymodule_export]
    use super::attack::attack;
    #[pymodule_export]
    use super::choose::{grid, validate};
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::coupling::Coupling;
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::graphs::{cut, learn_graph, nearest, node_means, read_edges};
    #[pymodule_export]
    use super::intervals::Intervals;
    #[pymodule_export]
    use super::join::join;
    #[pymodule_export]
    use super::local::LocalLoss;
    #[pymodule_export]
    use super::losses::{LossKind, scores};
    #[pymodule_export]
    use super::models::Model;
    #[cfg(feature = "federation")]
    #[pymodule_export]
    use super::part::Part;
    #[pymodule_export]
    use super::path::path;
    #[pymodule_export]
    use super::relax::relax;
    #[pymodule_export]
    use super::rounds::Rounds;
    #[pymodule_export]
    use super::tune::{Blend, tune};
    #[pymodule_export]
    use super::vertical::fit_vertical;
    #[pymodule_export]
    use super::{main, render, solvers, version};
}

/// Runs the command line; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| fedweave_cli::main(args))
}

/// The page of a report, given as JSON, under another title if there is one.
#[pyfunction]
fn render(py: Python<'_>, report: &str, title: Option<String>) -> PyResult<String> {
    let mut report: fedweave_report::Report =
        serde_json::from_str(report).map_err(|error| errors::plain(py, "ReportError", &error.to_string()))?;
    report.title = title.unwrap_or(report.title);
    fedweave_report::render(&report).map_err(|error| errors::plain(py, "ReportError", &error.to_string()))
}

/// Solvers by name: those that see all data, then those that exchange messages.
#[pyfunction]
fn solvers() -> Vec<&'static str> {
    use fedweave_run::request::{rounds, solver};
    solver::EXACT.iter().map(|(name, _)| *name).chain(rounds::NAMES).collect()
}

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
