//! Models trained without the held-out rows, to choose lambda and to be judged.

use std::time::Instant;

use anyhow::Result;
use fedweave::compare::trial_rows;
use fedweave::loss::{Loss, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::scaling::Scaling;
use fedweave::solve::{Record, Settings};
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, Tuning, lambda_grid, tune_rows};
use fedweave::{Dataset, baseline};
use fedweave_io::Input;

use crate::fit::{HeldOut, build, time_left};
use crate::plan::Plan;
use crate::progress::Watcher;

/// Models trained without the held-out rows.
pub struct Trial<'a> {
    /// Rows to train with, scaled.
    pub train: Dataset,
    /// Rows to judge with, scaled.
    pub validation: Dataset,
    loss: &'a LossSpec,
    settings: Settings,
}

impl<'a> Trial<'a> {
    pub fn new(plan: &Plan, input: &Input, loss: &'a LossSpec, split: &Split) -> Self {
        let (train, validation) = trial_rows(&input.data, split, Part::Validation);
        let scaling = plan.raw.standardize.then(|| Scaling::of(&train, plan.intercept()));
        let scaled = |d: Dataset| scaling.as_ref().map_or(d.clone(), |s| s.apply(&d));
        let quick = plan.settings.quick();
        let tolerance = if plan.lambda.is_some() { plan.settings.tolerance } else { quick.tolerance };
        Trial { train: scaled(train), validation: scaled(validation), loss, settings: Settings { tolerance, ..quick } }
    }

    pub fn plain(&self, data: &Dataset) -> fedweave::Result<Box<dyn Loss>> {
        self.loss.build(data.clone(), &LossOptions::default())
    }

    pub fn tune(&self, plan: &Plan, input: &Input, started: Instant) -> Result<Tuning> {
        let mut problem = build(plan, input, self.loss, self.train.clone(), 0.0)?;
        let grid = match (plan.lambda, &plan.raw.lambda_grid) {
            (Some(lambda), _) => vec![lambda],
            (None, Some(grid)) => grid.clone(),
            (None, None) => {
                let mut watcher = Watcher::new("grid", 1e-3, usize::MAX, time_left(plan, started));
                let grid = lambda_grid(&mut problem, &mut |record| watcher.see(record))?;
                watcher.finish();
                grid
            }
        };
        let mut watcher: Option<(usize, Watcher)> = None;
        let settings = &self.settings;
        // A grid that nobody asked for may grow.
        let open = plan.lambda.is_none() && plan.raw.lambda_grid.is_none();
        let mut watch = |k: usize, record: &Record| {
            if watcher.as_ref().is_none_or(|(at, _)| *at != k) {
                let what = format!("lambda {}/{}", k + 1, grid.len().max(k + 1));
                let fresh = Watcher::new(&what, settings.tolerance, settings.iterations_max, time_left(plan, started));
                if let Some((_, old)) = watcher.replace((k, fresh)) {
                    old.finish();
                }
            }
            watcher.as_mut().expect("made above").1.see(record)
        };
        let (train, validation) = (&self.train, &self.validation);
        let tuning =
            tune_rows(&mut problem, self.loss, train, validation, &grid, open, plan.rule, settings, &mut watch)?;
        if let Some((_, last)) = watcher {
            last.finish();
        }
        Ok(tuning)
    }

    pub fn judge(&self, plan: &Plan, split: Split, validation_errors: Errors) -> Result<HeldOut> {
        let validation = self.plain(&self.validation)?;
        let local = baseline::local(self.loss, self.train.clone(), &plan.options)?;
        let global = match self.loss {
            LossSpec::Same(family) => {
                let w = baseline::global(*family, &self.train, &plan.options)?;
                let all = Matrix::from_rows(w.len(), w.repeat(self.train.nodes()));
                Some(Errors::of(&*validation, &all))
            }
            LossSpec::PerNode(_) => None,
        };
        Ok(HeldOut { split, validation: validation_errors, local: Errors::of(&*validation, &local), global })
    }
}
