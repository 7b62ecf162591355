//! The empirical graph: who may learn from whom, and how strongly.

mod cut;
pub mod divergence;
mod edges;
pub mod generate;
mod hub;
pub(crate) mod kd_tree;
mod lanczos;
pub(crate) mod laplacian;
pub(crate) mod layout;
pub mod nearest;
pub mod partition;
pub mod spectrum;
pub mod tsne;

pub use cut::{Cut, cut};
pub use edges::{End, Graph};
pub use nearest::{great_circle_points, k_nearest};
pub use spectrum::{Spectrum, laplacian_extremes};
