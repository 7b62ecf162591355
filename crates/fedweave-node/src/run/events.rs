//! What happens to a process, as opposed to its part.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::transport::Reason;

/// A line of the event log about the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LocalEvent {
    /// The process starts.
    ProcessStarted {
        /// Name of the part.
        name: String,
        /// Version of the program.
        version: String,
        /// Number of nodes of the part.
        nodes: usize,
        /// Names of the neighbours.
        neighbours: Vec<String>,
        /// True if it goes on from a checkpoint.
        resumed: bool,
        /// True if frames are not encrypted.
        plaintext: bool,
    },
    /// What the owner of the part should know.
    Caution {
        /// In words.
        what: String,
    },
    /// Somebody was turned away by our own rules.
    Refused {
        /// The name in its certificate.
        name: String,
        /// Why.
        reason: Reason,
        /// Where it came from, or where it was dialled.
        address: String,
    },
    /// A neighbour has not come with a valid certificate in the first seconds.
    NotAdmitted {
        /// Its name.
        neighbour: String,
    },
    /// A complaint of the layers below, e.g. a failed handshake.
    Warning {
        /// In their words.
        what: String,
    },
    /// How many times as badly as the median neighbour each one predicts the rows of this part.
    Suspicions {
        /// Rounds done.
        round: u64,
        /// By name.
        scores: BTreeMap<String, f64>,
    },
    /// A neighbour was found guilty and is kept out.
    Quarantined {
        /// Its name.
        neighbour: String,
        /// Rounds done.
        round: u64,
        /// How badly it predicts the rows of this part.
        score: f64,
        /// What is allowed.
        factor: f64,
    },
    /// A neighbour is let in again.
    Pardoned {
        /// Its name.
        neighbour: String,
    },
    /// Lines that came too often were left out.
    Suppressed {
        /// Which, of whom.
        what: String,
        /// How many.
        times: u64,
    },
    /// The process was stopped; it can be resumed.
    Stopped,
    /// The process ends.
    ProcessEnded {
        /// Rounds done.
        round: u64,
        /// Seconds since the start.
        seconds: f64,
    },
}

/// A neighbour that comes and goes, or lies, is told of so often in a while, and no more.
#[derive(Debug, Default)]
pub(super) struct Thrift {
    seen: BTreeMap<String, Window>,
}

#[derive(Debug)]
struct Window {
    since: Instant,
    told: u32,
    left_out: u64,
}

/// Lines of one kind about one neighbour in a while.
const LINES_MAX: u32 = 10;
const WHILE: Duration = Duration::from_secs(60);

impl Thrift {
    /// `None` if the line is to be left out, else how many were left out before it.
    pub fn admits(&mut self, what: &str, now: Instant) -> Option<u64> {
        if self.seen.len() >= DIFFERENT_MAX && !self.seen.contains_key(what) {
            self.seen.retain(|_, window| now.duration_since(window.since) < WHILE);
        }
        let fresh = || Window { since: now, told: 0, left_out: 0 };
        let window = self.seen.entry(what.into()).or_insert_with(fresh);
        let mut left_out = 0;
        if now.duration_since(window.since) >= WHILE {
            left_out = window.left_out;
            *window = fresh();
        }
        if window.told >= LINES_MAX {
            window.left_out += 1;
            return None;
        }
        window.told += 1;
        Some(left_out)
    }
}

/// Things already mentioned are mentioned again only at the 10th, 100th, ... time.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: BTreeMap<String, u64>,
}

const DIFFERENT_MAX: usize = 256;

impl Repeats {
    pub fn is_news(&mut self, what: &str) -> bool {
        if self.seen.len() >= DIFFERENT_MAX && !self.seen.contains_key(what) {
            return false;
        }
        let count = self.seen.entry(what.into()).or_default();
        *count += 1;
        let mut power = 1u64;
        while power < *count {
            power = power.saturating_mul(10);
        }
        power == *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flapping_neighbour_fills_no_log() {
        let (mut thrift, start) = (Thrift::default(), Instant::now());
        // Ten times a second for ten minutes.
        let lines =
            (0..6_000).filter(|k| thrift.admits("link_up of east", start + Duration::from_millis(100 * k)).is_some());
        assert_eq!(lines.count(), 100);
        let later = start + Duration::from_secs(700);
        assert_eq!(thrift.admits("link_up of east", later), Some(590));
        assert_eq!(thrift.admits("link_up of west", later), Some(0));
    }

    #[test]
    fn repeated_events_thin_out_and_memory_is_bounded() {
        let mut repeats = Repeats::default();
        assert_eq!((0..1000).filter(|_| repeats.is_news("x")).count(), 4);
        for k in 0..10_000 {
            repeats.is_news(&k.to_string());
        }
        assert_eq!(repeats.seen.len(), DIFFERENT_MAX);
    }
}
