//! What makes models worth trusting: attacks that are tried before others do, defences that say what they guarantee, privacy that
//! is accounted for, and models that say who and what shaped them.

pub mod attack;
pub mod defence;
pub mod explain;
pub mod privacy;
