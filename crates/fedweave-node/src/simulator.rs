//! A federation in one thread and in virtual time, where a seed decides everything that goes wrong: frames lost, doubled,
//! late and out of order; links cut, in one direction or both; parts that crash, also in the middle of writing a checkpoint,
//! and come back; parts that pause or are slow.
//!
//! Two phases: first faults, then everything heals, and all parts must end. After every event invariants are checked; at the
//! end the models must have the bits of the solver on one machine.

mod batch;
mod coupling;
mod faults;
mod incidents;
mod invariants;
mod liars;
mod noise;
mod predictions;
mod recovery;
mod retell;
mod scene;
mod seat;
mod standstill;
mod store;
mod world;

use std::fmt;

pub use batch::{Batch, BatchOutcome, Subject};
pub use faults::{Faults, Limits};
pub use liars::{Liars, Lie, scene_with_liars};
pub use recovery::simulate_recovery;
pub use retell::Retold;
pub use scene::Scene;
pub use standstill::simulate_out_of_step;
pub use store::FaultyStore;
pub use world::{simulate, simulate_liars};

/// What a run was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Events handled by all parts.
    pub events: u64,
    /// Frames sent.
    pub frames: u64,
    /// Frames lost, to chance or to a cut link.
    pub lost: u64,
    /// Frames delivered twice.
    pub doubled: u64,
    /// Crashes.
    pub crashes: u64,
    /// Checkpoints torn, lost or damaged.
    pub damaged: u64,
    /// Times that a disk was full.
    pub full: u64,
    /// Old states, or none, that parts came back with, alone or all together.
    pub rollbacks: u64,
    /// Releases of noisy gradients that were paid for.
    pub releases: u64,
    /// Virtual time until all parts were done, in milliseconds.
    pub elapsed_ms: u64,
}

/// A run that went wrong. The seed replays it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Virtual time, in milliseconds.
    pub at_ms: u64,
    /// The part that was seen doing it, if it was one.
    pub part: Option<usize>,
    /// What went wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: at {} ms", self.seed, self.at_ms)?;
        if let Some(part) = self.part {
            write!(f, ", part {part}")?;
        }
        write!(f, ": {}", self.what)
    }
}

#[cfg(test)]
mod tests;
