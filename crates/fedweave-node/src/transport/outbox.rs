//! What goes out to one neighbour: two short queues, so that rows never hold up what steers the run. A frame that finds its queue
//! full is lost; the state machine repeats it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::link::{self, Bye};
use crate::wire;

/// Frames that may wait in each queue.
const FRAMES: usize = 256;

/// Frames on their way to one neighbour.
#[derive(Default)]
pub struct Outbox {
    /// Control first, then rows.
    queues: Mutex<[VecDeque<Vec<u8>>; 2]>,
    /// The neighbour should hear that somebody else came with its certificate.
    impostor: AtomicBool,
    filled: Notify,
}

impl Outbox {
    /// Takes a frame, or loses it.
    pub fn put(&self, frame: &[u8]) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = &mut queues[usize::from(wire::carries_rows(frame))];
        if queue.len() < FRAMES {
            queue.push_back(frame.to_vec());
            self.filled.notify_one();
        }
    }

    /// Forgets everything: a new connection starts with what is sent from now on.
    pub fn clear(&self) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(VecDeque::clear);
    }

    /// The neighbour is told that somebody else came with its certificate.
    pub fn warn_of_impostor(&self) {
        self.impostor.store(true, Ordering::Relaxed);
        self.filled.notify_one();
    }

    /// Appends all that waits to `out`, as it is said on a connection.
    pub fn drain(&self, out: &mut Vec<u8>) {
        if self.impostor.swap(false, Ordering::Relaxed) {
            out.extend(link::bye(Bye::Impostor));
        }
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter_mut().flat_map(|queue| queue.drain(..)).for_each(|frame| link::frame(&frame, out));
    }

    /// Something may wait.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_overtakes_rows_and_a_full_queue_loses() {
        let (rows, control) = ([1u8, 1, 0, 0], [1u8, 2, 0, 0]);
        let outbox = Outbox::default();
        (0..2 * FRAMES).for_each(|_| outbox.put(&rows));
        outbox.put(&control);
        let mut out = Vec::new();
        outbox.drain(&mut out);
        assert_eq!(out.len(), (FRAMES + 1) * (5 + 4));
        assert_eq!(out[5..9], control);
        outbox.put(&rows);
        outbox.clear();
        out.clear();
        outbox.drain(&mut out);
        assert!(out.is_empty());
    }
}
