//! How frames travel. A [`Transport`] knows its neighbours by their place in a list and promises little: frames may be
//! lost, and a neighbour may vanish and come back. Who sent a frame is never read from the frame: it follows from the
//! certificate of the connection ([`TlsTransport`]), or from the channel ([`channel`]).
//!
//! ```text
//! settings    where to listen, whom to dial, how to prove who we are
//! tls         certificates in, TLS configurations and peers' identities out
//! link        what two ends of a connection say to each other: hello, frame, alive, bye
//! admission   who sits: one session of each neighbour, under a certificate that counts
//! door        accepting, with limits; dial: dialling, again and again
//! connection  one connection from its handshake to its end
//! inbox       what came in, fairly by neighbour; outbox: what goes out
//! watch       new revocation lists and renewed certificates, while we run
//! ```

mod admission;
pub mod channel;
mod connection;
mod dial;
mod door;
mod inbox;
mod link;
mod outbox;
mod settings;
mod stream;
mod tls;
mod tls_transport;
mod watch;

use std::time::Duration;

pub use admission::{Admission, Reason, Refusal};
pub use settings::{Link, Neighbour, TransportError};
pub use tls_transport::TlsTransport;

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
    /// What the owner of the part should hear of: failed handshakes, an identity that came twice, a list that cannot be read.
    Warning(String),
}

/// A way to the neighbours.
pub trait Transport: Send {
    /// Sends a frame, or loses it.
    fn send(&mut self, to: usize, frame: &[u8]);
    /// The next arrival; waits at most so long.
    fn receive(&mut self, wait: Duration) -> Option<Arrival>;
    /// Hears nothing from a neighbour for a while, which then has to wait.
    fn pause(&mut self, _from: usize, _time: Duration) {}
    /// Says good-bye; what was sent before is still delivered where possible.
    fn close(&mut self) {}
}
