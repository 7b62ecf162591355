//! Losses with kinks made smooth: their slopes become multipliers, one per row.

use super::{FenchelGap, Loss};
use crate::matrix::Matrix;

/// The augmented Lagrangian of a loss in the slopes `beta` of its rows, with step `sigma`.
pub trait Softening: Send + Sync {
    /// The smooth loss for given slopes.
    fn softened(&self, beta: &[f64], sigma: f64) -> Box<dyn Loss>;
    /// The slopes that the augmented Lagrangian finds at `w`, from `beta` (none at the beginning).
    fn update_slopes(&self, w: &Matrix, sigma: f64, beta: &mut Vec<f64>);
    /// [`fenchel_gap`](Loss::fenchel_gap) with given slopes of all rows.
    fn fenchel_gap_at(&self, node: usize, w: &[f64], v: &[f64], beta: &[f64], work: &mut [f64]) -> FenchelGap;
}
