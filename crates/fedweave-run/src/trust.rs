//! Jobs about trust: who shaped models, how they fare under attack and under stress, and for whom they work.

pub mod explain;
mod predictions;
