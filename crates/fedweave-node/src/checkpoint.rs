//! Checkpoints that survive a crash at any moment: two slots, written in turn, each with a sequence number and a checksum.
//! A write that is torn, lost or damaged leaves the other slot, one round older.
//!
//! ```text
//! "FWSLOT1\0" | sequence u64 | length u64 | bytes | CRC-32 of all before
//! ```

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"FWSLOT1\0";
const HEADER: usize = 24;
const CHECKSUM: usize = 4;
/// A longer file is no checkpoint of ours.
const BYTES_MAX: u64 = 1 << 34;

/// A place for checkpoints.
pub trait Store {
    /// Makes the bytes durable: when this returns, a crash of the process does not lose them.
    fn save(&mut self, bytes: &[u8]) -> Result<()>;
    /// The newest checkpoint that is whole, if there is any.
    fn load(&mut self) -> Result<Option<Vec<u8>>>;
}

/// The bytes of a slot.
pub fn seal(sequence: u64, bytes: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEADER + bytes.len() + CHECKSUM);
    sealed.extend(MAGIC);
    sealed.extend(sequence.to_le_bytes());
    sealed.extend((bytes.len() as u64).to_le_bytes());
    sealed.extend(bytes);
    let checksum = crc32fast::hash(&sealed);
    sealed.extend(checksum.to_le_bytes());
    sealed
}

/// The sequence number and the content of a slot, if it is whole.
pub fn open(sealed: &[u8]) -> Option<(u64, &[u8])> {
    let (body, checksum) = sealed.split_at_checked(sealed.len().checked_sub(CHECKSUM)?)?;
    let content = body.get(HEADER..)?;
    let word = |at: usize| Some(u64::from_le_bytes(body.get(at..at + 8)?.try_into().ok()?));
    let whole =
        body.starts_with(MAGIC) && word(16)? == content.len() as u64 && crc32fast::hash(body).to_le_bytes() == checksum;
    whole.then_some((word(8)?, content))
}

/// The slot with the newest whole checkpoint, and its sequence number.
pub fn newest(slots: [&[u8]; 2]) -> Option<(usize, u64)> {
    let found = slots.map(|slot| open(slot).map(|(sequence, _)| sequence));
    (0..2).filter_map(|k| Some((k, found[k]?))).max_by_key(|(_, sequence)| *sequence)
}

/// Checkpoints in two files, `<path>.0` and `<path>.1`.
#[derive(Debug)]
pub struct FileStore {
    paths: [PathBuf; 2],
    files: [File; 2],
    next: usize,
    sequence: u64,
    fsync: bool,
}

impl FileStore {
    /// Opens or creates the two files. With `fsync` every checkpoint also survives a loss of power.
    pub fn new(path: &Path, fsync: bool) -> Result<Self> {
        let paths = ["0", "1"].map(|k| {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(k);
            PathBuf::from(name)
        });
        let open = |path: &PathBuf| {
            let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            options.map_err(|e| fault(path, &e))
        };
        let files = [open(&paths[0])?, open(&paths[1])?];
        let mut store = FileStore { paths, files, next: 0, sequence: 0, fsync };
        store.load()?;
        Ok(store)
    }

    /// Forgets all checkpoints.
    pub fn clear(&mut self) -> Result<()> {
        for (file, path) in self.files.iter().zip(&self.paths) {
            file.set_len(0).map_err(|e| fault(path, &e))?;
        }
        (self.next, self.sequence) = (0, 0);
        Ok(())
    }

    fn read(&mut self, slot: usize) -> Result<Vec<u8>> {
        let (file, path) = (&mut self.files[slot], &self.paths[slot]);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.take(BYTES_MAX).read_to_end(&mut bytes))
            .map_err(|e| fault(path, &e))?;
        Ok(bytes)
    }
}

impl Store for FileStore {
    fn save(&mut self, bytes: &[u8]) -> Result<()> {
        let sealed = seal(self.sequence + 1, bytes);
        let (file, path) = (&mut self.files[self.next], &self.paths[self.next]);
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&sealed)?;
            file.set_len(sealed.len() as u64)?;
            if self.fsync { file.sync_data() } else { Ok(()) }
        };
        write(file).map_err(|e| fault(path, &e))?;
        (self.sequence, self.next) = (self.sequence + 1, 1 - self.next);
        Ok(())
    }

    fn load(&mut self) -> Result<Option<Vec<u8>>> {
        let slots = [self.read(0)?, self.read(1)?];
        let Some((slot, sequence)) = newest([&slots[0], &slots[1]]) else { return Ok(None) };
        // The good slot is not the one to be written next.
        (self.sequence, self.next) = (sequence, 1 - slot);
        Ok(open(&slots[slot]).map(|(_, bytes)| bytes.to_vec()))
    }
}

fn fault(path: &Path, error: &std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), what: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_truncation_and_every_flipped_bit_is_noticed() {
        let sealed = seal(3, b"some state");
        assert_eq!(open(&sealed), Some((3, &b"some state"[..])));
        assert!((0..sealed.len()).all(|end| open(&sealed[..end]).is_none()));
        for bit in 0..8 * sealed.len() {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn a_damaged_newest_file_falls_back_and_is_the_one_written_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let mut store = FileStore::new(&path, true).unwrap();
        assert_eq!(store.load().unwrap(), None);
        for round in 1..=5u8 {
            store.save(&[round; 100]).unwrap();
            assert_eq!(FileStore::new(&path, false).unwrap().load().unwrap(), Some(vec![round; 100]));
        }
        // The fifth write went to slot 0.
        let damaged = folder.path().join("part.0");
        let bytes = std::fs::read(&damaged).unwrap();
        std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
        let mut store = FileStore::new(&path, false).unwrap();
        assert_eq!(store.load().unwrap(), Some(vec![4; 100]));
        store.save(b"short").unwrap();
        let mut store = FileStore::new(&path, false).unwrap();
        assert_eq!(store.load().unwrap(), Some(b"short".to_vec()));
        store.clear().unwrap();
        assert_eq!(store.load().unwrap(), None);
    }
}
