//! Following the chain of digests through the files of a log.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{HASH, LINE_BYTES_MAX, Line, LogError, NOTHING, files, hash};

/// The first event of every file but the first.
pub const GOES_ON: &str = "log_goes_on";

/// What a verified log says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Number of the first line that is there: 1, unless old files were removed.
    pub first: u64,
    /// Number of the last line.
    pub lines: u64,
    /// Number of files.
    pub files: u64,
    /// Digest of the last line.
    pub head: String,
    /// Bytes of whole lines in the newest file; what follows was torn by a crash.
    pub bytes: u64,
    /// True if bytes follow.
    pub torn: bool,
}

impl Chain {
    /// Of no line.
    pub(super) fn empty() -> Self {
        Chain { first: 1, lines: 0, files: 0, head: NOTHING.into(), bytes: 0, torn: false }
    }
}

/// Follows the chain from the first line that is there to the last whole one.
pub fn verify(path: &Path) -> Result<Chain, LogError> {
    let (older, mut chain) = (files::older(path), Chain::empty());
    for path in &older {
        chain = follow_file(path, chain)?;
        if chain.torn {
            let what = "its last line is not whole, although another file follows";
            return Err(LogError::Broken { path: path.clone(), line: chain.lines + 1, what });
        }
    }
    if older.is_empty() || path.exists() {
        chain = follow_file(path, chain)?;
    } else {
        chain.bytes = 0;
    }
    Ok(chain)
}

/// Follows the chain, which must still contain a `head` that was noted earlier.
pub fn verify_since(path: &Path, head: &str) -> Result<Chain, LogError> {
    let chain = verify(path)?;
    let is_digest = head.len() == NOTHING.len() && head.bytes().all(|b| b.is_ascii_hexdigit());
    let wanted = format!("{HASH}{head}\"}}");
    for path in files::older(path).iter().map(|path| path.as_path()).chain([path]).filter(|path| path.exists()) {
        let text = std::fs::read_to_string(path).map_err(|error| LogError::File { path: path.to_path_buf(), error })?;
        if is_digest && text.contains(&wanted) {
            return Ok(chain);
        }
    }
    Err(LogError::HeadGone { path: path.to_path_buf(), head: head.into() })
}

fn follow_file(path: &Path, mut chain: Chain) -> Result<Chain, LogError> {
    let at = |error| LogError::File { path: path.to_path_buf(), error };
    let mut reader = BufReader::new(File::open(path).map_err(at)?);
    let mut buffer = Vec::new();
    (chain.files, chain.bytes) = (chain.files + 1, 0);
    loop {
        buffer.clear();
        let mut limited = Read::take(&mut reader, LINE_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut buffer).map_err(at)?;
        let broken = |what| LogError::Broken { path: path.to_path_buf(), line: chain.lines + 1, what };
        if read == LINE_BYTES_MAX {
            return Err(broken("longer than a line can be"));
        }
        let Some((b'\n', line)) = buffer.split_last() else {
            chain.torn = read > 0;
            return Ok(chain);
        };
        let (head, sequence) = follow(line, &chain).map_err(broken)?;
        if chain.lines == 0 {
            chain.first = sequence;
        }
        (chain.head, chain.lines) = (head, sequence);
        chain.bytes += read as u64;
    }
}

/// The digest of `line` and its number, if it follows on `chain`.
fn follow(line: &[u8], chain: &Chain) -> Result<(String, u64), &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "not text")?;
    let (body, tail) = text.rsplit_once(HASH).ok_or("no digest")?;
    let noted = tail.strip_suffix("\"}").ok_or("no digest")?;
    if hash(body) != noted {
        return Err("the line was changed: its digest does not fit");
    }
    let line: Line = serde_json::from_str(&format!("{body}}}")).map_err(|_| "not a line of an event log")?;
    // Where the oldest files were removed, what is left begins as every file does.
    let begins = chain.lines == 0 && line.sequence > 1 && line.event["event"] == GOES_ON;
    match begins || (line.sequence == chain.lines + 1 && line.previous == chain.head) {
        true => Ok((noted.into(), line.sequence)),
        false => Err("lines before it were removed or inserted: it does not follow on the line before"),
    }
}
