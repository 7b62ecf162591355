//! What IFCA may be asked for, and where it starts.

use rand_distr::{Distribution, StandardNormal};

use crate::baseline::server::{descend, positive};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

/// What clients send back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Averaging {
    /// Their gradients; the step is shared by all clients, as in the paper of IFCA.
    Gradients,
    /// Their models after some gradient steps.
    Models {
        /// How many, at least 1.
        steps: usize,
    },
}

/// Where the models start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IfcaStart {
    /// Independent normal numbers of this size.
    Normal(f64),
    /// After some gradient steps of random clients, each alone: one client per model, drawn without repetition.
    Clients {
        /// How many steps.
        steps: usize,
    },
}

/// Options of `Ifca`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IfcaOptions {
    /// Number of models.
    pub k: usize,
    /// What clients send back.
    pub averaging: Averaging,
    /// `eta`; `None` for one that never diverges.
    pub step: Option<f64>,
    /// Where the models start.
    pub start: IfcaStart,
    /// Number of starts.
    pub restarts: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl Default for IfcaOptions {
    fn default() -> Self {
        let averaging = Averaging::Models { steps: 5 };
        IfcaOptions { k: 2, averaging, step: None, start: IfcaStart::Normal(1.0), restarts: 1, seed: 0 }
    }
}

impl IfcaOptions {
    /// Checks all numbers.
    pub(super) fn check(&self, clients: usize) -> Result<()> {
        let at_least = |name, value: usize, least: usize| match value >= least {
            true => Ok(()),
            false => Err(Error::Parameter { name, value: value as f64, needs: "at least 1" }),
        };
        at_least("k", self.k, 1)?;
        at_least("restarts", self.restarts, 1)?;
        if let Averaging::Models { steps } = self.averaging {
            at_least("local steps", steps, 1)?;
        }
        match self.start {
            IfcaStart::Normal(size) => positive("size of the start", size).map(|_| ()),
            IfcaStart::Clients { .. } if self.k > clients => {
                let (expected, found) = (self.k, clients);
                Err(Error::Size { what: "clients to start the models of IFCA from", expected, found })
            }
            IfcaStart::Clients { .. } => Ok(()),
        }
    }

    /// The models of one start.
    pub(super) fn centres(&self, loss: &dyn Loss, clients: &[u32], step: f64, restart: usize) -> Matrix {
        let (mut random, d) = (stream(self.seed, Purpose::StartModels, restart), loss.dim());
        let mut centres = Matrix::zeros(self.k, d);
        match self.start {
            IfcaStart::Normal(size) => {
                let mut draw = || -> f64 { StandardNormal.sample(&mut random) };
                centres.as_mut_slice().iter_mut().for_each(|v| *v = size * draw());
            }
            IfcaStart::Clients { steps } => {
                let chosen = rand::seq::index::sample(&mut random, clients.len(), self.k);
                let mut gradient = vec![0.0; d];
                for (c, place) in chosen.iter().enumerate() {
                    descend(loss, clients[place] as usize, steps, step, centres.row_mut(c), &mut gradient);
                }
            }
        }
        centres
    }
}
