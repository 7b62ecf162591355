//! Canaries at models that are released with noise, by the code that releases them in a fit.

use rand::{Rng, RngExt};

use super::super::mechanisms::Grid;
use super::super::sensitivity::{Movement, gradient_bound};
use super::canary::Scores;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::{Family, LossOptions};
use crate::matrix::Matrix;
use crate::penalty::SquaredNorm;
use crate::problem::Problem;
use crate::random::{Purpose, stream};
use crate::solve::{Settings, Watch, solve};

const FAMILY: Family = Family::Huber { delta: 1.0 };
const RIDGE: f64 = 0.1;
/// Labels that no model reaches, from both sides: the row pulls with all that its gradient may have, wherever the model is.
const LABEL: f64 = 100.0;

/// Networks of one node with one row each, whose label is far above or far below.
pub struct ModelCanaries {
    /// Noise in multiples of how far a row can move a model.
    pub multiplier: f64,
}

impl ModelCanaries {
    /// Releases `count` models, which the attacker sees.
    pub fn scores(&self, count: usize, noise: &mut impl Rng) -> Result<Scores> {
        let gradient = gradient_bound(FAMILY, 1.0).expect("bounded gradients");
        let movement = Movement::new(gradient, 1.0, RIDGE)?;
        let grid = Grid::new(self.multiplier, movement.bound, 1);
        let value = self.multiplier * movement.bound;
        let grid = grid.ok_or(Error::Parameter { name: "noise", value, needs: "a positive normal number" })?;
        // Models of the same row are the same before the noise.
        let models = [minimiser(LABEL, movement.gap)?, minimiser(-LABEL, movement.gap)?];
        let mut coin = stream(noise.next_u64(), Purpose::Canaries, 0);
        let mut scores = Scores::default();
        for _ in 0..count {
            let holds: bool = coin.random();
            let mut seen = [models[usize::from(!holds)]];
            grid.perturb_all(&mut seen, noise);
            if holds { scores.with.push(seen[0]) } else { scores.without.push(seen[0]) }
        }
        Ok(scores)
    }
}

/// The model of a row with this label, with a certified gap of at most `gap`.
fn minimiser(label: f64, gap: f64) -> Result<f64> {
    let data = Dataset::new(vec![0, 1], Matrix::from_rows(1, vec![1.0]), vec![label], vec![1.0])?;
    let loss = FAMILY.build(data, &LossOptions { ridge: RIDGE, ..LossOptions::default() })?;
    let problem = Problem::build(Graph::new(1, &[])?, loss, Box::new(SquaredNorm), 0.0)?;
    let settings = Settings { tolerance: 1e-3 * gap.min(1.0), ..Settings::default() };
    let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
    let found = solution.certified_gap.unwrap_or(f64::INFINITY);
    match found <= gap {
        true => Ok(solution.w.as_slice()[0]),
        false => Err(Error::Parameter { name: "gap", value: found, needs: "what the noise is made for" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::accountant::noise;
    use super::super::lower_bound;
    use super::*;

    #[test]
    fn the_honest_release_survives_and_half_the_noise_is_caught() {
        for claimed in [1.0, 4.0] {
            let multiplier = noise((claimed, 1e-5), 1.0, 1).unwrap();
            let audit = |multiplier: f64| {
                let mut rng = stream(7, Purpose::Canaries, 11);
                let scores = ModelCanaries { multiplier }.scores(200_000, &mut rng).unwrap();
                lower_bound(&[scores], 1e-5, 0.01).gaussian
            };
            let honest = audit(multiplier);
            assert!(honest <= claimed && honest > 0.8 * claimed, "{claimed}: {honest}");
            assert!(audit(0.5 * multiplier) > claimed, "half the noise");
        }
    }
}
