//! Training: batches, epochs, and when to stop.

use std::ops::Range;

use rand::seq::SliceRandom;

use super::network::Pass;
use super::{Mlp, Prox};
use crate::matrix::{axpy, dot};
use crate::model::FitError;
use crate::model::sample::Sample;
use crate::random::{Purpose, stream};

/// Buffers for training; they grow to the largest fit and are kept.
#[derive(Debug, Default)]
pub struct MlpWork {
    train: Data,
    held: Data,
    batch: Data,
    order: Vec<u32>,
    pass: Pass<f32>,
    /// The parameters, and the gradient by them, as the network sees them.
    seen: Vec<f32>,
    slope: Vec<f32>,
    gradient: Vec<f64>,
}

/// Rows as the network sees them.
#[derive(Debug, Default)]
struct Data {
    x: Vec<f32>,
    y: Vec<f64>,
    weight: Vec<f64>,
}

/// Trains until the loss does not improve, or the epochs are over.
pub fn fit(mlp: &mut Mlp, sample: &Sample, work: &mut MlpWork) -> Result<(), FitError> {
    let held = if mlp.options.early_stopping { work.hold_out(mlp, sample) } else { 0 };
    let rest = if held < sample.rows() { held..sample.rows() } else { 0..held };
    work.start(mlp, sample, rest);
    let (mut best, mut since) = (f64::INFINITY, 0);
    let mut best_parameters = Vec::new();
    for _ in 0..mlp.options.epochs {
        let seen = epoch(mlp, None, work);
        let value = if held > 0 { work.held_value(mlp) } else { seen };
        since = if value > best - mlp.options.tolerance { since + 1 } else { 0 };
        if value < best {
            best = value;
            if held > 0 {
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

/// Some epochs, without looking at progress; returns the objective that the last one saw.
pub fn epochs(
    mlp: &mut Mlp,
    sample: &Sample,
    epochs: usize,
    prox: Option<Prox>,
    work: &mut MlpWork,
) -> Result<f64, FitError> {
    work.start(mlp, sample, 0..sample.rows());
    let value = (0..epochs).fold(f64::INFINITY, |_, _| epoch(mlp, prox, work));
    check_finite(&mlp.parameters)?;
    Ok(value)
}

/// The objective on all rows, and its gradient, in double precision throughout.
pub fn gradient(mlp: &Mlp, sample: &Sample, prox: Option<Prox>, out: &mut [f64]) -> f64 {
    let total = sample.total_weight();
    let weight: Vec<f64> = sample.weight.iter().map(|w| w / total).collect();
    let (x, y) = (sample.x.as_slice(), sample.y.as_slice());
    let value = mlp.network.backward(&mlp.parameters, x, y, &weight, &mut Pass::default(), out);
    value + add_terms(mlp, prox, out)
}

/// Training has not left the range of numbers.
fn check_finite(parameters: &[f64]) -> Result<(), FitError> {
    match parameters.iter().all(|p| p.is_finite()) {
        true => Ok(()),
        false => Err(FitError::Diverged { model: "mlp", hint: "use a smaller learning-rate, or scale the features" }),
    }
}

/// One pass over the rows; returns the mean objective of its batches, each seen before its step.
fn epoch(mlp: &mut Mlp, prox: Option<Prox>, work: &mut MlpWork) -> f64 {
    let rows = work.train.weight.len();
    let batch = mlp.options.batch.0.unwrap_or(rows).min(rows);
    let mut value = 0.0;
    if batch == rows {
        value = step(mlp, prox, false, work);
    } else {
        work.order.clear();
        work.order.extend(0..rows as u32);
        work.order.shuffle(&mut stream(mlp.seed, Purpose::MiniBatches, mlp.epochs));
        for start in (0..rows).step_by(batch) {
            let len = batch.min(rows - start);
            work.batch.gather(&work.train, &work.order[start..start + len], rows as f64 / len as f64);
            value += step(mlp, prox, true, work) * len as f64 / rows as f64;
        }
    }
    mlp.epochs += 1;
    value
}

/// One step of the optimiser along the gradient of a batch or of all rows; returns the objective before it.
fn step(mlp: &mut Mlp, prox: Option<Prox>, batch: bool, work: &mut MlpWork) -> f64 {
    let MlpWork { pass, seen, slope, gradient, .. } = work;
    let Data { x, y, weight } = if batch { &work.batch } else { &work.train };
    let mut value = mlp.network.backward(seen, x, y, weight, pass, slope);
    gradient.iter_mut().zip(slope).for_each(|(g, s)| *g = f64::from(*s));
    value += add_terms(mlp, prox, gradient);
    mlp.moments.step(&mlp.options, &mut mlp.parameters, gradient);
    seen.iter_mut().zip(&mlp.parameters).for_each(|(s, p)| *s = *p as f32);
    value
}

/// `alpha/2 |W|^2` and the pull towards a point.
fn add_terms(mlp: &Mlp, prox: Option<Prox>, gradient: &mut [f64]) -> f64 {
    let mut value = 0.0;
    if mlp.options.alpha > 0.0 {
        for (range, s) in mlp.network.layers().into_iter().zip(mlp.network.sizes.windows(2)) {
            let weights = range.start..range.start + s[0] * s[1];
            let w = &mlp.parameters[weights.clone()];
            value += 0.5 * mlp.options.alpha * dot(w, w);
            axpy(mlp.options.alpha, w, &mut gradient[weights]);
        }
    }
    if let Some(Prox { toward, tau }) = prox {
        for ((p, v), g) in mlp.parameters.iter().zip(toward).zip(gradient) {
            value += (p - v) * (p - v) / (2.0 * tau);
            *g += (p - v) / tau;
        }
    }
    value
}

impl MlpWork {
    fn in_order(&mut self, sample: &Sample) {
        self.order.clear();
        self.order.extend(0..sample.rows() as u32);
    }

    /// Draws the rows that early stopping looks at: at least one, and not all unless there is only one. They are the
    /// first ones of `order` afterwards; returns their number.
    fn hold_out(&mut self, mlp: &Mlp, sample: &Sample) -> usize {
        let rows = sample.rows();
        self.in_order(sample);
        self.order.shuffle(&mut stream(mlp.seed, Purpose::Held, 0));
        let held = ((mlp.options.validation * rows as f64).round() as usize).clamp(1, (rows - 1).max(1));
        self.held.take(sample, &self.order[..held]);
        held
    }

    /// Takes over the rows at some places of `order`, all in their order if none were held out, and the parameters.
    fn start(&mut self, mlp: &Mlp, sample: &Sample, places: Range<usize>) {
        if places.len() == sample.rows() {
            self.in_order(sample);
        }
        self.train.take(sample, &self.order[places]);
        self.seen.clear();
        self.seen.extend(mlp.parameters.iter().map(|p| *p as f32));
        self.slope.resize(self.seen.len(), 0.0);
        self.gradient.resize(self.seen.len(), 0.0);
    }

    /// Mean loss of the rows held out.
    fn held_value(&mut self, mlp: &Mlp) -> f64 {
        let Data { x, y, weight } = &self.held;
        mlp.network.value(&self.seen, x, y, weight, &mut self.pass)
    }
}

impl Data {
    fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.weight.clear();
    }

    /// Rows of a sample; their weights sum to one.
    fn take(&mut self, sample: &Sample, rows: &[u32]) {
        self.clear();
        for row in rows.iter().map(|r| *r as usize) {
            self.x.extend(sample.x.row(row).iter().map(|v| *v as f32));
            self.y.extend_from_slice(sample.y.row(row));
            self.weight.push(sample.weight[row]);
        }
        let total: f64 = self.weight.iter().sum();
        self.weight.iter_mut().for_each(|w| *w /= total);
    }

    /// Rows of other data, their weights times `scale`.
    fn gather(&mut self, from: &Data, rows: &[u32], scale: f64) {
        let (features, outputs) = (from.x.len() / from.weight.len(), from.y.len() / from.weight.len());
        self.clear();
        for row in rows.iter().map(|r| *r as usize) {
            self.x.extend_from_slice(&from.x[row * features..(row + 1) * features]);
            self.y.extend_from_slice(&from.y[row * outputs..(row + 1) * outputs]);
            self.weight.push(scale * from.weight[row]);
        }
    }
}
