//! Watches a path: progress, errors, and the models of the last value.

use fedweave::loss::{Loss, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::path::{Path, PathPoint, PathWatch};
use fedweave::solve::{Record, Solution, Watch};
use fedweave::tune::Errors;

use super::PointErrors;
use crate::error::Result;
use crate::request::PathRequest;
use crate::training::{TrainingRows, measures_positions};
use crate::watch::{Observer, Stage, time_left};

/// What is gathered on the way.
pub(super) struct Walk<'a> {
    request: &'a PathRequest,
    loss: &'a LossSpec,
    training: &'a TrainingRows,
    error_loss: Box<dyn Loss>,
    validation: Option<Box<dyn Loss>>,
    wanted: usize,
    observer: &'a dyn Observer,
    at: Option<usize>,
    errors: Vec<PointErrors>,
    models: Vec<f64>,
    last: Option<(usize, Solution)>,
}

/// A path, and what was gathered on the way.
pub(super) struct Walked {
    pub path: Path,
    pub errors: Vec<PointErrors>,
    pub models: Vec<f64>,
    pub last: Option<(usize, Solution)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        request: &'a PathRequest,
        loss: &'a LossSpec,
        training: &'a TrainingRows,
        validation: Option<Box<dyn Loss>>,
        wanted: usize,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        Ok(Walk {
            error_loss: training.error_loss(loss)?,
            request,
            loss,
            training,
            validation,
            wanted,
            observer,
            at: None,
            errors: Vec::new(),
            models: Vec::new(),
            last: None,
        })
    }

    pub(super) fn end(self, path: Path) -> Walked {
        Walked { path, errors: self.errors, models: self.models, last: self.last }
    }
}

impl PathWatch for Walk<'_> {
    fn see(&mut self, k: usize, record: &Record) -> Watch {
        if self.at.replace(k) != Some(k) {
            let (fit, settings) = (&self.request.fit, &self.request.fit.solve);
            self.observer.begin(Stage {
                what: format!("lambda {}/{}", k + 1, self.wanted),
                tolerance: settings.tolerance,
                iterations_max: settings.iterations_max,
                seconds_max: time_left(fit.time_limit, self.observer),
                piece: Some((k, self.wanted)),
            });
        }
        self.observer.see(record)
    }

    fn keep(&mut self, k: usize, _point: &PathPoint, solution: &Solution) {
        let parameters = self.training.restore(self.loss, &solution.w);
        let models = if measures_positions(self.loss) { &parameters } else { &solution.w };
        let train = Errors::of(&*self.error_loss, models);
        let validation = self.validation.as_ref().map(|loss| Errors::of(&**loss, &solution.w));
        self.errors.push(PointErrors { train, validation });
        if self.request.keep_models {
            self.models.extend_from_slice(parameters.as_slice());
        }
        self.last = Some((k, solution.clone()));
    }

    /// Clusters are those of the models that are written.
    fn models(&self, w: &Matrix) -> Option<Matrix> {
        self.request.fit.model.standardize.then(|| self.training.restore(self.loss, w))
    }
}
