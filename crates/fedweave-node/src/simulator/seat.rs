//! Where a part sits: its disk, and what is remembered of it.

use super::invariants::Memory;
use super::store::{Damage, FaultyStore};
use crate::checkpoint::Store;
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
    /// Nothing can be written until then.
    pub full_until: u64,
    /// When it was done, and when nobody needed anything from it any more.
    pub done_at: u64,
    pub settled_at: Option<u64>,
    /// It came back with an old state, or with none.
    pub rolled_back: bool,
    /// Its process has ended, as it should.
    pub away: bool,
    /// The neighbours that counted when it was done.
    pub counted: Vec<bool>,
    /// States that it had, for backups.
    past: Vec<Vec<u8>>,
    writes: u32,
}

/// Every so many checkpoints one is kept as a backup.
const BACKUP_EVERY: u32 = 10;

impl Seat {
    /// Keeps some of the checkpoints.
    pub fn back_up(&mut self, bytes: &[u8]) {
        if self.writes.is_multiple_of(BACKUP_EVERY) {
            self.past.push(bytes.to_vec());
        }
        self.writes += 1;
    }

    /// Both checkpoints are gone; a backup takes their place if there is one.
    pub fn roll_back(&mut self, to: Option<f64>) {
        self.store = FaultyStore::default();
        self.rolled_back = true;
        let backup = to.and_then(|share| self.past.get((share * self.past.len() as f64) as usize));
        if let Some(bytes) = backup {
            self.store.save(bytes).unwrap_or_default();
        }
    }
}
