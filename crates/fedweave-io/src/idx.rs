//! The idx format of MNIST: a magic number, sizes, then one byte per entry; big-endian, gzipped or not.

use std::io::Read;
use std::path::Path;

use crate::error::{IoError, Place};
use crate::fault::Fault;
use crate::table::open_text;

/// More entries than any such file holds: sizes that a damaged header may claim are not believed.
const ENTRIES_MAX: usize = 1 << 31;

/// An array of bytes of any number of dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idx {
    /// Entries in each dimension.
    pub sizes: Vec<usize>,
    /// All entries, the last index first.
    pub bytes: Vec<u8>,
}

impl Idx {
    /// Reads a file of unsigned bytes.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        let mut content = Vec::new();
        open_text(path)?.read_to_end(&mut content).map_err(Place::file(path).io())?;
        Self::parse(&content).map_err(|message| Place::file(path).fault(Fault::Idx { message }))
    }

    fn parse(content: &[u8]) -> Result<Self, String> {
        let &[0, 0, kind, dimensions, ref rest @ ..] = content else {
            return Err("it does not begin with two zeros".into());
        };
        if kind != 8 {
            return Err(format!("its entries have type {kind}, not 8 (unsigned bytes)"));
        }
        let words = rest.as_chunks::<4>().0;
        let Some(words) = words.get(..dimensions.into()).filter(|w| !w.is_empty()) else {
            return Err("it ends inside the header".into());
        };
        let sizes: Vec<usize> = words.iter().map(|w| u32::from_be_bytes(*w) as usize).collect();
        let entries = sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size)).filter(|n| *n <= ENTRIES_MAX);
        let bytes = &rest[4 * sizes.len()..];
        match entries == Some(bytes.len()) {
            true => Ok(Idx { sizes, bytes: bytes.to_vec() }),
            false => Err(format!("{} entries were announced, {} are there", words_of(&sizes), bytes.len())),
        }
    }
}

fn words_of(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_and_damage_is_named() {
        let good = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
        let idx = Idx::parse(&good).unwrap();
        assert_eq!((idx.sizes, idx.bytes), (vec![2, 3], vec![1, 2, 3, 4, 5, 6]));
        let says = |bytes: &[u8], words: &str| assert!(Idx::parse(bytes).unwrap_err().contains(words), "{words}");
        says(&good[..17], "2 x 3 entries were announced, 5 are there");
        says(&good[..9], "inside the header");
        says(&[0, 0, 13, 1, 0, 0, 0, 0], "type 13");
        says(b"PK\x03\x04", "two zeros");
        says(&[0, 0, 8, 0], "inside the header");
        says(&[0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255], "announced");
        assert!(Idx::read(Path::new("no/such/file")).unwrap_err().to_string().contains("no such file"));
    }
}
