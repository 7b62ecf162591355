//! How often intervals hold, seen on rows that neither the models nor the thresholds have seen.

use super::{Calibration, Tails};
use crate::error::Result;

/// How often labels are inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    /// The probability that was asked for.
    pub level: f64,
    /// Rows inside and all rows of every node.
    pub by_node: Vec<(usize, usize)>,
}

impl Coverage {
    /// Share of all rows; `None` without rows.
    pub fn share(&self) -> Option<f64> {
        let (inside, rows) = self.by_node.iter().fold((0, 0), |(a, b), (inside, rows)| (a + inside, b + rows));
        (rows > 0).then(|| inside as f64 / rows as f64)
    }

    /// Scores of rows against a threshold for every node.
    pub fn of(level: f64, scores: &Calibration, holds: impl Fn(usize, f64) -> bool) -> Coverage {
        let node = |i: usize| {
            let of = scores.scores(i);
            (of.iter().filter(|s| holds(i, **s)).count(), of.len())
        };
        Coverage { level, by_node: (0..scores.nodes()).map(node).collect() }
    }
}

impl Calibration {
    /// How often thresholds from one half of the rows of every node hold for the other half, both ways. With half of the rows
    /// thresholds are a little wider than with all of them.
    pub fn coverage(&self, level: f64, tails: Tails) -> Result<Coverage> {
        let halves = [self.part(|k| k % 2 == 0), self.part(|k| k % 2 == 1)];
        let mut by_node = vec![(0, 0); self.nodes()];
        for (known, new) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
            let thresholds = known.thresholds(level, tails)?;
            let seen = Coverage::of(level, new, |i, score| thresholds[i].holds(score));
            by_node.iter_mut().zip(seen.by_node).for_each(|(sum, (a, b))| *sum = (sum.0 + a, sum.1 + b));
        }
        Ok(Coverage { level, by_node })
    }
}
