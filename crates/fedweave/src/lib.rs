//! Generalised total variation minimisation.

pub mod baseline;
pub mod certificate;
pub mod cluster;
pub mod compare;
pub mod dataset;
pub mod error;
pub mod graph;
pub mod laws;
mod linalg;
pub mod loss;
pub mod matrix;
mod parallel;
pub mod penalty;
pub mod problem;
mod random;
pub mod scaling;
mod scratch;
pub mod solve;
pub mod split;
pub mod synthetic;
pub mod tune;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use graph::Graph;
pub use matrix::Matrix;
pub use problem::Problem;
