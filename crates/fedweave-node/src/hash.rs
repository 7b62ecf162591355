//! Fowler, Noll and Vo's hash 1a, to tell federations and plans apart. It protects against mistakes, not against malice.

/// A hash in the making.
#[derive(Debug, Clone, Copy)]
pub struct Fnv(u64);

impl Fnv {
    /// Nothing yet.
    pub fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, and where they end.
    pub fn text(self, text: &str) -> Self {
        text.bytes().chain([0xff]).fold(self, |hash, byte| hash.byte(byte))
    }

    /// Adds a number.
    pub fn word(self, word: u64) -> Self {
        word.to_le_bytes().into_iter().fold(self, |hash, byte| hash.byte(byte))
    }

    /// The hash.
    pub fn finish(self) -> u64 {
        self.0
    }

    fn byte(self, byte: u8) -> Self {
        Fnv((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

/// A name of a federation whose lower half is a digest of something that parts should have in common: who differs in that
/// alone can be told apart from somebody of another federation.
pub fn with_digest(federation: u64, digest: u64) -> u64 {
    (federation & !DIGEST) | ((digest ^ (digest >> 32)) & DIGEST)
}

/// True if two names differ in the digest alone.
pub fn differs_in_digest(a: u64, b: u64) -> bool {
    a != b && a & !DIGEST == b & !DIGEST
}

const DIGEST: u64 = 0xffff_ffff;

impl Default for Fnv {
    fn default() -> Self {
        Fnv::new()
    }
}
