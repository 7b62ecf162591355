//! What can be learnt about a problem before it is solved.

pub mod coupling;
pub mod race;
pub mod shocks;
pub mod trunk;
