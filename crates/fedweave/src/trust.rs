//! What makes models worth trusting: privacy that is accounted for.

pub mod privacy;
