//! Multilayer perceptrons: layers `a <- activation(W a + b)` of any number and width, then a linear layer, whose outputs are
//! the prediction or, by softmax, the probabilities of classes.
//!
//! The objective is, in the convention of the losses, the weighted mean of the squared error or of the cross-entropy, plus
//! `alpha/2 |W|^2`, and where asked for `|theta - v|^2 / (2 tau)`, which makes training an inexact proximal step. All
//! parameters form one vector, layer after layer, a layer's weights (a row per unit) before its biases. Training passes
//! rows through the network in single precision; parameters, steps, losses and predictions are in double precision.

mod network;
mod optimiser;
mod options;
mod real;
mod train;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::sample::{Sample, check_features};
use super::{FitError, SpecError, Task, Workspace};
use crate::matrix::Rows;

pub use network::{Activation, Layers};
pub use optimiser::Optimiser;
pub use options::MlpOptions;

pub(super) use train::MlpWork;

use optimiser::Moments;

/// A perceptron in training: parameters, and what its optimiser remembers.
#[derive(Debug, Clone)]
pub struct Mlp {
    options: MlpOptions,
    network: Layers,
    task: Task,
    seed: u64,
    parameters: Vec<f64>,
    moments: Moments,
    /// Epochs so far: every one draws its batches from a stream of its own.
    epochs: usize,
}

/// A pull towards a point: adds `|theta - toward|^2 / (2 tau)` to the objective.
#[derive(Debug, Clone, Copy)]
pub struct Prox<'a> {
    /// The point, as long as the parameters.
    pub toward: &'a [f64],
    /// The step: the smaller, the stronger the pull.
    pub tau: f64,
}

impl Mlp {
    /// A network for rows of `features` features with random weights.
    pub fn new(options: &MlpOptions, task: Task, features: usize, seed: u64) -> Result<Self, SpecError> {
        super::ModelSpec::Mlp(options.clone()).check(task)?;
        let network = Layers::new(features, &options.hidden, task, options.activation);
        let parameters = network.draw(seed);
        let moments = Moments::new(parameters.len());
        Ok(Mlp { options: options.clone(), network, task, seed, parameters, moments, epochs: 0 })
    }

    /// What is predicted.
    pub fn task(&self) -> Task {
        self.task
    }

    /// All parameters, layer after layer.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Replaces the parameters; what the optimiser remembers stays.
    pub fn set_parameters(&mut self, parameters: &[f64]) -> Result<(), FitError> {
        self.check_len("parameters", parameters)?;
        self.parameters.copy_from_slice(parameters);
        Ok(())
    }

    /// Where the parameters of each layer are.
    pub fn layers(&self) -> Vec<Range<usize>> {
        self.network.layers()
    }

    /// Forgets what the optimiser remembers of earlier epochs.
    pub fn reset_optimiser(&mut self) {
        self.moments = Moments::new(self.parameters.len());
    }

    /// Goes on training for some epochs; returns the objective that the last one saw, averaged over its batches.
    pub fn train(
        &mut self,
        x: Rows,
        y: Rows,
        weight: &[f64],
        epochs: usize,
        prox: Option<Prox>,
        work: &mut Workspace,
    ) -> Result<f64, FitError> {
        self.check(x, prox)?;
        let sample = Sample::new("mlp", self.task, x, y, weight, &mut work.kept)?;
        train::epochs(self, &sample, epochs, prox, &mut work.mlp)
    }

    /// The objective, and its gradient.
    pub fn gradient(
        &self,
        x: Rows,
        y: Rows,
        weight: &[f64],
        prox: Option<Prox>,
        out: &mut [f64],
        work: &mut Workspace,
    ) -> Result<f64, FitError> {
        self.check(x, prox)?;
        self.check_len("entries of the gradient", out)?;
        let sample = Sample::new("mlp", self.task, x, y, weight, &mut work.kept)?;
        Ok(train::gradient(self, &sample, prox, out))
    }

    /// Writes [`Task::outputs`] numbers per row of `x`.
    pub fn predict(&self, x: Rows, out: &mut [f64]) -> Result<(), FitError> {
        self.check(x, None)?;
        check_features(x)?;
        super::local::check_len(x, self.task, out)?;
        self.network.predict(&self.parameters, x, out);
        Ok(())
    }

    /// The network as plain data.
    pub fn fitted(&self) -> MlpFit {
        MlpFit { task: self.task, network: self.network.clone(), parameters: self.parameters.clone() }
    }

    fn check(&self, x: Rows, prox: Option<Prox>) -> Result<(), FitError> {
        if x.cols() != self.network.features() {
            return Err(FitError::Size { what: "features", expected: self.network.features(), found: x.cols() });
        }
        prox.map_or(Ok(()), |prox| self.check_len("entries of the point to stay near", prox.toward))
    }

    fn check_len(&self, what: &'static str, vector: &[f64]) -> Result<(), FitError> {
        let expected = self.parameters.len();
        if vector.len() == expected { Ok(()) } else { Err(FitError::Size { what, expected, found: vector.len() }) }
    }
}

/// A fitted network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MlpFit {
    /// What is predicted.
    pub task: Task,
    /// Sizes and activation of the layers.
    pub network: Layers,
    /// All parameters.
    pub parameters: Vec<f64>,
}

/// Trains from random weights, or from those of `before` if warm starts are asked for and they fit.
pub(super) fn fit(
    options: &MlpOptions,
    sample: &Sample,
    seed: u64,
    before: Option<&MlpFit>,
    work: &mut MlpWork,
) -> Result<MlpFit, FitError> {
    let network = Layers::new(sample.features(), &options.hidden, sample.task, options.activation);
    let parameters = match before {
        Some(before) if options.warm_start && before.network == network => before.parameters.clone(),
        _ => network.draw(seed),
    };
    let moments = Moments::new(parameters.len());
    let mut mlp = Mlp { options: options.clone(), network, task: sample.task, seed, parameters, moments, epochs: 0 };
    train::fit(&mut mlp, sample, work)?;
    Ok(MlpFit { task: mlp.task, network: mlp.network, parameters: mlp.parameters })
}

impl State for MlpFit {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn features(&self) -> usize {
        self.network.features()
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        self.network.predict(&self.parameters, x, out);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.network.check(self.task, self.parameters.len())?;
        if self.parameters.iter().all(|v| v.is_finite()) { Ok(()) } else { Err("a number is not finite") }
    }
}
