//! What happens to a process, as opposed to its part.

use std::collections::BTreeMap;

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
    fn repeated_events_thin_out_and_memory_is_bounded() {
        let mut repeats = Repeats::default();
        assert_eq!((0..1000).filter(|_| repeats.is_news("x")).count(), 4);
        for k in 0..10_000 {
            repeats.is_news(&k.to_string());
        }
        assert_eq!(repeats.seen.len(), DIFFERENT_MAX);
    }
}
