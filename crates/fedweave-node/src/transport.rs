//! How frames travel. A [`Transport`] knows its neighbours by their place in a list and promises little: frames may be
//! lost, and a neighbour may vanish and come back. Who sent a frame is never read from the frame: it follows from the
//! certificate of the connection ([`ZenohTransport`]), or from the channel ([`channel`]).

mod access;
mod admission;
pub mod channel;
mod engine;
mod redial;
mod settings;
mod warnings;
mod zenoh;

use std::time::Duration;

pub use admission::{Admission, Reason, Refusal};
pub use settings::{Link, Neighbour, RUNTIME, TransportError};
pub use warnings::keep_warnings;
pub use zenoh::ZenohTransport;

/// Frames are smaller than this.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;

/// What comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A neighbour can be reached, and may send.
    Up(usize),
    /// A neighbour can no longer be reached.
    Down(usize),
    /// A frame of a neighbour that is up.
    Frame {
        /// The neighbour.
        from: usize,
        /// The frame.
        bytes: Vec<u8>,
    },
    /// Somebody was turned away by our own rules.
    Refused(Refusal),
    /// What the layers below complained about.
    Warning(String),
}

/// A way to the neighbours.
pub trait Transport: Send {
    /// Sends a frame, or loses it.
    fn send(&mut self, to: usize, frame: &[u8]);
    /// The next arrival; waits at most so long.
    fn receive(&mut self, wait: Duration) -> Option<Arrival>;
    /// Says good-bye; what was sent before is still delivered where possible.
    fn close(&mut self) {}
}
