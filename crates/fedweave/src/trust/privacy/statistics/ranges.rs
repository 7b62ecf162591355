//! What is known about rows before anybody looks at them: a range for every feature and for the target.

use super::super::mechanisms::clip;
use crate::error::{Error, Result};

/// Public ranges. Rows are moved into the box they describe, which is scaled to -1..1, and clipped to a norm.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    /// Middle and half width of every feature (without the intercept), then of the target.
    columns: Vec<(f64, f64)>,
    /// Longest scaled row of features.
    clip: f64,
    intercept: bool,
}

impl Ranges {
    /// Ranges of the features and of the target; rows of scaled features are clipped to the norm `clip`, or not at all. Without an
    /// intercept, ranges are taken as symmetric round zero.
    pub fn new(features: Vec<(f64, f64)>, target: (f64, f64), clip: Option<f64>, intercept: bool) -> Result<Ranges> {
        let longest = (features.len() as f64).sqrt();
        let clip = clip.unwrap_or(longest).min(longest);
        if !(clip > 0.0 || features.is_empty()) {
            return Err(Error::Parameter { name: "clip", value: clip, needs: "positive" });
        }
        let centred = |(low, high): (f64, f64)| match intercept {
            true => (0.5 * (low + high), 0.5 * (high - low)),
            false => (0.0, low.abs().max(high.abs())),
        };
        let columns: Vec<_> = features.into_iter().chain([target]).map(centred).collect();
        match columns.iter().find(|(middle, half)| !(middle.is_finite() && *half > 0.0 && half.is_finite())) {
            Some((_, half)) => {
                Err(Error::Parameter { name: "width of a range", value: 2.0 * half, needs: "positive and finite" })
            }
            None => Ok(Ranges { columns, clip, intercept }),
        }
    }

    /// Numbers in a row `v`: features, the one of the intercept, target.
    pub fn width(&self) -> usize {
        self.columns.len() + usize::from(self.intercept)
    }

    /// Features of the dataset, with the intercept.
    pub fn features(&self) -> usize {
        self.width() - 1
    }

    /// Where the one of the intercept is.
    pub fn intercept(&self) -> Option<usize> {
        self.intercept.then(|| self.columns.len() - 1)
    }

    /// The longest `v`, squared.
    pub fn norm_squared(&self) -> f64 {
        self.clip * self.clip + f64::from(u8::from(self.intercept)) + 1.0
    }

    /// The longest row of features that comes out of [`boxed`](Ranges::boxed), with the intercept.
    pub fn feature_norm(&self) -> f64 {
        (self.norm_squared() - 1.0).sqrt()
    }

    /// Middle and half width of every feature, without the intercept.
    pub fn scales(&self) -> &[(f64, f64)] {
        &self.columns[..self.columns.len() - 1]
    }

    /// The same, and the target's.
    pub fn columns(&self) -> &[(f64, f64)] {
        &self.columns
    }

    /// Brings a row into the box: scaled features, clipped, a one if there is an intercept, the scaled target.
    pub fn boxed(&self, x: &[f64], y: f64, out: &mut [f64]) {
        let last = self.columns.len() - 1;
        let scaled = |value: f64, (middle, half): (f64, f64)| ((value - middle) / half).clamp(-1.0, 1.0);
        for j in 0..last {
            out[j] = scaled(x[j], self.columns[j]);
        }
        clip(&mut out[..last], self.clip);
        if let Some(one) = self.intercept() {
            out[one] = 1.0;
        }
        out[self.width() - 1] = scaled(y, self.columns[last]);
    }

    /// Features and label of a row `v` in the units of the data. It is linear: what multiplies the intercept need not be one.
    pub fn unboxed(&self, v: &[f64]) -> (Vec<f64>, f64) {
        let last = self.columns.len() - 1;
        let one = self.intercept().map_or(0.0, |at| v[at]);
        let restored = |value: f64, (middle, half): (f64, f64)| half * value + middle * one;
        let features = (0..last).map(|j| restored(v[j], self.columns[j])).chain(self.intercept().map(|at| v[at]));
        (features.collect(), restored(v[self.width() - 1], self.columns[last]))
    }
}
