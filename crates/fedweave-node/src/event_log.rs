//! The event log of a part: one JSON object a line, each with a digest of itself and of the line before, so that no line can
//! be changed, removed or inserted without breaking the chain. (A chain cut off at the end is still a chain: note its head
//! elsewhere to rule that out.)

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Digest before the first line.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Lines are shorter than this.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The log.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A line does not follow from those before.
    #[error("{}:{line}: {what}", path.display())]
    Broken {
        /// The log.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A digest that was noted earlier is not in it.
    #[error("{}: the head {head} is not in it: lines at the end were removed, or it is another log", path.display())]
    HeadGone {
        /// The log.
        path: PathBuf,
        /// The digest.
        head: String,
    },
}

/// What a verified log says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Number of lines.
    pub lines: u64,
    /// Digest of the last line.
    pub head: String,
    /// Bytes of whole lines; what follows was torn by a crash.
    pub bytes: u64,
    /// True if bytes follow.
    pub torn: bool,
}

#[derive(Serialize, Deserialize)]
struct Line {
    sequence: u64,
    time_ms: u64,
    event: Value,
    previous: String,
}

/// A log, open for writing.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
    lines: u64,
    head: String,
}

impl EventLog {
    /// Opens or makes a log. An existing chain is verified and continued; a line torn by a crash is cut off, and the log says
    /// so.
    pub fn open(path: &Path, now_ms: u64) -> Result<EventLog, LogError> {
        let at = |error| LogError::File { path: path.to_path_buf(), error };
        let chain = match path.exists() {
            true => verify(path)?,
            false => Chain { lines: 0, head: NOTHING.into(), bytes: 0, torn: false },
        };
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(at)?;
        file.set_len(chain.bytes).map_err(at)?;
        file.seek(SeekFrom::End(0)).map_err(at)?;
        let mut log = EventLog { file, path: path.to_path_buf(), lines: chain.lines, head: chain.head };
        if chain.torn {
            log.write(now_ms, &serde_json::json!({ "event": "torn_line_removed" }))?;
        }
        Ok(log)
    }

    /// Adds a line; it is handed to the operating system before this returns.
    pub fn write(&mut self, now_ms: u64, event: &impl Serialize) -> Result<(), LogError> {
        let event = serde_json::to_value(event).unwrap_or(Value::Null);
        let line = Line { sequence: self.lines + 1, time_ms: now_ms, event, previous: self.head.clone() };
        let mut text = serde_json::to_string(&line).expect("a line is plain data");
        text.pop();
        let hash = hash(&text);
        text.push_str(&format!("{HASH}{hash}\"}}\n"));
        // One call, so that a crash tears at most this line.
        self.file.write_all(text.as_bytes()).map_err(|error| LogError::File { path: self.path.clone(), error })?;
        self.lines += 1;
        self.head = hash;
        Ok(())
    }

    /// Number of lines and the digest of the last.
    pub fn head(&self) -> (u64, &str) {
        (self.lines, &self.head)
    }
}

/// Follows the chain from the first line to the last whole one.
pub fn verify(path: &Path) -> Result<Chain, LogError> {
    let at = |error| LogError::File { path: path.to_path_buf(), error };
    let mut reader = BufReader::new(File::open(path).map_err(at)?);
    let mut chain = Chain { lines: 0, head: NOTHING.into(), bytes: 0, torn: false };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let mut limited = std::io::Read::take(&mut reader, LINE_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut buffer).map_err(at)?;
        let broken = |what| LogError::Broken { path: path.to_path_buf(), line: chain.lines + 1, what };
        if read == LINE_BYTES_MAX {
            return Err(broken("longer than a line can be"));
        }
        let Some((b'\n', line)) = buffer.split_last() else {
            chain.torn = read > 0;
            return Ok(chain);
        };
        chain.head = follow(line, &chain).map_err(broken)?;
        chain.lines += 1;
        chain.bytes += read as u64;
    }
}

/// Follows the chain, which must still contain a `head` that was noted earlier.
pub fn verify_since(path: &Path, head: &str) -> Result<Chain, LogError> {
    let chain = verify(path)?;
    let text = std::fs::read_to_string(path).map_err(|error| LogError::File { path: path.to_path_buf(), error })?;
    let is_digest = head.len() == NOTHING.len() && head.bytes().all(|b| b.is_ascii_hexdigit());
    match is_digest && text.contains(&format!("{HASH}{head}\"}}")) {
        true => Ok(chain),
        false => Err(LogError::HeadGone { path: path.to_path_buf(), head: head.into() }),
    }
}

const HASH: &str = ",\"hash\":\"";

/// The digest of `line`, if it follows on `chain`.
fn follow(line: &[u8], chain: &Chain) -> Result<String, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "not text")?;
    let (body, tail) = text.rsplit_once(HASH).ok_or("no digest")?;
    let noted = tail.strip_suffix("\"}").ok_or("no digest")?;
    if hash(body) != noted {
        return Err("the line was changed: its digest does not fit");
    }
    let line: Line = serde_json::from_str(&format!("{body}}}")).map_err(|_| "not a line of an event log")?;
    match (line.sequence == chain.lines + 1, line.previous == chain.head) {
        (true, true) => Ok(noted.into()),
        _ => Err("lines before it were removed or inserted: it does not follow on the line before"),
    }
}

fn hash(text: &str) -> String {
    sha256(text.as_bytes())
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(lines: u64) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut log = EventLog::open(&path, 0).unwrap();
        (0..lines).for_each(|k| log.write(k, &json!({ "event": "round", "round": k })).unwrap());
        (folder, path)
    }

    #[test]
    fn a_log_continues_after_a_restart_and_verifies() {
        let (_folder, path) = written(3);
        let mut log = EventLog::open(&path, 9).unwrap();
        log.write(9, &"again").unwrap();
        let chain = verify(&path).unwrap();
        assert_eq!((chain.lines, chain.head.as_str(), chain.torn), (4, log.head().1, false));
    }

    #[test]
    fn every_changed_byte_breaks_the_chain() {
        let (_folder, path) = written(3);
        let good = std::fs::read(&path).unwrap();
        for k in 0..good.len() - 1 {
            let mut bad = good.clone();
            bad[k] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            assert!(verify(&path).is_err(), "byte {k}");
        }
    }

    #[test]
    fn removed_and_repeated_lines_are_found() {
        let (_folder, path) = written(4);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (order, line) in [(vec![1, 2, 3], 1), (vec![0, 2, 3], 2), (vec![0, 1, 1, 2, 3], 3), (vec![0, 2, 1, 3], 2)] {
            let text: String = order.iter().map(|&k: &usize| format!("{}\n", lines[k])).collect();
            std::fs::write(&path, text).unwrap();
            assert!(matches!(verify(&path), Err(LogError::Broken { line: l, .. }) if l == line), "{order:?}");
        }
    }

    #[test]
    fn a_head_noted_earlier_must_still_be_there() {
        let (_folder, path) = written(3);
        let head = verify(&path).unwrap().head;
        EventLog::open(&path, 9).unwrap().write(9, &"later").unwrap();
        assert_eq!(verify_since(&path, &head).unwrap().lines, 4);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        assert!(matches!(verify_since(&path, &head), Err(LogError::HeadGone { .. })));
        assert!(matches!(verify_since(&path, "event"), Err(LogError::HeadGone { .. })));
    }

    #[test]
    fn a_torn_line_is_cut_off_and_mentioned() {
        let (_folder, path) = written(3);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        assert_eq!((verify(&path).unwrap().lines, verify(&path).unwrap().torn), (2, true));
        EventLog::open(&path, 5).unwrap();
        let chain = verify(&path).unwrap();
        assert_eq!((chain.lines, chain.torn), (3, false));
        assert!(std::fs::read_to_string(&path).unwrap().contains("torn_line_removed"));
    }
}
