//! The event log of a part: one JSON object a line, each with a digest of itself and of the line before, so that no line can
//! be changed, removed or inserted without breaking the chain. (A chain cut off at the end is still a chain: note its head
//! elsewhere to rule that out.) A log that has grown long goes on in a new file, and the oldest files are removed.

mod chain;
mod files;

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub use chain::{Chain, verify, verify_since};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Digest before the first line.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const HASH: &str = ",\"hash\":\"";
/// Lines are shorter than this.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// A file as long as this is followed by a new one.
const FILE_BYTES_MAX: u64 = 4 << 20;

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
    bytes: u64,
    /// A longer file is followed by a new one.
    bytes_max: u64,
}

impl EventLog {
    /// Opens or makes a log. An existing chain is verified and continued; a line torn by a crash is cut off, and the log says
    /// so.
    pub fn open(path: &Path, now_ms: u64) -> Result<EventLog, LogError> {
        let at = |error| LogError::File { path: path.to_path_buf(), error };
        let chain = if path.exists() || !files::older(path).is_empty() { verify(path)? } else { Chain::empty() };
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(at)?;
        file.set_len(chain.bytes).map_err(at)?;
        file.seek(SeekFrom::End(0)).map_err(at)?;
        let Chain { lines, head, bytes, .. } = chain;
        let mut log = EventLog { file, path: path.to_path_buf(), lines, head, bytes, bytes_max: FILE_BYTES_MAX };
        if lines > 0 && bytes == 0 {
            log.say_that_it_goes_on(now_ms)?;
        }
        if chain.torn {
            log.write(now_ms, &serde_json::json!({ "event": "torn_line_removed" }))?;
        }
        Ok(log)
    }

    /// Adds a line; it is handed to the operating system before this returns.
    pub fn write(&mut self, now_ms: u64, event: &impl Serialize) -> Result<(), LogError> {
        self.append(now_ms, event)?;
        if self.bytes < self.bytes_max {
            return Ok(());
        }
        let at = |error| LogError::File { path: self.path.clone(), error };
        self.file = files::set_aside(&self.path).map_err(at)?;
        self.bytes = 0;
        self.say_that_it_goes_on(now_ms)
    }

    /// The first line of every file but the first.
    fn say_that_it_goes_on(&mut self, now_ms: u64) -> Result<(), LogError> {
        let older: Vec<String> = files::older(&self.path).iter().map(|path| files::name(path)).collect();
        self.append(now_ms, &serde_json::json!({ "event": chain::GOES_ON, "older": older }))
    }

    fn append(&mut self, now_ms: u64, event: &impl Serialize) -> Result<(), LogError> {
        let event = serde_json::to_value(event).unwrap_or(Value::Null);
        let line = Line { sequence: self.lines + 1, time_ms: now_ms, event, previous: self.head.clone() };
        let mut text = serde_json::to_string(&line).expect("a line is plain data");
        text.pop();
        let hash = hash(&text);
        text.push_str(&format!("{HASH}{hash}\"}}\n"));
        // One call, so that a crash tears at most this line.
        self.file.write_all(text.as_bytes()).map_err(|error| LogError::File { path: self.path.clone(), error })?;
        self.lines += 1;
        self.bytes += text.len() as u64;
        self.head = hash;
        Ok(())
    }

    /// Number of lines and the digest of the last.
    pub fn head(&self) -> (u64, &str) {
        (self.lines, &self.head)
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

    /// A log whose files hold a few lines each.
    fn long(lines: u64) -> (tempfile::TempDir, PathBuf) {
        let (folder, path) = written(1);
        let mut log = EventLog::open(&path, 0).unwrap();
        log.bytes_max = 2_000;
        (0..lines).for_each(|k| log.write(k, &json!({ "event": "round", "round": k })).unwrap());
        (folder, path)
    }

    #[test]
    fn a_long_log_goes_on_in_new_files_and_the_oldest_are_removed() {
        let (_folder, path) = long(40);
        let chain = verify(&path).unwrap();
        assert_eq!((chain.first, chain.lines), (1, 41 + chain.files - 1));
        assert!(chain.files > 3 && chain.files < files::KEPT as u64, "{chain:?}");
        // It goes on after a restart, also after one between two files.
        EventLog::open(&path, 9).unwrap().write(9, &"again").unwrap();
        let whole = verify(&path).unwrap();
        assert_eq!(whole.lines, chain.lines + 1);
        let last = files::older(&path).len();
        std::fs::rename(&path, files::numbered(&path, last as u64 + 1)).unwrap();
        assert_eq!(EventLog::open(&path, 10).unwrap().lines, whole.lines + 1);

        let (_folder, path) = long(200);
        let chain = verify(&path).unwrap();
        assert_eq!(files::older(&path).len(), files::KEPT);
        assert!(chain.first > 1 && chain.lines > 200, "{chain:?}");
        let size = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
        assert!(files::older(&path).iter().all(|path| size(path) < 2_600));
    }

    #[test]
    fn files_cannot_be_taken_out_of_a_long_log_or_cut_unseen() {
        let (_folder, path) = long(40);
        let head = verify(&path).unwrap().head;
        assert!(verify_since(&path, &head).is_ok());
        let older = files::older(&path);
        let (first, second) = (std::fs::read(&older[0]).unwrap(), std::fs::read(&older[1]).unwrap());
        let after_first_line = |bytes: &[u8]| bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        // From the middle.
        std::fs::remove_file(&older[1]).unwrap();
        assert!(matches!(verify(&path), Err(LogError::Broken { .. })));
        // Lines at the start or end of a file.
        std::fs::write(&older[1], &second[..second.len() - 1]).unwrap();
        assert!(matches!(verify(&path), Err(LogError::Broken { .. })));
        std::fs::write(&older[1], &second).unwrap();
        std::fs::write(&older[0], &first[after_first_line(&first)..]).unwrap();
        assert!(matches!(verify(&path), Err(LogError::Broken { .. })));
        // Whole files that are the oldest may go.
        std::fs::remove_file(&older[0]).unwrap();
        assert_eq!(verify(&path).unwrap().first, first.iter().filter(|b| **b == b'\n').count() as u64 + 1);
    }
}
