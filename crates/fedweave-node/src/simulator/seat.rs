//! Where a part sits: its disk, and what is remembered of it.

use super::invariants::Memory;
use super::store::{Damage, FaultyStore};
use crate::part::{Outcome, Part};

/// One part and its disk.
#[derive(Default)]
pub(super) struct Seat {
    /// `None` while it is down.
    pub part: Option<Part>,
    pub store: FaultyStore,
    /// An older state of it, for rollbacks.
    pub older: FaultyStore,
    /// Records of releases that were paid for.
    pub ledger: Vec<Vec<u8>>,
    pub memory: Memory,
    pub paused_until: u64,
    pub done: bool,
    pub outcome: Option<Box<Outcome>>,
    /// Counts the times it was started.
    pub life: u32,
    /// It fails in the middle of its next write.
    pub fails_in_write: Option<(Option<Damage>, u64)>,
}
