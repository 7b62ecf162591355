//! Asking a running part how it is.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::Snapshot;

/// The answer may take so long, all in all.
const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Asks a running part for its snapshot; the token is in its state folder ([`super::TOKEN`]).
pub fn ask(address: SocketAddr, token: &str) -> io::Result<Snapshot> {
    let until = Instant::now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    let request = format!(
        "GET /status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        token.trim()
    );
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match (&mut stream).take(ANSWER_BYTES_MAX - bytes.len() as u64).read(&mut piece)? {
            0 => break,
            n => bytes.extend_from_slice(&piece[..n]),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| wrong("not an answer of a part"))?;
    if head.starts_with("HTTP/1.1 401") {
        return Err(wrong("it wants the token in its state folder, metrics-token"));
    }
    serde_json::from_str(body).map_err(|e| wrong(&e.to_string()))
}
