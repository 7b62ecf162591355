//! Whoever waits for a job: sees how far it is, has the clock, and may stop it.

use fedweave::solve::{Record, Watch};

/// One stretch of work inside a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// What is done, in a word or two.
    pub what: String,
    /// The accuracy at which it ends.
    pub tolerance: f64,
    /// The most iterations it may take.
    pub iterations_max: usize,
    /// The most seconds it may take.
    pub seconds_max: Option<f64>,
    /// It is piece `k` of so many alike.
    pub piece: Option<(usize, usize)>,
}

impl Stage {
    /// A stage without limits of its own.
    pub fn new(what: impl Into<String>, tolerance: f64) -> Self {
        Stage { what: what.into(), tolerance, iterations_max: usize::MAX, seconds_max: None, piece: None }
    }

    /// How far a solver is from the optimum: the gap relative to the objective, or the residual where there is none.
    pub fn error_of(record: &Record) -> f64 {
        record.certified_gap.map_or(record.kkt.residual(), |gap| gap / record.objective.abs().max(1.0))
    }

    /// The share of all pieces that is done. The error falls about geometrically from the `first` one, so its logarithm tells how far
    /// a solver is; limits of iterations and of seconds may come first.
    pub fn share_done(&self, record: &Record, first: f64, seconds: f64) -> f64 {
        let by_error = (first / Stage::error_of(record)).ln() / (first / self.tolerance).ln().max(1e-9);
        let by_count = record.iteration as f64 / self.iterations_max.max(1) as f64;
        let by_time = self.seconds_max.map_or(0.0, |limit| seconds / limit.max(1e-9));
        let (before, total) = self.piece.unwrap_or((0, 1));
        (before as f64 + by_error.max(by_count).max(by_time).clamp(0.0, 1.0)) / total as f64
    }
}

/// Watches a job. Solves that run side by side call it from several threads.
pub trait Observer: Sync {
    /// A stage begins; the one before it is over.
    fn begin(&self, _stage: Stage) {}

    /// The solver looks up: may it go on?
    fn see(&self, _record: &Record) -> Watch {
        Watch::Continue
    }

    /// Piece `done` of `total` alike is done.
    fn advance(&self, _what: &str, _done: usize, _total: usize) {}

    /// Somebody wants the job to end; what there is should be kept.
    fn interrupted(&self) -> bool {
        false
    }

    /// Seconds since the job began.
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Watches in place of another observer many solves side by side: passes on what stops them, and shows nothing of each.
pub(crate) struct SideBySide<'a>(pub &'a dyn Observer);

impl Observer for SideBySide<'_> {
    fn see(&self, record: &Record) -> Watch {
        self.0.see(record)
    }

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }

    fn seconds(&self) -> f64 {
        self.0.seconds()
    }
}

/// Nobody watches.
pub struct Unwatched;

impl Observer for Unwatched {}

/// What is left of a time limit, in seconds.
pub(crate) fn time_left(limit: Option<f64>, observer: &dyn Observer) -> Option<f64> {
    limit.map(|limit| (limit - observer.seconds()).max(0.0))
}
