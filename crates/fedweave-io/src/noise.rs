//! Where noise comes from: the operating system. A seed is for tests, and is said aloud wherever it is used.

use std::convert::Infallible;

use fedweave::random::{Purpose, stream, stream_at};
use rand::rngs::SysRng;
use rand::{SeedableRng, TryRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};

/// Bytes fetched at a time.
const BUFFER: usize = 4096;

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

    /// Noise for a node at a point, never the same at two points.
    pub fn at(seed: Option<u64>, node: usize, point: &[f64]) -> Noise {
        match seed {
            Some(seed) => Noise::Seed(Box::new(stream_at(seed, Purpose::Noise, node, point))),
            None => Noise::new(None),
        }
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
    use rand::Rng;

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
