//! Frames: a header of fixed length, numbers, a checksum; everything little-endian.
//!
//! ```text
//! 0  version u8 | kind u8 | chunk u16 | chunks u16 | numbers u16      8 bytes
//! 8  federation u64 | round u64 | received u64 | residual f64        32 bytes
//! 40 flows u32                                                        4 bytes
//! 44 numbers, f64 each
//!    CRC-32 of all that comes before                                  4 bytes
//! ```
//!
//! A row of `d` numbers costs `8 d + 48` bytes. What does not fit into one frame is cut into chunks of [`NUMBERS_MAX`].
//! Reading never panics and never allocates: a frame is a view of the bytes that came.

use thiserror::Error;

/// Version of this format.
pub const VERSION: u8 = 3;
/// Most numbers in one frame; frames stay below 64 kB.
pub const NUMBERS_MAX: usize = 8_000;
/// Longest frame, in bytes.
pub const FRAME_BYTES_MAX: usize = HEADER + 8 * NUMBERS_MAX + CHECKSUM;

const HEADER: usize = 44;
const CHECKSUM: usize = 4;

/// What a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows of boundary nodes for a round.
    Rows = 1,
    /// Nothing but what was received.
    Ack = 2,
    /// The sender has finished after this round.
    Finished = 3,
    /// The sender leaves for good after this round.
    Leave = 4,
    /// The sender wants to take part from this round on; 0 asks for the neighbour's state.
    Join = 5,
    /// The answer to a question: the sender's round and the models of its boundary nodes.
    State = 6,
    /// The sender will count on the receiver from this round on.
    Welcome = 7,
    /// Answers of parts to the question of this number about the coupling: how many numbers an answer has, then, for each,
    /// the place of the part among the members, and the answer. `received` counts the questions whose totals the sender has.
    Sums = 8,
    /// The total of all answers to the question of this number, for somebody who is behind.
    Total = 9,
    /// What was learnt, for somebody who is still learning.
    Coupling = 10,
    /// What the sender believes that the two have in common, for somebody who differs.
    Terms = 11,
}

const KINDS: [Kind; 11] = [
    Kind::Rows,
    Kind::Ack,
    Kind::Finished,
    Kind::Leave,
    Kind::Join,
    Kind::State,
    Kind::Welcome,
    Kind::Sums,
    Kind::Total,
    Kind::Coupling,
    Kind::Terms,
];

/// True for a frame of rows, false for one that steers the run; looks at the kind alone.
pub fn carries_rows(frame: &[u8]) -> bool {
    frame.get(1) == Some(&(Kind::Rows as u8))
}

/// All of a frame but its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// What the frame is about.
    pub kind: Kind,
    /// Which piece of the numbers this is, counted from 0.
    pub chunk: u16,
    /// Number of pieces.
    pub chunks: u16,
    /// The federation of the sender.
    pub federation: u64,
    /// The round.
    pub round: u64,
    /// All rounds up to this one were received from whom the frame goes to.
    pub received: u64,
    /// The largest residual that the sender knows of (see `docs/protocol.md`).
    pub residual: f64,
    /// A digest of the flows with which the sender began the round, on the edges between the two parts.
    pub flows: u32,
}

/// Bytes that are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// Fewer bytes than a header has, or more or fewer than it promises.
    #[error("{found} bytes where the header wants {expected}")]
    Length {
        /// Bytes the header promises, or the shortest frame.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
    /// Damaged on the way.
    #[error("the checksum is wrong")]
    Checksum,
    /// Another version of the format.
    #[error("version {found}, not {VERSION}")]
    Version {
        /// The version of the frame.
        found: u8,
    },
    /// A kind that is not known.
    #[error("unknown kind {found}")]
    Kind {
        /// The kind of the frame.
        found: u8,
    },
    /// A chunk that cannot be.
    #[error("chunk {chunk} of {chunks}")]
    Chunk {
        /// The chunk.
        chunk: u16,
        /// Number of chunks.
        chunks: u16,
    },
    /// A residual that is negative or not a number.
    #[error("the residual is not a positive number")]
    Residual,
}

/// A frame as it came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame<'a> {
    /// All but the numbers.
    pub header: Header,
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a frame. The numbers may be any, also infinite or none.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Fault> {
        let shortest = HEADER + CHECKSUM;
        if bytes.len() < shortest || bytes.len() > FRAME_BYTES_MAX {
            return Err(Fault::Length { expected: shortest, found: bytes.len() });
        }
        if bytes[0] != VERSION {
            return Err(Fault::Version { found: bytes[0] });
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if crc32fast::hash(body).to_le_bytes() != checksum {
            return Err(Fault::Checksum);
        }
        let kind = KINDS.into_iter().find(|k| *k as u8 == bytes[1]).ok_or(Fault::Kind { found: bytes[1] })?;
        let (chunk, chunks, numbers) = (short(bytes, 2), short(bytes, 4), usize::from(short(bytes, 6)));
        if chunk >= chunks {
            return Err(Fault::Chunk { chunk, chunks });
        }
        if bytes.len() != shortest + 8 * numbers {
            return Err(Fault::Length { expected: shortest + 8 * numbers, found: bytes.len() });
        }
        let residual = f64::from_bits(word(bytes, 32));
        if residual.is_nan() || residual < 0.0 {
            return Err(Fault::Residual);
        }
        let (federation, round, received) = (word(bytes, 8), word(bytes, 16), word(bytes, 24));
        let flows = u32::from_le_bytes([bytes[40], bytes[41], bytes[42], bytes[43]]);
        let header = Header { kind, chunk, chunks, federation, round, received, residual, flows };
        Ok(Frame { header, bytes: &body[HEADER..] })
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = f64> + 'a {
        self.bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b))
    }
}

/// Writes one frame. Panics if there are more than [`NUMBERS_MAX`] numbers.
pub fn encode(header: &Header, numbers: &[f64]) -> Vec<u8> {
    assert!(numbers.len() <= NUMBERS_MAX, "a frame holds at most {NUMBERS_MAX} numbers");
    let mut bytes = Vec::with_capacity(HEADER + 8 * numbers.len() + CHECKSUM);
    bytes.extend([VERSION, header.kind as u8]);
    for short in [header.chunk, header.chunks, numbers.len() as u16] {
        bytes.extend(short.to_le_bytes());
    }
    for word in [header.federation, header.round, header.received, header.residual.to_bits()] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(header.flows.to_le_bytes());
    numbers.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Number of frames that so many numbers need; at least one.
pub fn chunks_of(numbers: usize) -> usize {
    numbers.div_ceil(NUMBERS_MAX).max(1)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { kind: Kind::Rows, chunk: 1, chunks: 3, federation: 7, round: 9, received: 8, residual: 0.5, flows: 5 }
    }

    #[test]
    fn frames_round_trip_and_cost_what_is_promised() {
        let numbers = [1.5, -0.0, f64::MIN_POSITIVE, 1e300];
        let bytes = encode(&header(), &numbers);
        assert!(bytes.len() <= 8 * numbers.len() + 64);
        let frame = Frame::decode(&bytes).unwrap();
        assert_eq!(frame.header, header());
        let bits = |x: f64| x.to_bits();
        assert!(frame.numbers().map(bits).eq(numbers.iter().map(|x| x.to_bits())));
        assert!(FRAME_BYTES_MAX < 64 * 1024 && chunks_of(0) == 1 && chunks_of(8_001) == 2);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_noticed() {
        let bytes = encode(&header(), &[1.0, 2.0]);
        for end in 0..bytes.len() {
            assert!(Frame::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Frame::decode(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_named() {
        let bad = |change: fn(&mut Header)| {
            let mut h = header();
            change(&mut h);
            Frame::decode(&encode(&h, &[])).map(|f| f.header)
        };
        assert_eq!(bad(|h| h.residual = f64::NAN), Err(Fault::Residual));
        assert_eq!(bad(|h| h.residual = -1.0), Err(Fault::Residual));
        assert_eq!(bad(|h| h.chunk = 3), Err(Fault::Chunk { chunk: 3, chunks: 3 }));
        assert!(bad(|h| h.residual = f64::INFINITY).is_ok());
    }
}
