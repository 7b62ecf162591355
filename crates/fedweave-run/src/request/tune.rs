//! A race of predictors on folds.

use fedweave::loss::Family;
use fedweave_io::InputSpec;

use super::data::{input_spec, target_kind};
use super::folds::FoldChoice;
use super::keys::{Job, Key};
use super::model::ModelChoice;
use super::settings::{Reader, Settings};
use super::{Naming, Output};
use crate::error::{Error, Result, require};

/// Folds if nobody says how many.
const FOLDS: usize = 5;

/// Find out which predictor suits the rows, and fit it.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneRequest {
    /// The loss.
    pub model: ModelChoice,
    /// Rows held out in turn.
    pub folds: FoldChoice,
    /// Predictors and their shares, if they are known already.
    pub recipe: Option<Vec<(String, f64)>>,
    /// Seconds after which no further candidate begins.
    pub time_limit: Option<f64>,
    /// For the report.
    pub naming: Naming,
    /// Where results go.
    pub output: Output,
}

impl TuneRequest {
    /// True if settings ask for a race, or for its outcome.
    pub fn is_meant(settings: &Settings) -> bool {
        settings.has("tune") || settings.has("recipe")
    }

    /// A race on files.
    pub fn of_files(settings: &Settings) -> Result<(TuneRequest, InputSpec)> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let request = TuneRequest::read(settings, &reader)?;
        let spec = input_spec(&reader, target_kind(request.model.family), request.model.intercept(), Vec::new())?;
        reader.finish(not_with_tune)?;
        Ok((request, spec))
    }

    /// A race on rows in memory.
    pub fn of_memory(settings: &Settings) -> Result<TuneRequest> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let request = TuneRequest::read(settings, &reader)?;
        reader.finish(not_with_tune)?;
        Ok(request)
    }

    fn read(settings: &Settings, reader: &Reader) -> Result<TuneRequest> {
        // A race finds ridge, penalty, and strength by itself; features are scaled where that matters.
        for key in ["tune", "ridge", "standardize"] {
            reader.has(key);
        }
        let model = ModelChoice::read(reader, &[0.0], None)?;
        require!(!reader.has("lasso"), "--lasso does not go with --tune: a race knows ridges only");
        require!(!reader.has("penalty"), "--penalty does not go with --tune, which tries several");
        TuneRequest::of_model(settings, reader, model)
    }

    /// The race of `fedweave compare --tune`, beside methods that read the penalty and the ridge.
    pub(super) fn beside(settings: &Settings, reader: &Reader, model: &ModelChoice) -> Result<Option<TuneRequest>> {
        let meant = reader.flag("tune");
        meant.then(|| TuneRequest::of_model(settings, reader, model.clone())).transpose()
    }

    fn of_model(settings: &Settings, reader: &Reader, mut model: ModelChoice) -> Result<TuneRequest> {
        model.standardize = true;
        let unfit = matches!(model.family, Family::Multinomial { .. } | Family::SquaredHinge | Family::Point);
        require!(!unfit, "--tune does not know the loss {}: leave out --tune", model.family);
        Ok(TuneRequest {
            folds: FoldChoice::read(reader, FOLDS)?,
            recipe: reader.texts("recipe").map(|words| recipe(&words)).transpose()?,
            time_limit: reader.number_from("time-limit", 0.0)?,
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            model,
        })
    }
}

/// Predictors and their shares, each named once.
fn recipe(words: &[String]) -> Result<Vec<(String, f64)>> {
    let parts = words.iter().map(|word| part(word)).collect::<Result<Vec<_>>>()?;
    for (k, (name, _)) in parts.iter().enumerate() {
        let twice = parts[..k].iter().any(|(other, _)| other == name);
        require!(!twice, "--recipe: `{name}` is named twice; give it one share, the sum of both");
    }
    Ok(parts)
}

/// `NAME:SHARE`, or a name alone.
fn part(word: &str) -> Result<(String, f64)> {
    let (name, share) = word.rsplit_once(':').unwrap_or((word, "1"));
    let share = share.parse().ok().filter(|share: &f64| *share > 0.0 && share.is_finite());
    match share {
        Some(share) => Ok((name.trim().to_owned(), share)),
        None => Err(Error::Request(format!("--recipe {word}: give NAME:SHARE, e.g. learnt:0.4,trunk:0.6"))),
    }
}

fn not_with_tune(key: &Key) -> String {
    match key.with {
        "" => "does not go with --tune, which finds it by itself".into(),
        with => format!("belongs to {with}"),
    }
}
