//! The empirical graph: who may learn from whom, and how strongly.

mod edges;
pub mod partition;

pub use edges::{End, Graph};
