//! Generalised total variation minimisation.

pub mod dataset;
pub mod error;
pub mod graph;
pub mod matrix;
mod random;
pub mod split;
pub mod synthetic;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use graph::Graph;
pub use matrix::Matrix;
