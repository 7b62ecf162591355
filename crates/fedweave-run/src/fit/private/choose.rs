//! Lambda by the exponential mechanism, on rows that pay for it.
//!
//! A fifth of the rows of every node, by their places, is not trained with. Models for all values of lambda follow from the noisy moments of the other rows; a row
//! that was held out has a say in the choice alone. So every row is looked at once, by one of two mechanisms, and each may have all of epsilon.

use fedweave::Matrix;
use fedweave::matrix::dot;
use fedweave::random::{Purpose, stream};
use fedweave::trust::privacy::mechanisms::choose;
use fedweave_io::{Input, Noise};
use rand::seq::SliceRandom;

use super::Protection;
use crate::error::{Result, require};
use crate::request::privacy::PrivacyChoice;

/// Every so many rows of a node, one is held out.
const EVERY: usize = 5;
/// The score of a row is a whole number up to this.
const SCORE_MAX: u32 = 1000;

/// The rows that choose, if lambda is to be chosen. Places decide, never what is in a row.
pub(super) fn held_out(choice: &PrivacyChoice, input: &Input) -> Option<Vec<bool>> {
    if choice.grid.is_empty() {
        return None;
    }
    let mut held = vec![false; input.data.len()];
    for node in 0..input.data.nodes() {
        let mut rows: Vec<usize> = input.data.rows(node).collect();
        rows.shuffle(&mut stream(0, Purpose::HeldOutRows, node));
        let count = rows.len() / EVERY;
        rows[..count].iter().for_each(|r| held[*r] = true);
    }
    Some(held)
}

/// One of the values, small errors preferred; `models` are those of a value.
pub(super) fn lambda(
    protection: &Protection,
    input: &Input,
    held: &[bool],
    models: impl Fn(f64) -> Result<Matrix>,
) -> Result<f64> {
    let PrivacyChoice { epsilon, grid, seed, narrow, .. } = &protection.choice;
    let count = held.iter().filter(|held| **held).count();
    require!(count > 0, "--lambda auto: no node has {EVERY} rows, of which one could choose; give --lambda NUMBER");
    let most = SCORE_MAX.min(u32::MAX / count as u32);
    let (low, high) = protection.choice.range(&protection.target)?;
    let scores = grid.iter().map(|lambda| Ok(score(input, held, &models(*lambda)?, high - low, most)));
    let scores = scores.collect::<Result<Vec<u32>>>()?;
    // One row moves a score by at most `most`: the choice is `2 most above / below`-private.
    let left = if *narrow { 0.95 * epsilon } else { *epsilon };
    let below = u32::MAX;
    let above = (left * f64::from(below) / (2.0 * f64::from(most)) * (1.0 - 1e-9)).min(f64::from(below)) as u32;
    Ok(grid[choose(&scores, above, below, &mut Noise::new(seed.map(|seed| seed ^ 1)))])
}

/// Squared errors in units of the range, each at most one, in whole numbers.
fn score(input: &Input, held: &[bool], models: &Matrix, width: f64, most: u32) -> u32 {
    let data = &input.data;
    let row = |node: usize, r: usize| {
        let off = (data.y()[r] - dot(data.x(r), models.row(node))) / width;
        // What is no number is as bad as can be.
        if off.is_finite() { (f64::from(most) * (off * off).min(1.0)).round() as u32 } else { most }
    };
    let of_node = |node: usize| data.rows(node).filter(|r| held[*r]).map(|r| row(node, r)).sum::<u32>();
    (0..data.nodes()).map(of_node).sum()
}
