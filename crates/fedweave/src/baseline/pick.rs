//! Every method at its best: settings chosen from a grid by the error on validation rows.

use super::server::smoothness;
use crate::accounting::Traffic;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::matrix::Matrix;
use crate::solve::Method;
use crate::tune::Errors;

/// The best setting and what it led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Picked<S> {
    /// Every setting with its mean validation error; infinite where the method diverged.
    pub tried: Vec<(S, f64)>,
    /// Position of the best.
    pub chosen: usize,
    /// Its models.
    pub models: Matrix,
    /// Its traffic; that of the search is not included.
    pub traffic: Traffic,
}

impl<S> Picked<S> {
    /// The chosen setting.
    pub fn setting(&self) -> &S {
        &self.tried[self.chosen].0
    }

    /// Its mean error on the validation rows.
    pub fn error(&self) -> f64 {
        self.tried[self.chosen].1
    }
}

/// Runs the method of every setting for so many rounds and keeps the one with the smallest mean error on the rows of
/// `validation` (built without ridge); the first of equals.
///
/// ```
/// use fedweave::baseline::{FedAvg, FedAvgOptions, LocalUpdate, pick, step_grid};
/// use fedweave::loss::{Family, LossOptions};
/// use fedweave::{Dataset, Matrix};
/// let data = |y: f64| Dataset::new(vec![0, 1], Matrix::from_rows(1, vec![1.0]), vec![y], vec![1.0]).unwrap();
/// let loss = |y: f64| Family::Squared.build(data(y), &LossOptions::default()).unwrap();
/// let (train, validation) = (loss(2.0), loss(2.0));
/// let local = LocalUpdate::Gradient { steps: 1 };
/// let picked = pick(&step_grid(&*train), 3, &*validation, |&step| {
///     Ok(Box::new(FedAvg::new(&*train, FedAvgOptions { local, step: Some(step) })?))
/// })?;
/// // The step 1 / beta solves this one-dimensional problem at once.
/// assert!(picked.error() < 1e-20 && (picked.setting() - 0.5).abs() < 1e-6);
/// # Ok::<(), fedweave::Error>(())
/// ```
pub fn pick<'m, S: Clone>(
    grid: &[S],
    rounds: usize,
    validation: &dyn Loss,
    make: impl Fn(&S) -> Result<Box<dyn Method + 'm>>,
) -> Result<Picked<S>> {
    let mut tried = Vec::with_capacity(grid.len());
    let mut best: Option<(usize, f64, Matrix, Traffic)> = None;
    for (k, setting) in grid.iter().enumerate() {
        let mut method = make(setting)?;
        (0..rounds).for_each(|_| method.round());
        let error = Errors::of(validation, method.models()).mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY);
        tried.push((setting.clone(), error));
        if best.as_ref().is_none_or(|b| error < b.1) {
            best = Some((k, error, method.models().clone(), method.traffic().clone()));
        }
    }
    let (chosen, _, models, traffic) =
        best.ok_or(Error::Size { what: "settings to pick from", expected: 1, found: 0 })?;
    Ok(Picked { tried, chosen, models, traffic })
}

/// Steps around `1 / max_i beta_i`, from a sixteenth of it to nearly twice as much, beyond which gradient steps diverge.
pub fn step_grid(loss: &dyn Loss) -> Vec<f64> {
    let beta = smoothness(loss);
    let unit = if beta > 0.0 && beta.is_finite() { 1.0 / beta } else { 1.0 };
    [1.0 / 16.0, 0.125, 0.25, 0.5, 1.0, 1.9].map(|factor| factor * unit).to_vec()
}
