//! For whom do models work: errors by group with intervals, and training that evens them out.
//!
//! Rows belong to groups ([`Dataset::groups`](crate::Dataset::groups)): a column of the table, at the level of rows or of nodes. Every
//! node with judged rows weighs the same, as everywhere else, so that errors of groups average to the error of the network.

pub mod balance;
pub mod measure;
pub mod swap;

pub use balance::{Balanced, balance, weighted};
pub use measure::{Estimate, Judged, difference, mean_by_group, worst_decile};
pub use swap::with_swapped;
