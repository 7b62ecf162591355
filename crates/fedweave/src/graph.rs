//! The empirical graph: who may learn from whom, and how strongly.

mod edges;
pub mod generate;
mod kd_tree;
pub mod nearest;
pub mod partition;

pub use edges::{End, Graph};
pub use nearest::{great_circle_points, k_nearest};
