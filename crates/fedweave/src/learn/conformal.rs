//! Intervals and sets that hold the label of a new row with a given probability, from scores of rows that models have not seen.
//!
//! A score says how far a label is from its prediction, in units of what was expected ([`Score`]). With `m` scores of rows
//! that are exchangeable with a new one, the new score exceeds the `ceil((m + 1) level)`-th smallest with probability at
//! most `1 - level`, whatever the model and the distribution ([`quantile`]); with fewer than that many there is no such number,
//! and the answer is infinite.
//!
//! Few rows of a node say little about its quantile, and rows of other nodes are not exchangeable with its own: some nodes are
//! noisier. So where a node has too few scores of its own, scores are divided by a scale of their node,
//!
//! ```text
//! v_i^2 = (nu c + sum_r s_r^2) / (nu + m_i),      c = mean of all s^2,
//! ```
//!
//! which is that of the node where it has many rows and the common one where it has few, and the quantile is taken over all nodes
//! (or a cluster of them). The scale of a calibration row leaves out the row itself, as it will leave out a new one. `nu` is
//! the one whose thresholds have the smallest pinball loss; infinite means that all nodes are alike.
//!
//! What is guaranteed: with models that never saw the calibration rows, thresholds of a node's own scores are exact for rows
//! exchangeable with them, and so are pooled ones with `nu` infinite, on average over nodes. Scales, `nu` and scores from folds
//! (with models refitted to all rows) make it approximate.

mod calibration;
mod coverage;
mod scale;
mod score;
#[cfg(test)]
mod tests;

pub use calibration::{Calibration, Source, Tails, Threshold};
pub use coverage::Coverage;
pub use score::Score;

/// The smallest number that at least `ceil((m + 1) level)` of `m` sorted scores do not exceed; infinite if that is more than
/// `m`.
pub fn quantile(sorted: &[f64], level: f64) -> f64 {
    let rank = rank(sorted.len(), level);
    if rank == 0 { f64::NEG_INFINITY } else { sorted.get(rank - 1).copied().unwrap_or(f64::INFINITY) }
}

/// `ceil((m + 1) level)`, not misled by the rounding of `level`.
fn rank(m: usize, level: f64) -> usize {
    let exact = (m + 1) as f64 * level;
    (exact - 1e-9 * exact.max(1.0)).ceil().max(0.0) as usize
}
