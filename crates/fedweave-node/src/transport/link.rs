//! What the two ends of a connection say to each other: a kind, a length (both little-endian), and so many bytes.
//!
//! ```text
//! dialler   hello ->            version u8 | session 8 bytes | identity
//! acceptor        <- hello      admitted; or bye
//! both      frame, alive, bye   in any order; whoever says bye, or nothing for LEASE, is gone
//! ```

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::FRAME_BYTES_MAX;
use crate::certs::Identity;

/// Newest version of what is said on a connection that this program knows, and the oldest one that it still speaks. Each end says its
/// newest one; they speak the smaller of the two, if both still do. Version 2 came with edges that are compared.
pub const LINK_VERSION: u8 = 2;
pub const LINK_VERSION_OLDEST: u8 = 2;

const HELLO: u8 = 1;
const FRAME: u8 = 2;
const ALIVE: u8 = 3;
const BYE: u8 = 4;
const HEADER: usize = 5;

/// One run of a process, under a name that nobody can guess.
pub type SessionId = [u8; 8];

/// Something said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Who speaks, and in which run of its process.
    Hello { version: u8, session: SessionId, identity: String },
    /// A frame of the protocol above.
    Frame(Vec<u8>),
    /// Nothing but that the speaker is there.
    Alive,
    /// The connection ends.
    Bye(Bye),
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Bye {
    /// The speaker ends.
    Closing = 0,
    /// The listener is not a neighbour of the speaker, or its certificate does not count.
    Refused = 1,
    /// Another process with the listener's certificate is connected.
    IdentityInUse = 2,
    /// The two have another connection already.
    Twice = 3,
    /// The speaker does not know the listener's version.
    Version = 4,
    /// Not an end: somebody else came with the listener's certificate and was refused.
    Impostor = 5,
}

const BYES: [Bye; 6] = [Bye::Closing, Bye::Refused, Bye::IdentityInUse, Bye::Twice, Bye::Version, Bye::Impostor];

/// The hello of `identity`.
pub fn hello(identity: &Identity, session: SessionId) -> Vec<u8> {
    let mut body = vec![LINK_VERSION];
    body.extend_from_slice(&session);
    body.extend_from_slice(identity.to_string().as_bytes());
    let mut out = Vec::new();
    append(HELLO, &body, &mut out);
    out
}

/// Appends a frame.
pub fn frame(bytes: &[u8], out: &mut Vec<u8>) {
    append(FRAME, bytes, out);
}

/// A sign of life.
pub fn alive() -> Vec<u8> {
    let mut out = Vec::new();
    append(ALIVE, &[], &mut out);
    out
}

/// A good-bye.
pub fn bye(why: Bye) -> Vec<u8> {
    let mut out = Vec::new();
    append(BYE, &[why as u8], &mut out);
    out
}

fn append(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(body);
}

/// The next thing said. Nothing longer than a frame is read, whatever the other end promises.
pub async fn listen(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Said> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).await?;
    let length = u32::from_le_bytes(header[1..].try_into().expect("four bytes")) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(wrong("a message longer than any frame"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    understand(header[0], body).ok_or_else(|| wrong("a message that has no meaning"))
}

fn understand(kind: u8, body: Vec<u8>) -> Option<Said> {
    match (kind, body.as_slice()) {
        (HELLO, [version, rest @ ..]) => {
            let session = rest.get(..8)?.try_into().ok()?;
            let identity = String::from_utf8(rest[8..].to_vec()).ok()?;
            Some(Said::Hello { version: *version, session, identity })
        }
        (FRAME, _) => Some(Said::Frame(body)),
        (ALIVE, []) => Some(Said::Alive),
        (BYE, [why]) => BYES.get(usize::from(*why)).copied().map(Said::Bye),
        _ => None,
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Said> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(listen(&mut &bytes[..]))
    }

    #[test]
    fn what_is_said_is_heard() {
        let east = Identity { name: "east".into(), issue: 3, federation: "f".into() };
        let said = Said::Hello { version: LINK_VERSION, session: [7; 8], identity: "east+3@f".into() };
        assert_eq!(read(&hello(&east, [7; 8])).unwrap(), said);
        let mut out = Vec::new();
        frame(b"numbers", &mut out);
        assert_eq!(read(&out).unwrap(), Said::Frame(b"numbers".to_vec()));
        assert_eq!(read(&alive()).unwrap(), Said::Alive);
        for why in BYES {
            assert_eq!(read(&bye(why)).unwrap(), Said::Bye(why));
        }
    }

    #[test]
    fn nonsense_is_an_error_and_long_promises_are_not_believed() {
        for bad in
            [&[0u8, 0, 0, 0, 0][..], &[9, 0, 0, 0, 0], &[4, 1, 0, 0, 0, 99], &[1, 1, 0, 0, 0, 1], &[3, 1, 0, 0, 0, 1]]
        {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        let error = read(&[2, 255, 255, 255, 255]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(read(&[2, 5, 0, 0, 0, 1]).is_err(), "cut off");
    }
}
