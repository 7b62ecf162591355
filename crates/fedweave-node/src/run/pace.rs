//! How long rounds take.

use std::time::Instant;

/// Rounds that are remembered.
const KEPT: usize = 4096;

/// Times of the last rounds.
#[derive(Debug, Default)]
pub struct Pace {
    last: Option<Instant>,
    seconds: Vec<f64>,
    next: usize,
}

impl Pace {
    /// A round is over.
    pub fn round_done(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            let seconds = now.duration_since(last).as_secs_f64();
            match self.seconds.len() < KEPT {
                true => self.seconds.push(seconds),
                false => self.seconds[self.next] = seconds,
            }
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// Seconds since the last round was over.
    pub fn age(&self, now: Instant) -> Option<f64> {
        self.last.map(|last| now.duration_since(last).as_secs_f64())
    }

    /// Median and largest time, in seconds.
    pub fn median_and_max(&self) -> Option<(f64, f64)> {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Some((*sorted.get(sorted.len() / 2)?, *sorted.last()?))
    }
}
