//! Models trained without the held-out rows, to choose lambda and to be judged.

use std::cell::Cell;

use fedweave::compare::trial_rows;
use fedweave::loss::{Confusion, Loss, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::scaling::Scaling;
use fedweave::solve::{Record, Settings};
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, Tuning, lambda_grid, tune_rows};
use fedweave::{Dataset, Problem, baseline};
use fedweave_io::Input;

use crate::error::Result;
use crate::fit::build;
use crate::request::FitRequest;
use crate::watch::{Observer, Stage, time_left};
use crate::wording::counted;

/// A grid of lambda for a problem: from one model per component to nearly independent ones.
pub fn grid_of(request: &FitRequest, problem: &mut Problem, observer: &dyn Observer) -> Result<Vec<f64>> {
    observer.begin(Stage { seconds_max: time_left(request.time_limit, observer), ..Stage::new("grid", 1e-3) });
    Ok(lambda_grid(problem, &mut |record| observer.see(record))?)
}

/// How models that never saw the held-out rows do on them.
pub struct HeldOutErrors {
    /// Which rows were held out.
    pub split: Split,
    /// Networked models.
    pub validation: Errors,
    /// Every node alone.
    pub local: Errors,
    /// The ridge that the local models chose for themselves, if they did.
    pub local_ridge: Option<f64>,
    /// One model for all, where that has a meaning.
    pub global: Option<Errors>,
    /// Which classes are taken for which, where labels are classes and every row was held out at once.
    pub classes: Option<HeldOutClasses>,
}

/// Which classes of held-out rows are taken for which.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutClasses {
    /// By networked models, once they are known.
    pub networked: Option<Confusion>,
    /// By every node alone.
    pub local: Confusion,
    /// By one model for all.
    pub global: Confusion,
}

impl HeldOutErrors {
    /// How many nodes do worse than with their local model, of how many that could be judged.
    pub fn hurt(&self) -> (usize, usize) {
        let pairs = self.validation.by_node.iter().zip(&self.local.by_node);
        let judged: Vec<(f64, f64)> = pairs.filter_map(|(ours, local)| Some(((*ours)?, (*local)?))).collect();
        (judged.iter().filter(|(ours, local)| ours > local).count(), judged.len())
    }

    /// The same in words.
    pub fn hurt_words(&self) -> String {
        let (hurt, judged) = self.hurt();
        let share = 100.0 * hurt as f64 / judged.max(1) as f64;
        format!("worse than local-only: {hurt} of {} ({share:.0} %)", counted(judged, "node"))
    }

    /// Number of rows that were not trained with.
    pub fn rows(&self) -> usize {
        self.split.part.iter().filter(|p| **p != Part::Train).count()
    }
}

/// Training rows and held-out rows, scaled by the training rows.
pub struct HeldOutRows<'a> {
    /// Rows to train with.
    pub train: Dataset,
    /// Rows to judge with.
    pub validation: Dataset,
    loss: &'a LossSpec,
    settings: Settings,
}

impl<'a> HeldOutRows<'a> {
    /// Separates the rows.
    pub fn new(request: &FitRequest, input: &Input, loss: &'a LossSpec, split: &Split) -> Self {
        let (train, validation) = trial_rows(&input.data, split, Part::Validation);
        let model = &request.model;
        let scaling = model.standardize.then(|| Scaling::of(&train, model.intercept()));
        let scaled = |d: Dataset| scaling.as_ref().map_or(d.clone(), |s| s.apply(&d));
        let quick = request.solve.quick();
        let tolerance = if request.lambda.fixed.is_some() { request.solve.tolerance } else { quick.tolerance };
        let settings = Settings { tolerance, ..quick };
        HeldOutRows { train: scaled(train), validation: scaled(validation), loss, settings }
    }

    /// The loss on some rows without regularisation: its values are errors.
    pub fn plain(&self, data: &Dataset) -> fedweave::Result<Box<dyn Loss>> {
        self.loss.build(data.clone(), &LossOptions::default())
    }

    /// Tries values of lambda: the one that is fixed, those of the grid, or a grid of its own that may grow.
    pub fn tune(&self, request: &FitRequest, input: &Input, observer: &dyn Observer) -> Result<Tuning> {
        let mut problem = build(request, input, self.loss, self.train.clone(), 0.0)?;
        let left = || time_left(request.time_limit, observer);
        let choice = &request.lambda;
        let grid = match (choice.fixed, &choice.grid) {
            (Some(lambda), _) => vec![lambda],
            (None, Some(grid)) => grid.clone(),
            (None, None) => grid_of(request, &mut problem, observer)?,
        };
        // A grid that nobody asked for may grow.
        let open = choice.fixed.is_none() && choice.grid.is_none();
        let (settings, at) = (&self.settings, Cell::new(None));
        let mut watch = |k: usize, record: &Record| {
            if at.replace(Some(k)) != Some(k) {
                observer.begin(Stage {
                    what: format!("lambda {}/{}", k + 1, grid.len().max(k + 1)),
                    tolerance: settings.tolerance,
                    iterations_max: settings.iterations_max,
                    seconds_max: left(),
                    piece: None,
                });
            }
            observer.see(record)
        };
        let (train, validation) = (&self.train, &self.validation);
        let rule = choice.rule;
        Ok(tune_rows(&mut problem, self.loss, train, validation, &grid, open, rule, settings, &mut watch)?)
    }

    /// Adds what a node alone, and one model for all, would have done; `w` are the networked models, if they are known.
    pub fn judge(
        &self,
        request: &FitRequest,
        split: Split,
        validation_errors: Errors,
        w: Option<&Matrix>,
    ) -> Result<HeldOutErrors> {
        let validation = self.plain(&self.validation)?;
        let options = &request.model.options;
        let (local, local_w, ridge) = with_best_ridge(options, |options| {
            let w = baseline::local(self.loss, self.train.clone(), options)?;
            Ok((Errors::of(&*validation, &w), w))
        })?;
        let (mut global, mut classes) = (None, None);
        if let LossSpec::Same(family) = self.loss {
            let (errors, all, _) = with_best_ridge(options, |options| {
                let w = baseline::global(*family, &self.train, options)?;
                let all = Matrix::from_rows(w.len(), w.repeat(self.train.nodes()));
                Ok((Errors::of(&*validation, &all), all))
            })?;
            global = Some(errors);
            let confusion = |w: &Matrix| family.confusion(&self.validation, w);
            classes = confusion(&local_w).zip(confusion(&all)).map(|(local, global)| HeldOutClasses {
                networked: w.and_then(confusion),
                local,
                global,
            });
        }
        Ok(HeldOutErrors { split, validation: validation_errors, local, local_ridge: Some(ridge), global, classes })
    }

    /// Which classes some models take for which.
    pub fn confusion(&self, w: &Matrix) -> Option<Confusion> {
        confusion(self.loss, &self.validation, w)
    }
}

/// Which classes some models take for which, where all nodes have the same classes.
pub fn confusion(loss: &LossSpec, data: &Dataset, w: &Matrix) -> Option<Confusion> {
    match loss {
        LossSpec::Same(family) => family.confusion(data, w),
        LossSpec::PerNode(_) => None,
    }
}

/// Errors of models that choose their own ridge on the held-out rows, as lambda is chosen: otherwise the gain of the network would
/// be that of any regularisation. Also gives what came with them, and the ridge.
pub(crate) fn with_best_ridge<T>(
    options: &LossOptions,
    errors: impl Fn(&LossOptions) -> fedweave::Result<(Errors, T)>,
) -> Result<(Errors, T, f64)> {
    let mut best = None;
    for ridge in baseline::RIDGES.into_iter().chain((options.ridge > 0.0).then_some(options.ridge)) {
        let (errors, with) = errors(&LossOptions { ridge, ..*options })?;
        let smaller = best.as_ref().is_none_or(|best: &(Errors, T, f64)| errors.mean() < best.0.mean());
        if smaller {
            best = Some((errors, with, ridge));
        }
    }
    Ok(best.expect("there are ridges"))
}
