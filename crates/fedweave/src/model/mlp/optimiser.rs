//! How parameters follow gradients.

use serde::{Deserialize, Serialize};

use super::MlpOptions;

/// How parameters follow gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Gradient descent with momentum.
    Sgd,
    /// Steps divided by a running root mean square of the gradient, with decay 0.99.
    Rmsprop,
    /// Running means of gradient (0.9) and square (0.999), both corrected for their start.
    Adam,
}

impl Optimiser {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Optimiser::Sgd => "sgd",
            Optimiser::Rmsprop => "rmsprop",
            Optimiser::Adam => "adam",
        }
    }

    pub(super) fn parse(value: &str) -> Result<Self, &'static str> {
        let known = [Optimiser::Sgd, Optimiser::Rmsprop, Optimiser::Adam];
        known.into_iter().find(|o| o.name() == value).ok_or("sgd, rmsprop or adam")
    }
}

/// What an optimiser remembers.
#[derive(Debug, Clone)]
pub struct Moments {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

/// Running means below this are 0: numbers that keep halving end among the denormal ones, where arithmetic is slow.
const TINY: f64 = 1e-200;

const RMS_DECAY: f64 = 0.99;
const ADAM_DECAYS: (f64, f64) = (0.9, 0.999);

/// Keeps steps finite where gradients vanish.
const FLOOR: f64 = 1e-8;

impl Moments {
    /// For this many parameters.
    pub fn new(len: usize) -> Self {
        Moments { first: vec![0.0; len], second: vec![0.0; len], steps: 0 }
    }

    /// One step along a gradient.
    pub fn step(&mut self, options: &MlpOptions, parameters: &mut [f64], gradient: &[f64]) {
        self.steps = self.steps.saturating_add(1);
        let rate = options.learning_rate;
        match options.optimiser {
            Optimiser::Sgd => self.descend(rate, options.momentum, parameters, gradient),
            Optimiser::Rmsprop => self.rmsprop(rate, parameters, gradient),
            Optimiser::Adam => self.adam(rate, parameters, gradient),
        }
    }

    fn descend(&mut self, rate: f64, momentum: f64, parameters: &mut [f64], gradient: &[f64]) {
        for ((p, g), v) in parameters.iter_mut().zip(gradient).zip(&mut self.first) {
            *v = normal(momentum * *v - rate * g);
            *p += *v;
        }
    }

    fn rmsprop(&mut self, rate: f64, parameters: &mut [f64], gradient: &[f64]) {
        for ((p, g), s) in parameters.iter_mut().zip(gradient).zip(&mut self.second) {
            *s = normal(RMS_DECAY * *s + (1.0 - RMS_DECAY) * g * g);
            *p -= rate * g / (s.sqrt() + FLOOR);
        }
    }

    fn adam(&mut self, rate: f64, parameters: &mut [f64], gradient: &[f64]) {
        let (b1, b2) = ADAM_DECAYS;
        let rate = rate / (1.0 - b1.powi(self.steps));
        let root = 1.0 / (1.0 - b2.powi(self.steps)).sqrt();
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((p, g), (m, s)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = normal(b1 * *m + (1.0 - b1) * g);
            *s = normal(b2 * *s + (1.0 - b2) * g * g);
            *p -= rate * *m / (root * s.sqrt() + FLOOR);
        }
    }
}

fn normal(value: f64) -> f64 {
    if value.abs() < TINY { 0.0 } else { value }
}
