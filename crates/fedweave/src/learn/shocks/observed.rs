//! Shocks given the residuals that are observed.

use rayon::prelude::*;

use super::index::{Index, Place};
use super::kernel::Kernel;
use super::patch::Work;
use super::space::Space;
use super::{Geometry, Residuals, Shocks};
use crate::error::{Error, Result};

/// Residuals that a shock is predicted from, at most.
const NEIGHBOURS: usize = 64;

/// The shock of a row, as far as the observed residuals tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shock {
    /// Its mean, to be added to the prediction of the row.
    pub mean: f64,
    /// Its variance. The label has this and `s2` on top of the variance of its prediction.
    pub variance: f64,
}

/// Observed residuals, ready to predict from.
pub struct Observed {
    index: Index,
    space: Space,
    kernel: Kernel,
}

impl Observed {
    pub(super) fn new(shocks: &Shocks, observed: &Residuals, geometry: &Geometry) -> Result<Self> {
        // Without shocks between close nodes, places do not matter.
        let geometry = if shocks.nearby.is_some() { geometry } else { &Geometry::None };
        let space = Space::new(geometry, shocks.kappa())?;
        Ok(Observed { index: Index::new(observed, shocks.time), space, kernel: shocks.kernel() })
    }

    /// The shock of a node at a time. A node without observations and place shares only what all nodes share.
    pub fn predict(&self, node: u32, time: f64) -> Shock {
        self.shock(Place { node, time }, |_| true, &mut Work::default())
    }

    /// Shocks of many rows.
    pub fn predict_rows(&self, node: &[u32], time: &[f64]) -> Result<Vec<Shock>> {
        if node.len() != time.len() {
            return Err(Error::Size { what: "times of the rows", expected: node.len(), found: time.len() });
        }
        let one = |work: &mut Work, (&node, &time)| self.shock(Place { node, time }, |_| true, work);
        Ok(node.par_iter().zip(time).map_init(Work::default, one).collect())
    }

    /// What the shock of every observed row would be predicted as from the others.
    pub fn leave_one_out(&self) -> Vec<Shock> {
        self.leave_out(|row, other| row == other)
    }

    /// What the shock of every observed row would be predicted as from the rows of other groups (times, folds).
    pub fn leave_groups_out(&self, group: &[u32]) -> Result<Vec<Shock>> {
        if group.len() != self.index.len() {
            return Err(Error::Size { what: "groups of rows", expected: self.index.len(), found: group.len() });
        }
        Ok(self.leave_out(|row, other| group[row as usize] == group[other as usize]))
    }

    fn leave_out(&self, together: impl Fn(u32, u32) -> bool + Sync) -> Vec<Shock> {
        let one = |work: &mut Work, row: u32| self.shock(self.index.place(row), |other| !together(row, other), work);
        (0..self.index.len() as u32).into_par_iter().map_init(Work::default, one).collect()
    }

    fn shock(&self, at: Place, allowed: impl Fn(u32) -> bool, work: &mut Work) -> Shock {
        if self.kernel.variance.iter().all(|v| *v == 0.0) {
            return Shock { mean: 0.0, variance: 0.0 };
        }
        let patch = self.index.patch(&self.space, &self.kernel, at, NEIGHBOURS, allowed);
        let found = patch.shock(&self.kernel, work);
        Shock { mean: found.mean, variance: found.variance }
    }
}
