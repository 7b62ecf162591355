//! Figures 1, 2 and 3 of the active-sampling paper: a node without a graph asks others for gradient steps.
//!
//! Two clusters of linear models with weights uniform on [-5, 5], standard normal features; `MSE = |w - truth|^2` at node 1.

use fedweave::loss::{Family, Loss, LossOptions};
use fedweave::matrix::dot;
use fedweave::model::active_sampling::{Asking, GradientStep, learn};
use fedweave::random::{Purpose, stream};
use fedweave::{Dataset, Matrix};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::Error;

/// Sizes of a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Nodes, in two clusters.
    pub nodes: usize,
    /// Rows of a node.
    pub rows: usize,
    /// Features.
    pub dim: usize,
    /// Deviation of the noise.
    pub sigma: f64,
}

/// Local datasets in two clusters: even and odd nodes.
pub struct Clients {
    /// Losses of all nodes.
    pub loss: Box<dyn Loss>,
    /// True weights of both clusters.
    pub truth: Matrix,
}

/// What Algorithm 1 did.
pub struct Asked {
    /// Errors at the start and after every round.
    pub errors: Vec<f64>,
    /// Share of the rounds in which a node of the same cluster was chosen.
    pub friends: f64,
    /// Whom the node learnt from: rounds and rewards.
    pub teachers: Vec<(usize, usize, f64)>,
}

impl Clients {
    /// Draws (10).
    pub fn draw(size: &Size, seed: u64) -> Result<Self, Error> {
        let Size { nodes, rows, dim, sigma } = *size;
        let mut rng = stream(seed, Purpose::Prototypes, 0);
        let truth = Matrix::from_rows(dim, (0..2 * dim).map(|_| 10.0 * rng.random::<f64>() - 5.0).collect());
        let mut x = vec![0.0; nodes * rows * dim];
        let mut y = vec![0.0; nodes * rows];
        x.par_chunks_mut(rows * dim).zip(y.par_chunks_mut(rows)).enumerate().for_each(|(i, (x, y))| {
            let mut rng = stream(seed, Purpose::LocalData, i);
            for (x, y) in x.chunks_exact_mut(dim).zip(y) {
                x.iter_mut().for_each(|x| *x = rng.sample(StandardNormal));
                *y = dot(x, truth.row(i % 2)) + sigma * rng.sample::<f64, _>(StandardNormal);
            }
        });
        let offsets = (0..=nodes).map(|i| i * rows).collect();
        let weight = vec![1.0; y.len()];
        let data = Dataset::new(offsets, Matrix::from_rows(dim, x), y, weight)?;
        Ok(Clients { loss: Family::Squared.build(data, &LossOptions::default())?, truth })
    }

    /// `|w - truth|^2` at node 0.
    pub fn error(&self, w: &[f64]) -> f64 {
        w.iter().zip(self.truth.row(0)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// Algorithm 1 for node 0.
    pub fn algorithm_1(&self, eta: f64, asking: &Asking) -> Result<Asked, Error> {
        let mut errors = Vec::with_capacity(asking.rounds + 1);
        let start = vec![0.0; self.loss.dim()];
        let learnt = learn(&GradientStep::new(&*self.loss, eta)?, 0, start, asking, |_, w| errors.push(self.error(w)))?;
        let friends = learnt.choices.iter().filter(|c| c.candidate % 2 == 0).count();
        Ok(Asked { errors, friends: friends as f64 / asking.rounds.max(1) as f64, teachers: learnt.teachers() })
    }

    /// The oracle of Experiment II: a gradient step of a random node of the right cluster in every round.
    pub fn oracle(&self, eta: f64, rounds: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Subsets, 0);
        let (mut w, mut gradient) = (vec![0.0; self.loss.dim()], vec![0.0; self.loss.dim()]);
        let mut errors = vec![self.error(&w)];
        let friends = self.loss.nodes().div_ceil(2);
        for _ in 0..rounds {
            let node = 2 * rng.random_range(1..friends);
            self.loss.gradient(node, &w, &mut gradient);
            w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= eta * g);
            errors.push(self.error(&w));
        }
        errors
    }
}
