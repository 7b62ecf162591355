//! Jobs about trust: who shaped models, how they fare under attack and under stress, and for whom they work.

pub mod attack;
pub mod explain;
mod predictions;
