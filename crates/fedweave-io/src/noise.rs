//! Where noise comes from: the operating system. A seed is for tests, and is said aloud wherever it is used.

use std::convert::Infallible;

use fedweave::random::{Purpose, stream};
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};

/// Bytes fetched at a time.
const BUFFER: usize = 4096;

/// What keys are derived for.
const OF_NOISE: u64 = 1;
const OF_MARKS: u64 = 2;

/// A key for a list of words whose length follows from its beginning: one step of ChaCha20 a word, keyed by what the step before gave, with the word
/// as its stream. If ChaCha20 cannot be told from chance, neither can this (Bellare, Canetti and Krawczyk 1996).
fn derived(key: &[u8; 32], words: impl Iterator<Item = u64>) -> [u8; 32] {
    let mut key = *key;
    for word in words {
        let mut rng = ChaCha20Rng::from_seed(key);
        rng.set_stream(word);
        rng.fill_bytes(&mut key);
    }
    key
}

/// A source of noise.
pub enum Noise {
    /// The operating system, a buffer at a time.
    System {
        /// Bytes that were fetched.
        buffer: Box<[u8; BUFFER]>,
        /// How many of them were used.
        used: usize,
    },
    /// A seed: protects nothing.
    Seed(Box<ChaCha8Rng>),
    /// A key that nobody else has: the same noise for the same key.
    Keyed(Box<ChaCha20Rng>),
}

impl Noise {
    /// The operating system, unless there is a seed.
    pub fn new(seed: Option<u64>) -> Noise {
        match seed {
            Some(seed) => Noise::Seed(Box::new(stream(seed, Purpose::Noise, 0))),
            None => Noise::System { buffer: Box::new([0; BUFFER]), used: BUFFER },
        }
    }

    /// What a key of 256 bits gives.
    pub fn keyed(key: [u8; 32]) -> Noise {
        Noise::Keyed(Box::new(ChaCha20Rng::from_seed(key)))
    }

    /// A key that nobody else has, unless there is a seed.
    pub fn key(seed: Option<u64>) -> [u8; 32] {
        let mut key = [0; 32];
        Noise::new(seed).fill_bytes(&mut key);
        key
    }

    /// Noise for a node at a point: the same for the same key, node and point, and otherwise, to whom the key is not known, as good as
    /// independent.
    pub fn at(key: &[u8; 32], node: &str, point: &[f64]) -> Noise {
        let name = node.as_bytes().chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let head = [OF_NOISE, node.len() as u64].into_iter().chain(name).chain([point.len() as u64]);
        Noise::keyed(derived(key, head.chain(point.iter().map(|x| x.to_bits()))))
    }

    /// Tells points apart, to whom the key is known.
    pub fn mark(key: &[u8; 32], count: usize, points: impl Iterator<Item = f64>) -> [u8; 16] {
        let whole = derived(key, [OF_MARKS, count as u64].into_iter().chain(points.map(f64::to_bits)));
        let mut mark = [0; 16];
        mark.copy_from_slice(&whole[..16]);
        mark
    }

    /// Its name in summaries.
    pub fn name(seed: Option<u64>) -> &'static str {
        if seed.is_some() { "seed: protects nothing" } else { "operating system" }
    }
}

impl TryRng for Noise {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|number| (number >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (buffer, used) = match self {
            Noise::Seed(rng) => return rng.try_next_u64(),
            Noise::Keyed(rng) => return rng.try_next_u64(),
            Noise::System { buffer, used } => (buffer, used),
        };
        if *used == BUFFER {
            // Without noise nothing may be released.
            SysRng.try_fill_bytes(&mut buffer[..]).expect("the operating system has random numbers");
            *used = 0;
        }
        let bytes = &mut buffer[*used..*used + 8];
        let number = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        // What was used is forgotten.
        bytes.fill(0);
        *used += 8;
        Ok(number)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_nodes_and_points_decide_about_noise() {
        let draw = |key: u8, node: &str, point: &[f64]| Noise::at(&[key; 32], node, point).next_u64();
        let first = draw(1, "north", &[0.5, 1.0]);
        assert_eq!(first, draw(1, "north", &[0.5, 1.0]));
        let others = [
            draw(2, "north", &[0.5, 1.0]),
            draw(1, "nort", &[0.5, 1.0]),
            draw(1, "north\0", &[0.5, 1.0]),
            draw(1, "north", &[1.0, 0.5]),
            draw(1, "north", &[0.5]),
            draw(1, "north", &[0.5, 1.0f64.next_up()]),
        ];
        assert!(others.iter().all(|other| *other != first));
        assert_ne!(Noise::key(None), Noise::key(None));
        assert_eq!(Noise::key(Some(3)), Noise::key(Some(3)));
        let mark = |points: &[f64]| Noise::mark(&[1; 32], points.len(), points.iter().copied());
        assert!(mark(&[1.0, 2.0]) == mark(&[1.0, 2.0]) && mark(&[1.0, 2.0]) != mark(&[2.0, 1.0]));
    }

    #[test]
    fn the_operating_system_never_repeats_itself_and_a_seed_does() {
        let draw = |seed| {
            let mut noise = Noise::new(seed);
            (0..2000).map(|_| noise.next_u64()).collect::<Vec<_>>()
        };
        assert_ne!(draw(None), draw(None));
        assert_eq!(draw(Some(1)), draw(Some(1)));
        let mut numbers = draw(None);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 2000);
    }
}
