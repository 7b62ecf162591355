//! What can be learnt about a problem before it is solved, and about models afterwards.

pub mod conformal;
pub mod coupling;
pub mod discrepancy;
pub mod drift;
pub mod graph;
mod mixture;
pub mod race;
pub mod shocks;
pub mod trunk;
