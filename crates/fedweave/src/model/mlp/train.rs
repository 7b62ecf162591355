//! Training: batches, epochs, and when to stop.

use rand::seq::SliceRandom;

use super::network::Pass;
use super::{Mlp, Prox};
use crate::matrix::{axpy, dot};
use crate::model::FitError;
use crate::model::sample::Sample;
use crate::random::{Purpose, stream};

/// Buffers for training; they grow to the largest batch and are kept.
#[derive(Debug, Default)]
pub struct MlpWork {
    pass: Pass,
    gradient: Vec<f64>,
    order: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

/// Trains until the loss does not improve, or the epochs are over.
pub fn fit(mlp: &mut Mlp, sample: &Sample, work: &mut MlpWork) -> Result<(), FitError> {
    let held = if mlp.options.early_stopping { Some(Held::new(mlp, sample)) } else { None };
    let train = held.as_ref().map_or(*sample, |held| held.rest(sample));
    let (mut best, mut since) = (f64::INFINITY, 0);
    let mut best_parameters = Vec::new();
    for _ in 0..mlp.options.epochs {
        let seen = epoch(mlp, &train, None, work);
        let value = held.as_ref().map_or(seen, |held| held.value(mlp, work));
        since = if value > best - mlp.options.tolerance { since + 1 } else { 0 };
        if value < best {
            best = value;
            if held.is_some() {
                best_parameters.clone_from(&mlp.parameters);
            }
        }
        if since >= mlp.options.patience || !value.is_finite() {
            break;
        }
    }
    if !best_parameters.is_empty() {
        mlp.parameters = best_parameters;
    }
    check_finite(&mlp.parameters)
}

/// Training has not left the range of numbers.
pub fn check_finite(parameters: &[f64]) -> Result<(), FitError> {
    match parameters.iter().all(|p| p.is_finite()) {
        true => Ok(()),
        false => Err(FitError::Diverged { model: "mlp", hint: "use a smaller learning-rate, or scale the features" }),
    }
}

/// One pass over the rows; returns the mean objective of its batches, each seen before its step.
pub fn epoch(mlp: &mut Mlp, sample: &Sample, prox: Option<Prox>, work: &mut MlpWork) -> f64 {
    let rows = sample.rows();
    let batch = mlp.options.batch.0.unwrap_or(rows).min(rows);
    let scale = rows as f64 / sample.total_weight();
    let mut gradient = std::mem::take(&mut work.gradient);
    gradient.resize(mlp.parameters.len(), 0.0);
    let mut value = 0.0;
    if batch == rows {
        work.weight.clear();
        work.weight.extend(sample.weight.iter().map(|w| w * scale / rows as f64));
        let (x, y) = (sample.x.as_slice(), sample.y.as_slice());
        value = mlp.network.backward(&mlp.parameters, x, y, &work.weight, &mut work.pass, &mut gradient);
        value += step(mlp, prox, &mut gradient);
    } else {
        work.order.clear();
        work.order.extend(0..rows as u32);
        work.order.shuffle(&mut stream(mlp.seed, Purpose::MiniBatches, mlp.epochs));
        for start in (0..rows).step_by(batch) {
            let len = batch.min(rows - start);
            work.gather(sample, start..start + len, scale / len as f64);
            let MlpWork { pass, x, y, weight, .. } = work;
            let mut seen = mlp.network.backward(&mlp.parameters, x, y, weight, pass, &mut gradient);
            seen += step(mlp, prox, &mut gradient);
            value += seen * len as f64 / rows as f64;
        }
    }
    mlp.epochs += 1;
    work.gradient = gradient;
    value
}

/// Adds the other terms of the objective to the gradient and lets the optimiser make a step; returns their value.
fn step(mlp: &mut Mlp, prox: Option<Prox>, gradient: &mut [f64]) -> f64 {
    let value = add_terms(mlp, prox, gradient);
    mlp.moments.step(&mlp.options, &mut mlp.parameters, gradient);
    value
}

/// `alpha/2 |W|^2` and the pull towards a point.
fn add_terms(mlp: &Mlp, prox: Option<Prox>, gradient: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for (range, s) in mlp.network.layers().into_iter().zip(mlp.network.sizes.windows(2)) {
        let weights = range.start..range.start + s[0] * s[1];
        let w = &mlp.parameters[weights.clone()];
        value += 0.5 * mlp.options.alpha * dot(w, w);
        axpy(mlp.options.alpha, w, &mut gradient[weights]);
    }
    if let Some(Prox { toward, tau }) = prox {
        for ((p, v), g) in mlp.parameters.iter().zip(toward).zip(gradient) {
            value += (p - v) * (p - v) / (2.0 * tau);
            *g += (p - v) / tau;
        }
    }
    value
}

/// The objective on all rows, and its gradient.
pub fn gradient(mlp: &Mlp, sample: &Sample, prox: Option<Prox>, out: &mut [f64], work: &mut MlpWork) -> f64 {
    let total = sample.total_weight();
    work.weight.clear();
    work.weight.extend(sample.weight.iter().map(|w| w / total));
    let (x, y) = (sample.x.as_slice(), sample.y.as_slice());
    let value = mlp.network.backward(&mlp.parameters, x, y, &work.weight, &mut work.pass, out);
    value + add_terms(mlp, prox, out)
}

impl MlpWork {
    /// Copies the rows of a batch, their weights times `scale`.
    fn gather(&mut self, sample: &Sample, places: std::ops::Range<usize>, scale: f64) {
        self.x.clear();
        self.y.clear();
        self.weight.clear();
        for &row in &self.order[places] {
            self.x.extend_from_slice(sample.x.row(row as usize));
            self.y.extend_from_slice(sample.y.row(row as usize));
            self.weight.push(scale * sample.weight[row as usize]);
        }
    }
}

/// Rows held out for early stopping, and copies of the others.
struct Held {
    held: Parts,
    rest: Parts,
}

#[derive(Default)]
struct Parts {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

impl Held {
    /// Draws the rows; at least one is held out and one is left, which may be the same.
    fn new(mlp: &Mlp, sample: &Sample) -> Self {
        let rows = sample.rows();
        let mut order: Vec<usize> = (0..rows).collect();
        order.shuffle(&mut stream(mlp.seed, Purpose::Held, 0));
        let held = ((mlp.options.validation * rows as f64).round() as usize).clamp(1, (rows - 1).max(1));
        let rest = if rows > 1 { &order[held..] } else { &order[..] };
        Held { held: Parts::of(sample, &order[..held]), rest: Parts::of(sample, rest) }
    }

    fn rest<'a>(&'a self, sample: &Sample) -> Sample<'a> {
        use crate::matrix::Rows;
        let (x, y) = (Rows::new(sample.features(), &self.rest.x), Rows::new(sample.outputs(), &self.rest.y));
        Sample { task: sample.task, x, y, weight: &self.rest.weight }
    }

    /// Mean loss of the rows held out.
    fn value(&self, mlp: &Mlp, work: &mut MlpWork) -> f64 {
        let Parts { x, y, weight } = &self.held;
        let total: f64 = weight.iter().sum();
        mlp.network.value(&mlp.parameters, x, y, weight, &mut work.pass) / total
    }
}

impl Parts {
    fn of(sample: &Sample, rows: &[usize]) -> Self {
        let mut parts = Parts::default();
        for &row in rows {
            parts.x.extend_from_slice(sample.x.row(row));
            parts.y.extend_from_slice(sample.y.row(row));
            parts.weight.push(sample.weight[row]);
        }
        parts
    }
}
