//! The run directory: everything a run leaves behind, as plain files.

mod checkpoint;
mod models;
mod parameters;
mod writer;

use std::path::Path;

use serde::de::DeserializeOwned;

pub use checkpoint::{Checkpoint, fingerprint};
pub use models::{ANY_CLASS, BLENDED, ModelFile, NodeModel, RunEncoding};
pub use parameters::{Parameters, read_node_numbers, read_parameters};
pub use writer::{RunWriter, csv_line};

use crate::error::{IoError, Place};

/// Reads a JSON file of a run.
pub fn read_json<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<T, IoError> {
    let path = dir.join(name);
    let bytes = std::fs::read(&path).map_err(Place::file(&path).io())?;
    serde_json::from_slice(&bytes).map_err(|error| Place::file(&path).fault(error.into()))
}
