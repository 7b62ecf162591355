//! Which predictor suits the rows? Candidates race on folds; the winners are fitted to all rows.

mod report;
mod summary;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use fedweave::learn::conformal::{Calibration, Score};
use fedweave::learn::race::{Cost, Race, RaceOptions, Rows, Shared, race};
use fedweave::learn::shocks::Time;
use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave::solve::{Status, Watch};
use fedweave_io::Input;
use rayon::prelude::*;

use crate::blend_file::{BlendFile, Place};
use crate::calibration::{RunCalibration, label_of};
use crate::checks::check;
use crate::error::{Error, Result};
use crate::predictor::blended;
use crate::request::TuneRequest;
use crate::training::TrainingRows;
use crate::watch::Observer;

pub use report::report_of;
pub use summary::{summary, text};
pub use write::{write_predictors, write_run};

/// Everything there is to say about a race.
pub struct TuneResult {
    /// What was asked for.
    pub request: TuneRequest,
    /// The data.
    pub input: Input,
    /// What an error is.
    pub cost: Cost,
    /// The race.
    pub race: Race,
    /// The winners, ready to predict.
    pub blend: BlendFile,
    /// How far predictions of rows were off that the models had not seen.
    pub calibration: Option<RunCalibration>,
    /// Seconds it took.
    pub seconds: f64,
}

impl TuneResult {
    /// What the winners predict for other rows of the same nodes.
    pub fn predict(&self, rows: &Input) -> Result<Vec<f64>> {
        let predictor = self.blend.clone().predictor()?;
        let time = |r: usize| rows.times.as_ref().map(|times| times[r]);
        let of_node =
            |i: usize| rows.data.rows(i).map(|r| predictor.predict(i, rows.data.x(r), time(r))).collect::<Vec<_>>();
        Ok((0..rows.data.nodes()).into_par_iter().flat_map_iter(of_node).collect())
    }
}

/// Runs the race, or only what a recipe names.
pub fn tune(request: TuneRequest, input: Input, observer: &dyn Observer) -> Result<TuneResult> {
    let family = request.model.family;
    let cost = Cost::of(family).ok_or_else(|| Error::request("--tune does not know this loss"))?;
    let began = observer.seconds();
    check(&request.model, &input, &request.model.loss(&input)?)?;
    let training = TrainingRows::new(&request.model, input.data.clone());
    let (attributes, place) = (attributes(&input), Place::of(&input));
    let rows = Rows {
        graph: &input.graph,
        data: &training.scaled,
        family,
        cost,
        intercept: request.model.intercept(),
        groups: input.groups.as_deref(),
        attributes: attributes.as_ref(),
    };
    let folds = request.folds.deal(&input)?.swap_remove(0);
    let geometry = place.geometry();
    let shared = input.times.as_ref().map(|times| Shared { times, time: time_kind(&input), geometry: geometry.get() });
    let left = || request.time_limit.is_none_or(|limit| observer.seconds() - began < limit);
    let first = AtomicBool::new(true);
    let options = RaceOptions {
        recipe: request.recipe.clone(),
        seed: request.folds.spec.seed,
        begin: &|what, k, total| {
            observer.advance(&format!("trying {what}: candidate"), k, total);
            first.store(k == 0, Ordering::Relaxed);
            !observer.interrupted() && (k == 0 || left())
        },
        watch: &|_| match observer.interrupted() {
            true => Watch::Stop(Status::Interrupted),
            false => Watch::Continue,
        },
        // The first candidate is not cut short by the time limit: something has to predict.
        go_on: &|| !observer.interrupted() && (first.load(Ordering::Relaxed) || left()),
    };
    let race = race(&rows, &folds, shared.as_ref(), &options).map_err(unknown_part)?;
    let blend = BlendFile::new(&request, &input, &training, attributes, place, &race);
    let calibration = calibration(family, &input, &race, &request)?;
    Ok(TuneResult { cost, calibration, seconds: observer.seconds() - began, blend, race, request, input })
}

/// A recipe that names what did not run.
fn unknown_part(error: fedweave::Error) -> Error {
    match error {
        fedweave::Error::UnknownName { name } => Error::Request(format!(
            "--recipe {name}: there is no such candidate here; fedweave fit --tune lists those that ran"
        )),
        other => Error::Mathematics(other),
    }
}

/// Scores of the predictions that the winners made for rows they had not seen.
fn calibration(family: Family, input: &Input, race: &Race, request: &TuneRequest) -> Result<Option<RunCalibration>> {
    let Some(score) = Score::of_loss(family) else { return Ok(None) };
    let rows = (0..input.names.len()).flat_map(|i| input.data.rows(i).map(move |r| (i, r)));
    let scored = rows.filter(|(_, r)| !race.out_of_fold[*r].is_nan()).map(|(i, r)| {
        let label = label_of(family, input.data.y()[r]);
        (i, score.of(&blended(family, race.out_of_fold[r]), label, 1.0))
    });
    let scores = Calibration::new(input.names.len(), scored)?;
    let how = request.folds.describe();
    Ok(Some(RunCalibration { score, scores, how, unseen: false, scaled: false }))
}

fn time_kind(input: &Input) -> Time {
    match input.encoding.time.as_ref().is_some_and(|time| time.scale.has_lengths()) {
        true => Time::Numbers,
        false => Time::Labels,
    }
}

/// Positions as features of nodes; the mean stands in where one is not known.
pub(crate) fn attributes(input: &Input) -> Option<Matrix> {
    let mut values = input.coordinates.as_ref()?.values.clone();
    let (rows, cols) = (values.rows(), values.cols());
    for j in 0..cols {
        let known = (0..rows).map(|i| values.row(i)[j]).filter(|v| v.is_finite());
        let (count, sum) = known.fold((0.0, 0.0), |(n, s), v| (n + 1.0, s + v));
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        for i in 0..rows {
            let cell = &mut values.row_mut(i)[j];
            *cell = if cell.is_finite() { *cell } else { mean };
        }
    }
    Some(values)
}
