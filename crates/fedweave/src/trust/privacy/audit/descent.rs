//! Canaries at the gradients of nodes, which are released by the code that releases them in a fit.

use rand::{Rng, RngExt};

use super::super::rounds::{ClippedGradients, GradientNoise};
use super::canary::Scores;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::loss::{Family, LossOptions};
use crate::matrix::Matrix;
use crate::penalty::SquaredNorm;
use crate::problem::Problem;
use crate::random::{Purpose, stream, stream_at};
use crate::solve::noisy_descent;

/// So short that gradients are clipped in every round, wherever noise leads: rows then differ as much as they can.
const CLIP: f64 = 1e-6;

/// Nodes with one row each, whose label is 1 or -1, in rounds with noise.
pub struct DescentCanaries {
    /// Noise of a round in multiples of the sensitivity.
    pub multiplier: f64,
    /// Rounds that the claim is about.
    pub rounds: usize,
}

impl DescentCanaries {
    /// Descends with `count` nodes. The attacker sees all gradients; their sum, which is where a node ends, is the likelihood ratio.
    pub fn scores(&self, count: usize, noise: &mut impl Rng) -> Result<Scores> {
        let (coins, seed) = (noise.next_u64(), noise.next_u64());
        let mut coin = stream(coins, Purpose::Canaries, 0);
        let y: Vec<f64> = (0..count).map(|_| if coin.random() { 1.0 } else { -1.0 }).collect();
        let x = Matrix::from_rows(1, vec![1.0; count]);
        let data = Dataset::new((0..=count).collect(), x, y.clone(), vec![1.0; count])?;
        let (family, options) = (Family::Squared, LossOptions::default());
        let loss = family.build(data.clone(), &options)?;
        let problem = Problem::build(Graph::new(count, &[])?, loss, Box::new(SquaredNorm), 0.0)?;
        let noise = GradientNoise { row_norm: 1.0, clip: CLIP, multiplier: self.multiplier, rate: 1.0 };
        let gradients = ClippedGradients::new(family, data, &options, noise)?;
        let mut last = Vec::new();
        let draw = |node: usize, point: &[f64]| stream_at(seed, Purpose::Noise, node, point);
        noisy_descent(&problem, gradients, self.rounds, draw, &mut |round, w| {
            if round == self.rounds {
                last = w.as_slice().to_vec();
            }
            true
        })?;
        let of = |label: f64| last.iter().zip(&y).filter(|(_, y)| **y == label).map(|(w, _)| *w).collect();
        Ok(Scores { with: of(1.0), without: of(-1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::accountant::noise;
    use super::super::lower_bound;
    use super::*;

    #[test]
    fn honest_rounds_survive_and_flaws_are_caught() {
        for claimed in [1.0, 4.0] {
            let rounds = 5;
            let multiplier = noise((claimed, 1e-5), 1.0, rounds as u64).unwrap();
            let audit = |multiplier: f64, rounds: usize| {
                let mut rng = stream(7, Purpose::Canaries, 9);
                let scores = DescentCanaries { multiplier, rounds }.scores(200_000, &mut rng).unwrap();
                lower_bound(&[scores], 1e-5, 0.01).gaussian
            };
            let honest = audit(multiplier, rounds);
            assert!(honest <= claimed && honest > 0.8 * claimed, "{claimed}: {honest}");
            assert!(audit(0.5 * multiplier, rounds) > claimed, "half the noise");
            assert!(audit(multiplier, 2 * rounds) > claimed, "rounds that nobody paid for");
        }
    }
}
