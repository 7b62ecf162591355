//! What came in: a queue for each neighbour, served in turn, so that one who floods us holds up nobody but itself. A full queue is
//! no longer filled, and whoever fills it is no longer read from.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Arrival;

/// Frames of one neighbour that may wait for us.
const FRAMES: usize = 256;
/// Refusals and warnings that may wait for us; what comes on top is forgotten.
const EVENTS: usize = 64;

/// Everything that waits for the part.
pub struct Inbox {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    /// For each neighbour: its queue has room again.
    room: Vec<Notify>,
}

struct Waiting {
    events: VecDeque<Arrival>,
    /// Frames, and comings and goings between them, of each neighbour.
    queues: Vec<VecDeque<Arrival>>,
    /// Until when nothing is taken from a neighbour.
    paused: Vec<Option<Instant>>,
    next: usize,
}

impl Inbox {
    pub fn new(neighbours: usize) -> Inbox {
        let queues = (0..neighbours).map(|_| VecDeque::new()).collect();
        let paused = vec![None; neighbours];
        Inbox {
            waiting: Mutex::new(Waiting { events: VecDeque::new(), queues, paused, next: 0 }),
            filled: Condvar::new(),
            room: (0..neighbours).map(|_| Notify::new()).collect(),
        }
    }

    /// A neighbour comes or goes; this is never lost.
    pub fn place(&self, place: usize, arrival: Arrival) {
        self.lock().queues[place].push_back(arrival);
        self.filled.notify_one();
    }

    /// A refusal or a warning.
    pub fn event(&self, arrival: Arrival) {
        let mut waiting = self.lock();
        if waiting.events.len() < EVENTS && waiting.events.back() != Some(&arrival) {
            waiting.events.push_back(arrival);
            self.filled.notify_one();
        }
    }

    /// A warning.
    pub fn warn(&self, what: impl Into<String>) {
        self.event(Arrival::Warning(what.into()));
    }

    /// A frame of a neighbour, once there is room for it.
    pub async fn frame(&self, from: usize, bytes: Vec<u8>) {
        loop {
            {
                let mut waiting = self.lock();
                if waiting.queues[from].len() < FRAMES {
                    waiting.queues[from].push_back(Arrival::Frame { from, bytes });
                    self.filled.notify_one();
                    return;
                }
            }
            self.room[from].notified().await;
        }
    }

    /// Takes nothing from a neighbour for a while, so that its queue fills and it is no longer read from.
    pub fn pause(&self, place: usize, time: Duration) {
        self.lock().paused[place] = Some(Instant::now() + time);
    }

    /// The next arrival, or nothing in so much time.
    pub fn next(&self, wait: Duration) -> Option<Arrival> {
        let end = Instant::now() + wait;
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            if let Some((arrival, place)) = waiting.take(now) {
                if let Some(place) = place {
                    self.room[place].notify_one();
                }
                return Some(arrival);
            }
            let mut left = end.saturating_duration_since(now);
            if left.is_zero() {
                return None;
            }
            if let Some(until) = waiting.paused.iter().flatten().min() {
                left = left.min(until.saturating_duration_since(now)).max(Duration::from_micros(100));
            }
            waiting = self.filled.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take(&mut self, now: Instant) -> Option<(Arrival, Option<usize>)> {
        if let Some(event) = self.events.pop_front() {
            return Some((event, None));
        }
        let n = self.queues.len();
        self.paused.iter_mut().for_each(|until| *until = until.filter(|until| *until > now));
        let may = |p: &usize| !self.queues[*p].is_empty() && self.paused[*p].is_none();
        let place = (0..n).map(|k| (self.next + k) % n).find(may)?;
        self.next = (place + 1) % n;
        self.queues[place].pop_front().map(|arrival| (arrival, Some(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_waits_and_others_get_their_turn() {
        let inbox = Inbox::new(2);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            for k in 0..FRAMES {
                inbox.frame(0, vec![k as u8]).await;
            }
            let more = tokio::time::timeout(Duration::from_millis(20), inbox.frame(0, vec![1])).await;
            assert!(more.is_err(), "the flood is held back");
            inbox.frame(1, vec![9]).await;
        });
        inbox.next(Duration::ZERO);
        assert_eq!(inbox.next(Duration::ZERO), Some(Arrival::Frame { from: 1, bytes: vec![9] }));
        (0..1000).for_each(|k| inbox.warn(format!("{k}")));
        assert_eq!(inbox.lock().events.len(), EVENTS);
        assert_eq!(inbox.next(Duration::ZERO), Some(Arrival::Warning("0".into())));
    }

    #[test]
    fn a_neighbour_that_is_paused_waits_and_is_heard_afterwards() {
        let inbox = Inbox::new(2);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(inbox.frame(0, vec![1]));
        runtime.block_on(inbox.frame(1, vec![2]));
        inbox.pause(0, Duration::from_millis(30));
        assert_eq!(inbox.next(Duration::ZERO), Some(Arrival::Frame { from: 1, bytes: vec![2] }));
        assert_eq!(inbox.next(Duration::ZERO), None);
        assert_eq!(inbox.next(Duration::from_secs(10)), Some(Arrival::Frame { from: 0, bytes: vec![1] }));
    }

    #[test]
    fn comings_and_goings_stay_in_order_with_frames() {
        let inbox = Inbox::new(1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        inbox.place(0, Arrival::Up(0));
        runtime.block_on(inbox.frame(0, vec![1]));
        inbox.place(0, Arrival::Down(0));
        let seen: Vec<_> = std::iter::from_fn(|| inbox.next(Duration::ZERO)).collect();
        assert_eq!(seen, [Arrival::Up(0), Arrival::Frame { from: 0, bytes: vec![1] }, Arrival::Down(0)]);
    }
}
