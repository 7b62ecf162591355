//! The layers of a perceptron: sizes, forward pass, backward pass.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::real::Real;
use crate::matrix::Rows;
use crate::model::Task;
use crate::random::{Purpose, stream};

/// What hidden layers apply to their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(0, s)`.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Tanh => "tanh",
        }
    }

    pub(super) fn parse(value: &str) -> Result<Self, &'static str> {
        [Activation::Relu, Activation::Tanh].into_iter().find(|a| a.name() == value).ok_or("relu or tanh")
    }

    fn apply<T: Real>(self, sums: &mut [T]) {
        match self {
            // Written so that a NaN stays one.
            Activation::Relu => sums.iter_mut().for_each(|s| *s = if *s < T::ZERO { T::ZERO } else { *s }),
            Activation::Tanh => sums.iter_mut().for_each(|s| *s = T::narrow(s.widen().tanh())),
        }
    }

    /// Multiplies by the derivative, given what was put out.
    fn pull_back<T: Real>(self, output: &[T], delta: &mut [T]) {
        let pairs = delta.iter_mut().zip(output);
        match self {
            Activation::Relu => pairs.for_each(|(d, a)| *d = if *a > T::ZERO { *d } else { T::ZERO }),
            Activation::Tanh => pairs.for_each(|(d, a)| *d *= T::ONE - *a * *a),
        }
    }
}

/// Sizes and activation of the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Features, units of the hidden layers, outputs.
    pub sizes: Vec<usize>,
    /// What hidden layers apply to their sums.
    pub activation: Activation,
    /// Turns outputs into probabilities.
    pub softmax: bool,
}

/// What a batch of rows puts out at every layer, and the derivatives by it. Reused from batch to batch.
#[derive(Debug, Default)]
pub struct Pass<T> {
    /// Outputs of layer after layer, a row per row of the batch.
    outputs: Vec<Vec<T>>,
    delta: Vec<T>,
    below: Vec<T>,
}

/// Rows that are predicted together.
const BLOCK: usize = 256;

impl Layers {
    pub(super) fn new(features: usize, hidden: &[usize], task: Task, activation: Activation) -> Self {
        let mut sizes = vec![features];
        sizes.extend_from_slice(hidden);
        sizes.push(task.outputs());
        Layers { sizes, activation, softmax: task != Task::Regression }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.sizes[0]
    }

    /// Where the parameters of each layer are.
    pub fn layers(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let range = |s: &[usize]| {
            let end = start + (s[0] + 1) * s[1];
            std::mem::replace(&mut start, end)..end
        };
        self.sizes.windows(2).map(range).collect()
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.sizes.windows(2).map(|s| (s[0] + 1) * s[1]).sum()
    }

    /// Never: there is an output, and it has a bias.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Glorot's start: uniform within `sqrt(6 / (inputs + outputs))`.
    pub(super) fn draw(&self, seed: u64) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.len());
        for (layer, s) in self.sizes.windows(2).enumerate() {
            let bound = (6.0 / (s[0] + s[1]) as f64).sqrt();
            let mut rng = stream(seed, Purpose::Layers, layer);
            parameters.extend((0..(s[0] + 1) * s[1]).map(|_| bound * (2.0 * rng.random::<f64>() - 1.0)));
        }
        parameters
    }

    pub(super) fn check(&self, task: Task, parameters: usize) -> Result<(), &'static str> {
        let fits = self.sizes.len() >= 2 && self.sizes.last() == Some(&task.outputs());
        if !fits || self.sizes.contains(&0) || self.softmax == (task == Task::Regression) {
            return Err("its layers do not fit its task");
        }
        let mut sizes = self.sizes.windows(2).map(|s| s[0].checked_add(1)?.checked_mul(s[1]));
        let total = sizes.try_fold(0usize, |sum, n| sum.checked_add(n?));
        if total == Some(parameters) { Ok(()) } else { Err("its numbers of units and parameters do not agree") }
    }

    /// Predictions of all rows, block after block.
    pub(super) fn predict(&self, parameters: &[f64], x: Rows, out: &mut [f64]) {
        let mut pass = Pass::default();
        let outputs = self.sizes[self.sizes.len() - 1];
        for (x, out) in x.as_slice().chunks(BLOCK * self.features()).zip(out.chunks_mut(BLOCK * outputs)) {
            out.copy_from_slice(self.forward(parameters, x, &mut pass));
        }
    }

    /// The predictions of a batch, given row after row.
    pub(super) fn forward<'p, T: Real>(&self, parameters: &[T], x: &[T], pass: &'p mut Pass<T>) -> &'p [T] {
        let (rows, last) = (x.len() / self.features(), self.sizes.len() - 2);
        pass.outputs.resize(self.sizes.len() - 1, Vec::new());
        for (layer, range) in self.layers().into_iter().enumerate() {
            let (inputs, units) = (self.sizes[layer], self.sizes[layer + 1]);
            let (below, here) = pass.outputs.split_at_mut(layer);
            let input = below.last().map_or(x, |a| a.as_slice());
            let (weights, biases) = parameters[range].split_at(inputs * units);
            let sums = &mut here[0];
            sums.clear();
            (0..rows).for_each(|_| sums.extend_from_slice(biases));
            let product = MatMut::from_row_major_slice_mut(sums, rows, units);
            matmul(product, Accum::Add, matrix(input, rows), matrix(weights, units).transpose(), T::ONE, Par::Seq);
            if layer < last {
                self.activation.apply(sums);
            } else if self.softmax {
                sums.chunks_exact_mut(units).for_each(softmax);
            }
        }
        &pass.outputs[last]
    }

    /// The weighted sum of losses of a batch with targets `y`; its gradient goes to `gradient`.
    pub(super) fn backward<T: Real>(
        &self,
        parameters: &[T],
        x: &[T],
        y: &[f64],
        weight: &[f64],
        pass: &mut Pass<T>,
        gradient: &mut [T],
    ) -> f64 {
        self.forward(parameters, x, pass);
        let value = self.start_backward(y, weight, pass);
        for (layer, range) in self.layers().into_iter().enumerate().rev() {
            let (inputs, units) = (self.sizes[layer], self.sizes[layer + 1]);
            let input = if layer == 0 { x } else { &pass.outputs[layer - 1] };
            let delta = matrix(&pass.delta, weight.len());
            let (by_weights, by_biases) = gradient[range.clone()].split_at_mut(inputs * units);
            let product = MatMut::from_row_major_slice_mut(by_weights, units, inputs);
            matmul(product, Accum::Replace, delta.transpose(), matrix(input, weight.len()), T::ONE, Par::Seq);
            by_biases.fill(T::ZERO);
            for row in pass.delta.chunks_exact(units) {
                by_biases.iter_mut().zip(row).for_each(|(b, d)| *b += *d);
            }
            if layer > 0 {
                let weights = matrix(&parameters[range][..inputs * units], units);
                pass.below.resize(weight.len() * inputs, T::ZERO);
                let product = MatMut::from_row_major_slice_mut(&mut pass.below, weight.len(), inputs);
                matmul(product, Accum::Replace, delta, weights, T::ONE, Par::Seq);
                self.activation.pull_back(&pass.outputs[layer - 1], &mut pass.below);
                std::mem::swap(&mut pass.delta, &mut pass.below);
            }
        }
        value
    }

    /// The weighted sum of losses of the last forward pass; its derivative by the sums of the last layer goes to `delta`.
    fn start_backward<T: Real>(&self, y: &[f64], weight: &[f64], pass: &mut Pass<T>) -> f64 {
        let Pass { outputs, delta, .. } = pass;
        let output = &outputs[outputs.len() - 1];
        let width = y.len() / weight.len();
        let mut value = 0.0;
        delta.clear();
        for (r, w) in weight.iter().enumerate() {
            let rows = output[r * width..(r + 1) * width].iter().zip(&y[r * width..(r + 1) * width]);
            for (o, y) in rows {
                let (loss, slope) = self.loss(o.widen(), *y);
                value += w * loss;
                delta.push(T::narrow(w * slope));
            }
        }
        value
    }

    /// Loss of one output, and its derivative by the sum it was made of.
    fn loss(&self, output: f64, y: f64) -> (f64, f64) {
        match self.softmax {
            true if y > 0.0 => (-y * output.max(f64::MIN_POSITIVE).ln(), output - y),
            true => (0.0, output),
            false => ((output - y) * (output - y), 2.0 * (output - y)),
        }
    }

    /// The weighted sum of losses of rows that are not trained on.
    pub(super) fn value<T: Real>(
        &self,
        parameters: &[T],
        x: &[T],
        y: &[f64],
        weight: &[f64],
        pass: &mut Pass<T>,
    ) -> f64 {
        self.forward(parameters, x, pass);
        self.start_backward(y, weight, pass)
    }
}

/// Sums become `exp(s_k) / sum_j exp(s_j)`.
fn softmax<T: Real>(sums: &mut [T]) {
    let top = sums.iter().fold(f64::NEG_INFINITY, |a, s| a.max(s.widen()));
    let total: f64 = sums.iter().map(|s| (s.widen() - top).exp()).sum();
    sums.iter_mut().for_each(|s| *s = T::narrow((s.widen() - top).exp() / total));
}

/// Entries row after row as a matrix.
fn matrix<T>(entries: &[T], rows: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(entries, rows, entries.len() / rows)
}
