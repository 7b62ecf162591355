//! Jobs about trust: who shaped models, how they fare under attack and under stress, and for whom they work.

mod cross;
pub mod explain;
pub mod fairness;
pub mod page;
mod predictions;
mod refit;
pub mod stress;
