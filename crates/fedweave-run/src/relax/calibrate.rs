//! How far the predictions of models of any class are off, from rows they have not seen.

use fedweave::Dataset;
use fedweave::learn::conformal::Score;
use fedweave::matrix::Rows;
use fedweave::model::Task;
use fedweave::model::relax::Relax;
use fedweave::split::Split;
use fedweave_io::Input;

use super::{ModelRows, ModelSource};
use crate::calibration::RunCalibration;
use crate::calibration::folds::{calibration, out_of_fold};
use crate::error::Result;
use crate::fit::held_out_calibration;
use crate::model_file::prediction;
use crate::predictor::named;
use crate::request::RelaxRequest;
use crate::watch::Observer;

fn score_of(task: Task) -> Score {
    match task {
        Task::Regression => Score::Difference,
        Task::Classification { .. } => Score::Class,
    }
}

/// Scores of rows in the features of the models.
pub(super) fn scores(relax: &Relax, rows: &Dataset, task: Task, input: &Input) -> Result<Vec<(usize, f64)>> {
    let score = score_of(task);
    let mut scored = Vec::with_capacity(rows.len());
    for i in (0..rows.nodes()).filter(|i| !rows.rows(*i).is_empty()) {
        let said = relax.predict(i, Rows::new(rows.dim(), rows.features(i))).map_err(|e| named(e, input))?;
        let of_row = |(k, label): (usize, &f64)| (i, score.of(&prediction(task, said.row(k).to_vec()), *label, 1.0));
        scored.extend(rows.labels(i).iter().enumerate().map(of_row));
    }
    Ok(scored)
}

/// The calibration by rows that were held out; `unseen` if the models of the run have not seen them either.
pub(super) fn held_out(task: Task, input: &Input, scored: Vec<(usize, f64)>, unseen: bool) -> Result<RunCalibration> {
    held_out_calibration(score_of(task), input.names.len(), scored, unseen)
}

/// The calibration by folds of the rows trained with, with the same lambda.
pub(super) fn by_folds(
    request: &RelaxRequest,
    input: &Input,
    task: Task,
    source: &dyn ModelSource,
    lambda: f64,
    rows: (&Dataset, Option<&Split>),
    observer: &dyn Observer,
) -> Result<Option<RunCalibration>> {
    let Some(folds) = request.calibrate else { return Ok(None) };
    let one = |train: &Dataset, held: &Dataset| {
        let training = ModelRows::new(request, input, train.clone())?;
        let mut relax = training.start(request, input, task, source, lambda)?;
        for _ in 0..if lambda > 0.0 { request.rounds } else { 0 } {
            relax.round().map_err(|e| named(e, input))?;
        }
        let held = training.scaling.as_ref().map_or_else(|| held.clone(), |s| s.apply(held));
        scores(&relax, &held, task, input)
    };
    let scored = out_of_fold(input, rows, (folds, request.held_out.seed), observer, one)?;
    let by = request.held_out.by.as_deref();
    calibration(score_of(task), input.names.len(), scored, (folds, by), false).map(Some)
}
