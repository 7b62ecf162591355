//! How far the predictions of a fit are off, from rows its models (or models like them) have not seen.

use fedweave::Dataset;
use fedweave::compare::held_out;
use fedweave::learn::conformal::{Calibration, Score};
use fedweave::learn::coupling::Posterior;
use fedweave::loss::{Family, LossSpec, Prediction};
use fedweave::matrix::Matrix;
use fedweave::solve::solve;
use fedweave::split::Part;
use fedweave_io::Input;

use super::{FitResult, LearntCoupling, build};
use crate::calibration::folds::{calibration, out_of_fold};
use crate::calibration::{RunCalibration, expected_deviation, linear_scores, score_of};
use crate::error::{Result, refuse};
use crate::request::FitRequest;
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};

/// Adds what is known from folds, if they were asked for, or from held-out rows, if there are any.
pub(super) fn calibrate(mut fit: FitResult, observer: &dyn Observer) -> Result<FitResult> {
    if observer.interrupted() {
        return Ok(fit);
    }
    let found = match (fit.request.calibrate, score_of(&fit.loss)) {
        (Some(_), None) => refuse!("--calibrate: intervals need one loss for all nodes, and one that predicts rows"),
        (Some(folds), Some(measure)) => Some(by_folds(&fit, folds, measure, observer)?),
        // Models that were refitted to all rows are not those that were judged: these have left their scores before.
        (None, Some(measure)) if fit.tuning.is_none() && fit.learnt.is_none() => by_held_out_rows(&fit, measure)?,
        _ => None,
    };
    if let Some(found) = found {
        fit.calibration = Some(within_clusters(found, &fit)?);
    }
    Ok(fit)
}

/// Nodes that share a model are judged together.
fn within_clusters(found: RunCalibration, fit: &FitResult) -> Result<RunCalibration> {
    let nodes = fit.input.names.len();
    let cluster: Vec<usize> = (0..nodes).map(|i| fit.clusters.partition.part(i)).collect();
    // One cluster for all, or one for each, says nothing.
    let count = fit.clusters.partition.len();
    let scores = if count > 1 && count < nodes { found.scores.with_clusters(cluster)? } else { found.scores };
    Ok(RunCalibration { scores, ..found })
}

/// Scores of rows held out of the fit for good.
fn by_held_out_rows(fit: &FitResult, measure: (Family, Score)) -> Result<Option<RunCalibration>> {
    let Some(held) = &fit.held_out else { return Ok(None) };
    let mask = held_out(&fit.input.data, &fit.training.rows, &held.split, Part::Validation);
    let rows = fit.input.data.select(&mask);
    let scored = linear_scores(measure, &rows, &fit.parameters, |_, _, _| 1.0);
    held_out_calibration(measure.1, fit.input.names.len(), scored, true).map(Some)
}

/// Scores of held-out rows; `unseen` if the models of the run have not seen them either.
pub(crate) fn held_out_calibration(
    score: Score,
    nodes: usize,
    scored: Vec<(usize, f64)>,
    unseen: bool,
) -> Result<RunCalibration> {
    let then = if unseen { "" } else { "; the models were then fitted to all rows" };
    let how = format!("{} rows held out{then}", scored.len());
    Ok(RunCalibration { score, scores: Calibration::new(nodes, scored)?, how, unseen, scaled: false })
}

/// Scores of all rows by models fitted without their fold, with what was chosen from all rows: lambda, or the structure of the
/// coupling, whose numbers are learnt anew.
fn by_folds(
    fit: &FitResult,
    folds: usize,
    measure: (Family, Score),
    observer: &dyn Observer,
) -> Result<RunCalibration> {
    let FitResult { request, input, loss, training, .. } = fit;
    let lambda = fit.problem.lambda();
    let scores = |train: &Dataset, held: &Dataset| match &fit.learnt {
        Some(learnt) => learnt_scores(request, input, learnt, measure, train, held),
        None => given_scores(request, input, loss, lambda, measure, train, held, observer),
    };
    let rows = (&training.rows, fit.held_out.as_ref().map(|held| &held.split));
    let scored = out_of_fold(input, rows, (folds, request.held_out.seed), observer, scores)?;
    let scaled = fit.learnt.as_ref().is_some_and(LearntCoupling::is_quadratic) && is_scaled(measure.0);
    let by = request.held_out.by.as_deref();
    calibration(measure.1, input.names.len(), scored, (folds, by), scaled)
}

#[allow(clippy::too_many_arguments)]
fn given_scores(
    request: &FitRequest,
    input: &Input,
    loss: &LossSpec,
    lambda: f64,
    measure: (Family, Score),
    train: &Dataset,
    held: &Dataset,
    observer: &dyn Observer,
) -> Result<Vec<(usize, f64)>> {
    let training = TrainingRows::new(&request.model, train.clone());
    let problem = build(request, input, loss, training.scaled.clone(), lambda)?;
    let quick = request.solve.quick();
    observer.begin(Stage::new("calibrating", quick.tolerance));
    let w = match &request.rounds {
        None => solve(&problem, &quick, None, &mut |record| observer.see(record)).w,
        Some(_) => super::run_solver(request, &problem, None, observer)?.solution.w,
    };
    Ok(linear_scores(measure, &training.scale(held), &w, |_, _, _| 1.0))
}

fn learnt_scores(
    request: &FitRequest,
    input: &Input,
    learnt: &LearntCoupling,
    measure: (Family, Score),
    train: &Dataset,
    held: &Dataset,
) -> Result<Vec<(usize, f64)>> {
    let mut model = request.model.clone();
    model.standardize = true;
    let training = TrainingRows::new(&model, train.clone());
    let again = learnt.blend.relearn(&input.graph, &training.scaled)?;
    if !learnt.is_quadratic() {
        let w = again.lead().bounded_models(&input.graph, &training.scaled, learnt.form, &request.solve.quick())?;
        return Ok(linear_scores(measure, &training.scale(held), &w, |_, _, _| 1.0));
    }
    let posterior = again.posterior(&input.graph, &training.scaled)?;
    Ok(posterior_scores(measure, &posterior, &training.scale(held)))
}

/// Scores in units of what the posterior expects.
fn posterior_scores(measure: (Family, Score), posterior: &Posterior, rows: &Dataset) -> Vec<(usize, f64)> {
    let deviation = |node: usize, x: &[f64], prediction: &Prediction| {
        expected_deviation(measure.0, prediction, posterior.variance(node, x), posterior.noise[node])
    };
    linear_scores(measure, rows, &posterior.w, deviation)
}

/// Scores of held-out rows by a coupling learnt without them.
pub(super) fn of_posterior(family: Family, posterior: &Posterior, rows: &Dataset) -> Result<RunCalibration> {
    let Some(score) = Score::of_loss(family) else { refuse!("--validation: the {family} loss predicts no rows") };
    let scored = posterior_scores((family, score), posterior, rows);
    let found = held_out_calibration(score, rows.nodes(), scored, false)?;
    Ok(RunCalibration { scaled: is_scaled(family), ..found })
}

/// True if models say what they expect of a score.
fn is_scaled(family: Family) -> bool {
    matches!(family, Family::Squared | Family::Poisson)
}

/// Scores of the rows that lambda was chosen by, by models that have not seen them.
pub(super) fn of_tuning(loss: &LossSpec, validation: &Dataset, w: &Matrix) -> Result<Option<RunCalibration>> {
    let Some(measure) = score_of(loss) else { return Ok(None) };
    let scored = linear_scores(measure, validation, w, |_, _, _| 1.0);
    held_out_calibration(measure.1, validation.nodes(), scored, false).map(Some)
}
