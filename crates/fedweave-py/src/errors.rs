//! Errors of the engine as exceptions of `fedweave.errors`: one class per kind, with the same fields.

use fedweave::Error;
use fedweave_io::{At, IoError};
use fedweave_run::Error as JobError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error of the mathematics. `origin` tells where the rows of the dataset stood in the input.
pub fn raised(py: Python<'_>, error: &Error, origin: &[usize]) -> PyErr {
    let row = |row: usize| origin.get(row).copied().unwrap_or(row);
    let fields = PyDict::new(py);
    let (class, error) = match error.clone() {
        Error::NotFinite { row: r, what } => ("NotFiniteError", Error::NotFinite { row: row(r), what }),
        Error::RowWeight { row: r, weight } => ("RowWeightError", Error::RowWeight { row: row(r), weight }),
        Error::Label { row: r, label, loss, needs } => ("LabelError", Error::Label { row: row(r), label, loss, needs }),
        other => (class_of(&other), other),
    };
    let message = match &error {
        // The face knows the name of the node.
        Error::Fit { source, .. } => source.to_string(),
        Error::Spec { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    match fill(&fields, &error) {
        Ok(()) => build(py, class, &message, &fields),
        Err(failure) => failure,
    }
}

/// The exception for an error of a file.
pub fn of_file(py: Python<'_>, error: &IoError) -> PyErr {
    let fields = PyDict::new(py);
    let path = error.place.as_ref().map(|place| place.path.display().to_string());
    let line = error.place.as_ref().and_then(|place| match place.at {
        At::File => None,
        At::Line(line) | At::Row(line) => Some(line),
    });
    let filled = fields.set_item("path", path).and_then(|()| fields.set_item("line", line));
    match filled {
        Ok(()) => build(py, "FileError", &error.to_string(), &fields),
        Err(failure) => failure,
    }
}

/// The exception for an error of a job.
pub fn of_job(py: Python<'_>, error: &JobError, origin: &[usize]) -> PyErr {
    let message = spoken(&error.to_string());
    let about = |class: &str, name: &str| {
        let fields = PyDict::new(py);
        match fields.set_item("node", name) {
            Ok(()) => build(py, class, &message, &fields),
            Err(failure) => failure,
        }
    };
    match error {
        JobError::File(error) => of_file(py, error),
        JobError::Mathematics(error) | JobError::Data { cause: error, .. } => raised(py, error, origin),
        JobError::NoMinimiser { name, .. } => about("NoMinimiserError", name),
        JobError::Node { name, .. } => about("ModelError", name),
        JobError::Report(_) => plain(py, "ReportError", &message),
        JobError::At { source, .. } if matches!(**source, JobError::File(_)) => plain(py, "FileError", &message),
        _ => plain(py, "ParameterError", &message),
    }
}

/// How flags that are called otherwise here are called.
const ARGUMENTS: [(&str, &str); 16] = [
    ("asker", "own"),
    ("block", "blocks"),
    ("count", "count"),
    ("edges", "graph"),
    ("knn", "a graph knn(k, by=...)"),
    ("lambda", "lam"),
    ("lambda-grid", "lams"),
    ("lambda-min-ratio", "min_ratio"),
    ("lambda-rule", "lam_rule"),
    ("loss-column", "loss"),
    ("max-iterations", "max_iter"),
    ("no-intercept", "fit_intercept=False"),
    ("seed", "random_state"),
    ("split-by", "groups"),
    ("threads", "n_jobs"),
    ("tolerance", "tol"),
];

/// A message of the command line in the words of Python: arguments instead of flags, quotes around names.
pub fn spoken(message: &str) -> String {
    let mut pieces = message.split("--");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(piece.len());
        let (flag, rest) = piece.split_at(end);
        match ARGUMENTS.iter().find(|(name, _)| *name == flag) {
            Some((_, argument)) => out += argument,
            None => out += &flag.replace('-', "_"),
        }
        out += rest;
    }
    out.replace('`', "'")
}

/// An exception without fields.
pub fn plain(py: Python<'_>, class: &str, message: &str) -> PyErr {
    build(py, class, message, &PyDict::new(py))
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Size { .. } => "SizeError",
        Error::SelfLoop { .. } => "SelfLoopError",
        Error::UnknownNode { .. } | Error::UnknownName { .. } => "UnknownNodeError",
        Error::EdgeWeight { .. } => "EdgeWeightError",
        Error::EdgeConflict { .. } => "EdgeConflictError",
        Error::NotFinite { .. } => "NotFiniteError",
        Error::RowWeight { .. } => "RowWeightError",
        Error::Label { .. } => "LabelError",
        Error::Scale { .. } => "ScaleError",
        Error::Method { .. } => "MethodError",
        Error::Parameter { .. } => "ParameterError",
        Error::Fit { .. } | Error::Spec { .. } => "ModelError",
        _ => "FedweaveError",
    }
}

fn fill(fields: &Bound<'_, PyDict>, error: &Error) -> PyResult<()> {
    match error {
        Error::Size { what, expected, found } => {
            fields.set_item("what", what)?;
            fields.set_item("expected", expected)?;
            fields.set_item("found", found)
        }
        Error::SelfLoop { node } => fields.set_item("node", node),
        Error::UnknownNode { edge, node, nodes } => {
            fields.set_item("edge", edge)?;
            fields.set_item("node", node)?;
            fields.set_item("nodes", nodes)
        }
        Error::EdgeWeight { edge, weight } => {
            fields.set_item("edge", edge)?;
            fields.set_item("weight", weight)
        }
        Error::EdgeConflict { first, second } => {
            fields.set_item("first", first)?;
            fields.set_item("second", second)
        }
        Error::NotFinite { row, what } => {
            fields.set_item("row", row)?;
            fields.set_item("what", what)
        }
        Error::RowWeight { row, weight } => {
            fields.set_item("row", row)?;
            fields.set_item("weight", weight)
        }
        Error::Label { row, label, loss, needs } => {
            fields.set_item("row", row)?;
            fields.set_item("label", label)?;
            fields.set_item("loss", loss)?;
            fields.set_item("needs", needs)
        }
        Error::Scale { column, size } => {
            fields.set_item("column", column)?;
            fields.set_item("size", size)
        }
        Error::Method { method, needs } => {
            fields.set_item("method", method)?;
            fields.set_item("needs", needs)
        }
        Error::Parameter { name, value, needs } => {
            fields.set_item("name", name)?;
            fields.set_item("value", value)?;
            fields.set_item("needs", needs)
        }
        Error::Fit { node, .. } | Error::Spec { node, .. } => fields.set_item("node", node),
        _ => Ok(()),
    }
}

fn build(py: Python<'_>, class: &str, message: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("fedweave.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call((message,), Some(fields)));
    made.map_or_else(|failure| failure, PyErr::from_value)
}
