//! Jobs about privacy: what releases cost, and attempts to break them.

pub mod audit;
pub mod epsilon;
pub(crate) mod exposure;
pub mod features;
pub mod leak;
#[cfg(feature = "federation")]
pub mod ledger;
pub mod members;
pub mod reconstruct;
