//! What makes models worth trusting: privacy that is accounted for, models that say who and what shaped them, that treat groups
//! alike, and that do not hang on a single row, node or edge.

pub mod explain;
pub mod fairness;
pub mod privacy;
pub mod stress;
