//! Options of perceptrons.

use serde::{Deserialize, Serialize};

use super::{Activation, Optimiser};
use crate::model::options::{Limit, ModelOptions, count, not_negative, positive, share, switch};

/// Options of `mlp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MlpOptions {
    /// Units of the hidden layers, none for a linear model.
    pub hidden: Vec<usize>,
    /// What the hidden layers apply to their sums.
    pub activation: Activation,
    /// How parameters follow gradients.
    pub optimiser: Optimiser,
    /// Step of the optimiser.
    pub learning_rate: f64,
    /// Share of the last step that plain gradient descent repeats.
    pub momentum: f64,
    /// Weight of `|W|^2 / 2` against the mean loss; biases are free.
    pub alpha: f64,
    /// Rows per step; all of them if there are fewer or with `none`.
    pub batch: Limit,
    /// Most passes over the rows.
    pub epochs: usize,
    /// Stops when a tenth of the rows, held out, is not predicted better for `patience` epochs; takes the best epoch.
    pub early_stopping: bool,
    /// The share of rows held out for early stopping.
    pub validation: f64,
    /// Epochs without progress that end training.
    pub patience: usize,
    /// What counts as progress of the loss.
    pub tolerance: f64,
    /// Goes on from the last fit instead of from random weights.
    pub warm_start: bool,
}

impl Default for MlpOptions {
    fn default() -> Self {
        MlpOptions {
            hidden: vec![100],
            activation: Activation::Relu,
            optimiser: Optimiser::Adam,
            learning_rate: 1e-3,
            momentum: 0.9,
            alpha: 1e-4,
            batch: Limit(Some(200)),
            epochs: 200,
            early_stopping: false,
            validation: 0.1,
            patience: 10,
            tolerance: 1e-4,
            warm_start: false,
        }
    }
}

impl ModelOptions for MlpOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let units: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        let hidden = if units.is_empty() { "none".into() } else { units.join("x") };
        vec![
            ("hidden", hidden),
            ("activation", self.activation.name().into()),
            ("optimiser", self.optimiser.name().into()),
            ("learning-rate", self.learning_rate.to_string()),
            ("momentum", self.momentum.to_string()),
            ("alpha", self.alpha.to_string()),
            ("batch", self.batch.to_string()),
            ("epochs", self.epochs.to_string()),
            ("early-stopping", self.early_stopping.to_string()),
            ("validation", self.validation.to_string()),
            ("patience", self.patience.to_string()),
            ("tolerance", self.tolerance.to_string()),
            ("warm-start", self.warm_start.to_string()),
        ]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "hidden" => self.hidden = units(value)?,
            "activation" => self.activation = Activation::parse(value)?,
            "optimiser" => self.optimiser = Optimiser::parse(value)?,
            "learning-rate" => self.learning_rate = positive(value)?,
            "momentum" => self.momentum = share(value, 1.0)?,
            "alpha" => self.alpha = not_negative(value)?,
            "batch" => self.batch = Limit::parse(value)?,
            "epochs" => self.epochs = count(value, 1)?,
            "early-stopping" => self.early_stopping = switch(value)?,
            "validation" => self.validation = share(value, 0.5)?,
            "patience" => self.patience = count(value, 1)?,
            "tolerance" => self.tolerance = not_negative(value)?,
            _ => self.warm_start = switch(value)?,
        }
        Ok(())
    }
}

/// The widest layer: parameters are counted in machine words.
const UNITS_MAX: usize = 1 << 20;

/// `64x32`, or `none`.
fn units(value: &str) -> Result<Vec<usize>, &'static str> {
    if value == "none" {
        return Ok(Vec::new());
    }
    let unit = |word: &str| count(word, 1).ok().filter(|n| *n <= UNITS_MAX);
    value.split('x').map(unit).collect::<Option<_>>().ok_or("units of the layers, such as 100 or 64x32, or none")
}
