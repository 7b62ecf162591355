//! What makes models worth trusting: privacy that is accounted for, and models that say who and what shaped them.

pub mod explain;
pub mod privacy;
