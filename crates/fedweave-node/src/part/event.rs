//! What happens to a part, and what it wants done.

use super::note::{Note, Outcome};
use crate::plan::PeerId;

/// Something that happens to a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A frame came from a neighbour. Who it is comes from the transport, never from the frame.
    Frame {
        /// The neighbour.
        from: PeerId,
        /// The frame.
        bytes: &'a [u8],
    },
    /// Time passes. The first tick starts the first round.
    Tick {
        /// The time, in milliseconds since any fixed moment.
        now: u64,
    },
    /// A neighbour can be reached.
    LinkUp(PeerId),
    /// A neighbour cannot be reached.
    LinkDown(PeerId),
    /// The operator wants the part to leave: it ends after the round in flight, and its neighbours go on without it.
    Leave,
}

/// Something a part wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Make these bytes durable before handing over the frames that follow.
    Persist(Vec<u8>),
    /// Make these bytes durable among the releases that were paid for, before handing over the frames that follow.
    Spend(Vec<u8>),
    /// Send a frame. It may be lost, doubled or late.
    Send {
        /// To whom.
        to: PeerId,
        /// The frame.
        bytes: Vec<u8>,
    },
    /// For the event log.
    Note(Note),
    /// The part is done; it should be kept running until `Status::settled`, so that neighbours get its last rows.
    Done(Box<Outcome>),
}
