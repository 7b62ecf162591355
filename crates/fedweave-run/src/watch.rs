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

/// Nobody watches.
pub struct Unwatched;

impl Observer for Unwatched {}

/// What is left of a time limit, in seconds.
pub(crate) fn time_left(limit: Option<f64>, observer: &dyn Observer) -> Option<f64> {
    limit.map(|limit| (limit - observer.seconds()).max(0.0))
}
