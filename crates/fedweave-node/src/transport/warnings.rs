//! What the layers below complain about (failed handshakes, lost links), kept for the event log. They speak through
//! `tracing`; a bounded queue listens.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const KEPT: usize = 64;
const LENGTH_MAX: usize = 300;

static QUEUE: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// From now on warnings of the engine are kept; once per process, and only if nobody else listens.
pub fn keep_warnings() {
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// Takes the oldest warning.
pub(super) fn next_warning() -> Option<String> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("zenoh")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        // Said at every start, of what we ask for.
        if text.0.starts_with("Gossip is disabled") {
            return;
        }
        let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < KEPT && queue.back() != Some(&text.0) {
            queue.push_back(text.0);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
            // Cut at a character, not inside one.
            let end = (0..=LENGTH_MAX.min(self.0.len())).rev().find(|&k| self.0.is_char_boundary(k)).unwrap_or(0);
            self.0.truncate(end);
        }
    }
}
