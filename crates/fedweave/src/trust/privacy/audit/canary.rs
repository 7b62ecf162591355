//! Canaries at the statistics of nodes, which are released by the code that releases them in a fit.

use rand::{Rng, RngExt};

use super::super::statistics::{NoisyMoments, Ranges, release};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

/// A mistake that is planted to see whether the audit finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Half of the noise.
    HalfNoise,
    /// Rows are not clipped.
    NoClip,
    /// All nodes draw from the same seed.
    SeedReused,
    /// A row is counted twice.
    RowTwice,
    /// The ledger is lost in a crash: the node releases once more, with fresh noise.
    LedgerLost,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Flaw; 5] = [Flaw::HalfNoise, Flaw::NoClip, Flaw::SeedReused, Flaw::RowTwice, Flaw::LedgerLost];
}

/// What the attacker thinks of every node: large if it holds the canary.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// Nodes that hold it.
    pub with: Vec<f64>,
    /// Nodes that hold the other row.
    pub without: Vec<f64>,
}

/// Nodes with one row each: the canary or its opposite.
pub struct Canaries {
    /// Noise in multiples of the sensitivity, as claimed.
    pub multiplier: f64,
    /// The mistake, if one is planted.
    pub flaw: Option<Flaw>,
}

/// Without an intercept the norm of a row is all in the feature and the label, where two rows can be orthogonal.
fn ranges() -> Ranges {
    Ranges::new(vec![(-1.0, 1.0)], (-1.0, 1.0), None, false).expect("fixed ranges")
}

/// Orthogonal rows of the largest norm: `v v' - u u'` is as large as it can be.
const ROWS: [([f64; 1], f64); 2] = [([1.0], 1.0), ([1.0], -1.0)];

impl Canaries {
    /// Releases `count` nodes and scores them by two attacks: the sum of all a node released, and the difference to a node whose
    /// row is known.
    pub fn scores(&self, count: usize, noise: &mut impl Rng) -> Result<[Scores; 2]> {
        let mut attacks = [Scores::default(), Scores::default()];
        // Canaries need no secret coin: the attacker does not look at it.
        let mut coin = stream(noise.next_u64(), Purpose::Canaries, 0);
        let known = self.released(1, noise)?;
        for _ in 0..count {
            let holds: bool = coin.random();
            let seen = self.released(usize::from(!holds), noise)?;
            let sum = seen.iter().map(project).sum::<f64>() / seen.len() as f64;
            let difference = project(&seen[0]) - project(&known[0]);
            for (scores, score) in attacks.iter_mut().zip([sum, difference]) {
                if holds { scores.with.push(score) } else { scores.without.push(score) }
            }
        }
        Ok(attacks)
    }

    /// All that a node with this row releases.
    fn released(&self, row: usize, noise: &mut impl Rng) -> Result<Vec<NoisyMoments>> {
        let (x, y) = ROWS[row];
        let data = Dataset::new(vec![0, 1], Matrix::from_rows(1, x.to_vec()), vec![y], vec![1.0])?;
        let ranges = ranges();
        let multiplier = if self.flaw == Some(Flaw::HalfNoise) { 0.5 * self.multiplier } else { self.multiplier };
        let once = |noise: &mut dyn Rng| {
            let released = release(&data, 0, &ranges, multiplier, &mut { noise })?;
            Ok(released.expect("the node has a row"))
        };
        let mut first = match self.flaw {
            Some(Flaw::SeedReused) => once(&mut stream(1, Purpose::Noise, 0))?,
            _ => once(noise)?,
        };
        // What the same row once more, or a row twice as long that was not clipped, adds without more noise.
        let surplus = match self.flaw {
            Some(Flaw::RowTwice) => 1.0,
            Some(Flaw::NoClip) => 3.0,
            _ => 0.0,
        };
        let row = [x[0], y];
        for (k, entry) in first.matrix.iter_mut().enumerate() {
            *entry += surplus * row[k / 2] * row[k % 2];
        }
        let mut all = vec![first];
        if self.flaw == Some(Flaw::LedgerLost) {
            all.push(once(noise)?);
        }
        Ok(all)
    }
}

/// `<M, v v' - u u'>`: the likelihood ratio under Gaussian noise is a function of it.
fn project(moments: &NoisyMoments) -> f64 {
    let [(a, b), (c, d)] = ROWS.map(|(x, y)| (x[0], y));
    let direction = [a * a - c * c, a * b - c * d, b * a - d * c, b * b - d * d];
    moments.matrix.iter().zip(direction).map(|(m, x)| m * x).sum()
}

#[cfg(test)]
mod tests {
    use super::super::super::accountant::noise;
    use super::super::lower_bound;
    use super::*;

    #[test]
    fn the_honest_release_survives_and_every_flaw_is_caught() {
        for claimed in [1.0, 4.0] {
            let multiplier = noise((claimed, 1e-5), 1.0, 1).unwrap();
            let audit = |flaw: Option<Flaw>| {
                let mut rng = stream(7, Purpose::Canaries, flaw.map_or(0, |f| f as usize + 1));
                let scores = Canaries { multiplier, flaw }.scores(300_000, &mut rng).unwrap();
                lower_bound(&scores, 1e-5, 0.01)
            };
            let honest = audit(None);
            assert!(honest.gaussian <= claimed && honest.gaussian > 0.8 * claimed, "{claimed}: {honest:?}");
            for flaw in Flaw::ALL {
                let found = audit(Some(flaw));
                assert!(found.gaussian > claimed, "{claimed} {flaw:?}: {found:?}");
            }
        }
    }
}
