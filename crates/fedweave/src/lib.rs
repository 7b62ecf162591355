//! Generalised total variation minimisation.

pub mod certificate;
pub mod dataset;
pub mod error;
pub mod graph;
pub mod laws;
mod linalg;
pub mod loss;
pub mod matrix;
pub mod penalty;
pub mod problem;
mod scratch;
pub mod solve;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use graph::Graph;
pub use matrix::Matrix;
pub use problem::Problem;
