//! The generator behind the seeds of the notebooks: `numpy.random.RandomState`, the Mersenne twister of M. Matsumoto and
//! T. Nishimura (1998) with 53-bit fractions and Marsaglia's polar method.

const LENGTH: usize = 624;
const MIDDLE: usize = 397;

/// The twister.
pub struct LegacyRandom {
    state: Vec<u32>,
    next: usize,
    /// The second of a pair of normal numbers.
    spare: Option<f64>,
}

impl LegacyRandom {
    /// As `RandomState(seed)`.
    pub fn new(seed: u32) -> Self {
        let mut state = vec![seed];
        for i in 1..LENGTH as u32 {
            let last = state[i as usize - 1];
            state.push((last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i));
        }
        LegacyRandom { state, next: LENGTH, spare: None }
    }

    fn twist(&mut self) {
        for k in 0..LENGTH {
            let y = (self.state[k] & 0x8000_0000) | (self.state[(k + 1) % LENGTH] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[k] = self.state[(k + MIDDLE) % LENGTH] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn word(&mut self) -> u32 {
        if self.next == LENGTH {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform in [0, 1).
    pub fn fraction(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Normal with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (a, b) = (2.0 * self.fraction() - 1.0, 2.0 * self.fraction() - 1.0);
            let square = a * a + b * b;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(factor * a);
                return factor * b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_the_authors_publish() {
        // `init_genrand(5489)`: the default of the C++ standard, whose 10,000th word it gives.
        let mut random = LegacyRandom::new(5489);
        let last = (0..10_000).map(|_| random.word()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
