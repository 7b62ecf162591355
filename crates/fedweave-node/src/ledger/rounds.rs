//! The releases of noisy gradients, one record after another.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::{LedgerError, at, private, sync_folder};
use crate::noise::RECORD;
use crate::protect::log_path;

/// A file to which records are added.
#[derive(Debug)]
pub struct RoundLog {
    path: PathBuf,
    file: File,
}

impl RoundLog {
    /// Makes the file, durably, before anything is bought: from then on, that it is not there means that it was lost.
    pub fn prepare(path: &Path) -> Result<(), LedgerError> {
        let file = private().append(true).open(path).map_err(at(path))?;
        file.sync_all().map_err(at(path))?;
        sync_folder(path)
    }

    /// Opens it; the records in it. What a crash left of a record that was not written whole was never used, and is cut off.
    pub fn open(path: &Path) -> Result<(RoundLog, Vec<u8>), LedgerError> {
        if !path.exists() {
            let what =
                "it is lost, and with it which gradients were released; nothing is sent before it is restored".into();
            return Err(LedgerError::Damaged { path: path.to_path_buf(), what });
        }
        let mut file = private().read(true).append(true).open(path).map_err(at(path))?;
        let mut records = Vec::new();
        file.read_to_end(&mut records).map_err(at(path))?;
        let whole = records.len() / RECORD * RECORD;
        if whole < records.len() {
            records.truncate(whole);
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(at(path))?;
        }
        Ok((RoundLog { path: path.to_path_buf(), file }, records))
    }

    /// Records beside a ledger, of the entry `what`.
    pub fn count(ledger: &Path, what: &str) -> u64 {
        std::fs::metadata(log_path(ledger, what)).map_or(0, |file| file.len() / RECORD as u64)
    }

    /// Adds a record; when this returns, neither a crash nor a loss of power loses it.
    pub fn add(&mut self, record: &[u8]) -> Result<(), LedgerError> {
        self.file.write_all(record).and_then(|()| self.file.sync_data()).map_err(at(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_and_half_a_record_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lost = RoundLog::open(&path).unwrap_err();
        assert!(matches!(lost, LedgerError::Damaged { .. }) && !path.exists(), "{lost}");
        RoundLog::prepare(&path).unwrap();
        let (mut log, records) = RoundLog::open(&path).unwrap();
        assert!(records.is_empty());
        log.add(&[1; RECORD]).unwrap();
        log.add(&[2; RECORD / 2]).unwrap();
        drop(log);
        let (mut log, records) = RoundLog::open(&path).unwrap();
        assert_eq!(records, [1; RECORD]);
        log.add(&[3; RECORD]).unwrap();
        let (_, records) = RoundLog::open(&path).unwrap();
        assert_eq!(records, [[1; RECORD], [3; RECORD]].concat());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
        }
    }
}
