//! Checkpoints: the state of a solver in one binary file. Layout, all little-endian:
//!
//! ```text
//! "FWCHECK1"  problem u64  nodes u64  edges u64  dim u64  iteration u64  step_ratio f64  w f64..  u f64..  checksum u64
//! ```
//!
//! `problem` identifies nodes and edges, `checksum` everything before it; both are 64-bit FNV-1a.

use std::fs;
use std::path::Path;

use fedweave::{Graph, Matrix};

use crate::error::{IoError, Place};
use crate::fault::Fault;

/// The name says the version: another layout gets another name.
const MAGIC: &[u8; 8] = b"FWCHECK1";
const HEADER_WORDS: usize = 6;

/// The state of a solver after some iterations.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What it belongs to: [`fingerprint`] of the nodes and edges.
    pub problem: u64,
    /// Iterations done.
    pub iteration: u64,
    /// The ratio of primal and dual step sizes.
    pub step_ratio: f64,
    /// The primal iterate, a row per node.
    pub w: Matrix,
    /// The dual iterate, a row per edge.
    pub u: Matrix,
}

/// Identifies a problem by its nodes and weighted edges.
pub fn fingerprint(names: &[String], graph: &Graph) -> u64 {
    let mut hash = Fnv::new();
    for name in names {
        hash.word(name.len() as u64);
        hash.bytes(name.as_bytes());
    }
    for edge in 0..graph.edges() {
        let (i, j) = graph.nodes_of(edge);
        [i as u64, j as u64, graph.weight(edge).to_bits()].into_iter().for_each(|word| hash.word(word));
    }
    hash.0
}

impl Checkpoint {
    /// Writes the file; an interruption leaves the old one or the new one, never a mixture.
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        let partial = path.with_extension("partial");
        fs::write(&partial, self.to_bytes()).map_err(Place::file(path).io())?;
        fs::rename(&partial, path).map_err(Place::file(path).io())
    }

    /// Reads the checkpoint of a problem with these nodes, this graph and `dim` parameters per node.
    pub fn read(path: &Path, names: &[String], graph: &Graph, dim: usize) -> Result<Self, IoError> {
        let bytes = fs::read(path).map_err(Place::file(path).io())?;
        let checkpoint = Self::from_bytes(&bytes)
            .map_err(|message| Place::file(path).fault(Fault::Checkpoint { message: message.into() }))?;
        match checkpoint.difference(names, graph, dim) {
            Some(difference) => Err(Place::file(path).fault(Fault::OtherProblem { difference })),
            None => Ok(checkpoint),
        }
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let (nodes, edges, dim) = (self.w.rows() as u64, self.u.rows() as u64, self.w.cols() as u64);
        for word in [self.problem, nodes, edges, dim, self.iteration, self.step_ratio.to_bits()] {
            bytes.extend(word.to_le_bytes());
        }
        for value in self.w.as_slice().iter().chain(self.u.as_slice()) {
            bytes.extend(value.to_le_bytes());
        }
        let checksum = Fnv::of(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// Reads the bytes of a file; the error says why they are no checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let body = bytes.strip_prefix(MAGIC).ok_or("it does not begin like one of this version")?;
        let (words, rest) = body.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if !rest.is_empty() || words.len() < HEADER_WORDS + 1 {
            return Err("it is cut short");
        }
        let (header, body) = words.split_at(HEADER_WORDS);
        let &[problem, nodes, edges, dim, iteration, step_ratio] = header else {
            return Err("it is cut short");
        };
        let (values, checksum) = body.split_at(body.len() - 1);
        let split = checked_sizes(nodes, edges, dim, values.len()).ok_or("it is cut short or damaged")?;
        if checksum[0] != Fnv::of(&bytes[..bytes.len() - 8]) {
            return Err("it is damaged");
        }
        let matrix =
            |words: &[u64]| Matrix::from_rows(dim as usize, words.iter().map(|&w| f64::from_bits(w)).collect());
        let (w, u) = (matrix(&values[..split]), matrix(&values[split..]));
        Ok(Checkpoint { problem, iteration, step_ratio: f64::from_bits(step_ratio), w, u })
    }

    fn difference(&self, names: &[String], graph: &Graph, dim: usize) -> Option<String> {
        let sizes = [
            ("nodes", self.w.rows(), names.len()),
            ("edges", self.u.rows(), graph.edges()),
            ("parameters per node", self.w.cols(), dim),
        ];
        let differs = sizes.into_iter().find(|(_, found, expected)| found != expected);
        let sized = differs.map(|(what, found, expected)| format!("{found} {what}, not {expected}"));
        let same = self.problem == fingerprint(names, graph);
        sized.or_else(|| (!same).then(|| "other node names or edges".into()))
    }
}

/// The number of entries of `w`, if the sizes in the header agree with the number of entries in the file.
fn checked_sizes(nodes: u64, edges: u64, dim: u64, entries: usize) -> Option<usize> {
    let total = nodes.checked_add(edges)?.checked_mul(dim)?;
    (dim > 0 && total == entries as u64).then(|| (nodes * dim) as usize)
}

/// Fowler, Noll and Vo's hash 1a.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn of(bytes: &[u8]) -> u64 {
        let mut hash = Fnv::new();
        hash.bytes(bytes);
        hash.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checkpoint {
        let w = Matrix::from_rows(2, vec![1.0, -0.0, f64::MIN_POSITIVE, 0.1]);
        let u = Matrix::from_rows(2, vec![3.0, 4.0]);
        Checkpoint { problem: 7, iteration: 12, step_ratio: 0.5, w, u }
    }

    #[test]
    fn bytes_round_trip() {
        assert_eq!(Checkpoint::from_bytes(&example().to_bytes()), Ok(example()));
        let edgeless = Checkpoint { u: Matrix::from_rows(2, Vec::new()), ..example() };
        assert_eq!(Checkpoint::from_bytes(&edgeless.to_bytes()), Ok(edgeless));
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_noticed() {
        let bytes = example().to_bytes();
        for end in 0..bytes.len() {
            assert!(Checkpoint::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Checkpoint::from_bytes(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn known_hash() {
        assert_eq!(Fnv::of(b"foobar"), 0x85944171f73967e8);
    }
}
