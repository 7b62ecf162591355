//! pFedMe: personal models near a common one, `minimise over w  sum_i min_theta L_i(theta) + (gamma/2) |theta - w|^2`.
//!
//! ```text
//! at client i, some times:   theta_i = prox of L_i at v_i, rho = gamma       v_i = v_i - eta gamma (v_i - theta_i)      from v_i = w
//! at the server:             w+ = (1 - beta) w + beta mean_i v_i
//! ```
//!
//! The proximal step is exact here. With one local step the fixed point is the minimiser above; with several, `v_i` drifts
//! towards the client's own minimiser, the more, the longer `eta`.

use super::server::{average, clients, exchange, movement, positive};
use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::loss::{Loss, Prepared};
use crate::matrix::Matrix;
use crate::parallel::{ASLEEP, for_blocks2};
use crate::scratch::Scratch;
use crate::solve::Method;

/// Options of [`PFedMe`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PFedMeOptions {
    /// `gamma`: how strongly personal models are drawn to the common one (the paper's lambda).
    pub penalty: f64,
    /// `eta`, at most `1 / gamma`; `None` for that.
    pub step: Option<f64>,
    /// Local steps in a round.
    pub steps: usize,
    /// `beta` of the server.
    pub mixing: f64,
}

impl Default for PFedMeOptions {
    fn default() -> Self {
        PFedMeOptions { penalty: 1.0, step: None, steps: 1, mixing: 1.0 }
    }
}

/// Personal models by Moreau envelopes.
pub struct PFedMe<'l> {
    loss: &'l dyn Loss,
    options: PFedMeOptions,
    step: f64,
    clients: Vec<u32>,
    nodes: Vec<u32>,
    tau: Vec<f64>,
    prepared: Prepared,
    /// The model of the server, one row.
    common: Matrix,
    mean: Matrix,
    before: Matrix,
    /// How far the last round moved the common model.
    moved: f64,
    /// `v_i`.
    shifted: Matrix,
    /// `theta_i`.
    models: Matrix,
    traffic: Traffic,
    scratch: Scratch,
}

impl<'l> PFedMe<'l> {
    /// Starts at zero; for any loss.
    pub fn new(loss: &'l dyn Loss, options: PFedMeOptions) -> Result<Self> {
        let penalty = positive("penalty", options.penalty)?;
        let step = positive("step", options.step.unwrap_or(1.0 / penalty))?;
        if step * penalty > 1.0 + 1e-12 {
            return Err(Error::Parameter { name: "step", value: step, needs: "at most 1 / penalty" });
        }
        if options.steps == 0 {
            return Err(Error::Parameter { name: "local steps", value: 0.0, needs: "at least 1" });
        }
        if !(options.mixing > 0.0 && options.mixing <= 1.0) {
            return Err(Error::Parameter { name: "mixing", value: options.mixing, needs: "above 0 and at most 1" });
        }
        let (n, d) = (loss.nodes(), loss.dim());
        let (nodes, tau): (Vec<u32>, Vec<f64>) = ((0..n as u32).collect(), vec![1.0 / penalty; n]);
        Ok(PFedMe {
            loss,
            options,
            step,
            clients: clients(loss),
            prepared: loss.prepare(&nodes, &tau),
            nodes,
            tau,
            common: Matrix::zeros(1, d),
            mean: Matrix::zeros(1, d),
            before: Matrix::zeros(1, d),
            moved: f64::INFINITY,
            shifted: Matrix::zeros(n, d),
            models: Matrix::zeros(n, d),
            traffic: Traffic::new(n),
            scratch: Scratch::new(loss.work_len()),
        })
    }

    /// The common model.
    pub fn common(&self) -> &[f64] {
        self.common.row(0)
    }

    fn work_locally(&mut self) {
        let PFedMe { loss, options, step, nodes, tau, prepared, common, shifted, models, scratch, .. } = self;
        let (d, pull) = (loss.dim(), *step * options.penalty);
        for_blocks2(
            ASLEEP,
            shifted.as_mut_slice(),
            models.as_mut_slice(),
            d,
            d + loss.cost(),
            |start, shifted, models| {
                let (mut work, nodes) = (scratch.lock(), &nodes[start..start + models.len() / d]);
                shifted.chunks_exact_mut(d).for_each(|row| row.copy_from_slice(common.row(0)));
                for _ in 0..options.steps {
                    models.copy_from_slice(shifted);
                    loss.prox_rows(start, nodes, tau, prepared, models, &mut work);
                    shifted.iter_mut().zip(models.iter()).for_each(|(v, theta)| *v -= pull * (*v - theta));
                }
            },
        );
    }
}

impl Method for PFedMe<'_> {
    fn name(&self) -> &'static str {
        "pfedme"
    }

    fn round(&mut self) {
        self.work_locally();
        let PFedMe { loss, options, clients, common, mean, before, shifted, traffic, .. } = self;
        before.copy_from(common);
        if !clients.is_empty() {
            average(shifted, clients, |_| 0, mean, &mut [0]);
            let both = common.as_mut_slice().iter_mut().zip(mean.as_slice());
            both.for_each(|(w, mean)| *w += options.mixing * (mean - *w));
        }
        exchange(traffic, clients, loss.dim(), loss.dim());
        let proximal: f64 = clients.iter().map(|&i| work::prox(*loss, i as usize)).sum();
        traffic.compute(options.steps as f64 * (proximal + (3 * clients.len() * loss.dim()) as f64));
        traffic.end_round();
        self.moved = movement(before, common, options.mixing * options.steps as f64 * self.step);
    }

    fn models(&self) -> &Matrix {
        &self.models
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The common model has a fixed point of its own.
    fn fixed_point_residual(&self) -> Option<f64> {
        Some(self.moved)
    }
}
