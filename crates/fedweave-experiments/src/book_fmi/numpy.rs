//! The random numbers of numpy's `RandomState`: the Mersenne twister, shuffles by rejection, normal numbers by the polar method. For the numbers of the notebooks.

const N: usize = 624;
const M: usize = 397;

/// `numpy.random.RandomState(seed)`.
pub struct RandomState {
    state: [u32; N],
    place: usize,
    /// The second of a pair of normal numbers.
    spare: Option<f64>,
}

impl RandomState {
    /// For a seed.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for k in 1..N {
            let before = state[k - 1];
            state[k] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(k as u32);
        }
        RandomState { state, place: N, spare: None }
    }

    fn twist(&mut self) {
        for k in 0..N {
            let mixed = (self.state[k] & 0x8000_0000) | (self.state[(k + 1) % N] & 0x7fff_ffff);
            let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[k] = self.state[(k + M) % N] ^ (mixed >> 1) ^ odd;
        }
        self.place = 0;
    }

    fn next(&mut self) -> u32 {
        if self.place == N {
            self.twist();
        }
        let mut y = self.state[self.place];
        self.place += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform on [0, 1), 53 bits.
    fn double(&mut self) -> f64 {
        let (high, low) = (self.next() >> 5, self.next() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// `normal()`.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (a, b) = (2.0 * self.double() - 1.0, 2.0 * self.double() - 1.0);
            let size = a * a + b * b;
            if size < 1.0 && size != 0.0 {
                let factor = (-2.0 * size.ln() / size).sqrt();
                self.spare = Some(factor * a);
                return factor * b;
            }
        }
    }

    /// A whole number up to `most`.
    fn upto(&mut self, most: u32) -> u32 {
        let mask = u32::MAX >> most.leading_zeros();
        loop {
            let value = self.next() & mask;
            if value <= most {
                return value;
            }
        }
    }

    /// `permutation(count)`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for k in (1..count).rev() {
            let other = self.upto(k as u32) as usize;
            order.swap(k, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_numpy() {
        assert_eq!(RandomState::new(4740).permutation(10), [4, 7, 3, 1, 9, 6, 8, 5, 0, 2]);
        let mut state = RandomState::new(1);
        let expected = [1.6243453636632417, -0.6117564136500754, -0.5281717522634557];
        assert!(expected.iter().all(|x| (state.normal() - x).abs() < 1e-15));
    }
}
