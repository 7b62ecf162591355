//! The layers of a perceptron: sizes, forward pass, backward pass.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::matrix::Rows;
use crate::model::Task;
use crate::model::logistic::softmax;
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

    fn apply(self, sums: &mut [f64]) {
        match self {
            Activation::Relu => sums.iter_mut().for_each(|s| *s = s.max(0.0)),
            Activation::Tanh => sums.iter_mut().for_each(|s| *s = s.tanh()),
        }
    }

    /// Multiplies by the derivative, given what was put out.
    fn pull_back(self, output: &[f64], delta: &mut [f64]) {
        match self {
            Activation::Relu => delta.iter_mut().zip(output).for_each(|(d, a)| *d = if *a > 0.0 { *d } else { 0.0 }),
            Activation::Tanh => delta.iter_mut().zip(output).for_each(|(d, a)| *d *= 1.0 - a * a),
        }
    }
}

/// Sizes and activation of the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Features, units of the hidden layers, outputs.
    pub sizes: Vec<usize>,
    /// What hidden layers apply to their sums.
    pub activation: Activation,
    /// Turns outputs into probabilities.
    pub softmax: bool,
}

/// What a batch of rows puts out at every layer, and the derivatives by it. Reused from batch to batch.
#[derive(Debug, Default)]
pub struct Pass {
    /// Outputs of layer after layer, a row per row of the batch.
    outputs: Vec<Vec<f64>>,
    delta: Vec<f64>,
    below: Vec<f64>,
}

/// Rows that are predicted together.
const BLOCK: usize = 256;

impl Network {
    pub(super) fn new(features: usize, hidden: &[usize], task: Task, activation: Activation) -> Self {
        let mut sizes = vec![features];
        sizes.extend_from_slice(hidden);
        sizes.push(task.outputs());
        Network { sizes, activation, softmax: task != Task::Regression }
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
        let sizes = self.sizes.windows(2).map(|s| s[0].checked_add(1)?.checked_mul(s[1]));
        let total = sizes.fold(Some(0usize), |sum, n| sum?.checked_add(n?));
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
    pub(super) fn forward<'p>(&self, parameters: &[f64], x: &[f64], pass: &'p mut Pass) -> &'p [f64] {
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
            matmul(product, Accum::Add, matrix(input, rows), matrix(weights, units).transpose(), 1.0, Par::Seq);
            if layer < last {
                self.activation.apply(sums);
            } else if self.softmax {
                sums.chunks_exact_mut(units).for_each(softmax);
            }
        }
        &pass.outputs[last]
    }

    /// The weighted sum of losses of a batch with targets `y`; its gradient goes to `gradient`.
    pub(super) fn backward(
        &self,
        parameters: &[f64],
        x: &[f64],
        y: &[f64],
        weight: &[f64],
        pass: &mut Pass,
        gradient: &mut [f64],
    ) -> f64 {
        self.forward(parameters, x, pass);
        let value = self.start_backward(y, weight, pass);
        for (layer, range) in self.layers().into_iter().enumerate().rev() {
            let (inputs, units) = (self.sizes[layer], self.sizes[layer + 1]);
            let input = if layer == 0 { x } else { &pass.outputs[layer - 1] };
            let delta = matrix(&pass.delta, weight.len());
            let (by_weights, by_biases) = gradient[range.clone()].split_at_mut(inputs * units);
            let product = MatMut::from_row_major_slice_mut(by_weights, units, inputs);
            matmul(product, Accum::Replace, delta.transpose(), matrix(input, weight.len()), 1.0, Par::Seq);
            by_biases.fill(0.0);
            for row in pass.delta.chunks_exact(units) {
                by_biases.iter_mut().zip(row).for_each(|(b, d)| *b += d);
            }
            if layer > 0 {
                let weights = matrix(&parameters[range][..inputs * units], units);
                pass.below.resize(weight.len() * inputs, 0.0);
                let product = MatMut::from_row_major_slice_mut(&mut pass.below, weight.len(), inputs);
                matmul(product, Accum::Replace, delta, weights, 1.0, Par::Seq);
                self.activation.pull_back(&pass.outputs[layer - 1], &mut pass.below);
                std::mem::swap(&mut pass.delta, &mut pass.below);
            }
        }
        value
    }

    /// The weighted sum of losses of the last forward pass; its derivative by the sums of the last layer goes to `delta`.
    fn start_backward(&self, y: &[f64], weight: &[f64], pass: &mut Pass) -> f64 {
        let Pass { outputs, delta, .. } = pass;
        let output = &outputs[outputs.len() - 1];
        let width = y.len() / weight.len();
        let mut value = 0.0;
        delta.clear();
        for (r, w) in weight.iter().enumerate() {
            let rows = output[r * width..(r + 1) * width].iter().zip(&y[r * width..(r + 1) * width]);
            for (o, y) in rows {
                let (loss, slope) = self.loss(*o, *y);
                value += w * loss;
                delta.push(w * slope);
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
    pub(super) fn value(&self, parameters: &[f64], x: &[f64], y: &[f64], weight: &[f64], pass: &mut Pass) -> f64 {
        self.forward(parameters, x, pass);
        self.start_backward(y, weight, pass)
    }
}

/// Entries row after row as a matrix.
fn matrix(entries: &[f64], rows: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(entries, rows, entries.len() / rows)
}
