//! Parties that hold columns of the same rows.

use std::path::PathBuf;

use fedweave::loss::Family;
use fedweave::split::SplitSpec;
use fedweave_io::{InputSpec, MissingPolicy, TargetKind};

use super::data::target_kind;
use super::held_out::{HeldOutChoice, Why};
use super::keys::{Job, Key};
use super::model::ModelChoice;
use super::settings::{Reader, Settings};
use super::{Naming, Output};
use crate::error::{Error, Result, require};

/// The gradient at which a fit stops, relative to where it began.
const TOLERANCE: f64 = 1e-10;

/// Fit one model to columns that several parties hold.
#[derive(Debug, Clone, PartialEq)]
pub struct VerticalRequest {
    /// The table of every party.
    pub files: Vec<PathBuf>,
    /// The column that says which rows belong together.
    pub key: String,
    /// The column to predict, which one party has.
    pub target: String,
    /// The loss, and what is done to columns.
    pub model: ModelChoice,
    /// When to stop.
    pub tolerance: f64,
    /// Rows that nobody trains with.
    pub held_out: Option<SplitSpec>,
    /// How they were drawn, in words.
    pub held_out_words: String,
    /// For `config.toml`.
    pub naming: Naming,
    /// Where results go.
    pub output: Output,
    features: Option<Vec<String>>,
    drop: Vec<String>,
    one_hot: Vec<String>,
    missing: MissingPolicy,
}

impl VerticalRequest {
    /// True if settings ask for one.
    pub fn is_meant(settings: &Settings) -> bool {
        settings.has("vertical")
    }

    /// From settings.
    pub fn of_files(settings: &Settings) -> Result<VerticalRequest> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let request = VerticalRequest::read(settings, &reader)?;
        reader.finish(not_with_vertical)?;
        Ok(request)
    }

    fn read(settings: &Settings, reader: &Reader) -> Result<VerticalRequest> {
        let mut files: Vec<PathBuf> = reader.path("nodes").into_iter().collect();
        files.extend(reader.texts("vertical").unwrap_or_default().into_iter().map(PathBuf::from));
        require!(files.len() > 1, "--vertical: name the tables of at least two parties, e.g. --vertical a.csv b.csv");
        let text = |name, why: &str| reader.string(name).ok_or_else(|| Error::request(why));
        let model = ModelChoice::read(reader, &[0.0], None)?;
        model.one_ridge()?;
        let known = matches!(model.family, Family::Squared | Family::Logistic | Family::Poisson);
        require!(known, "--vertical does not know the loss {}: give squared, logistic or poisson", model.family);
        require!(!reader.has("lasso"), "--lasso does not go with --vertical: give a ridge");
        require!(!reader.has("penalty"), "--penalty does not go with --vertical: all rows have one model");
        let held_out = HeldOutChoice::read(reader, Why::Asked)?;
        Ok(VerticalRequest {
            key: text("key", "--vertical needs --key COLUMN, which says what rows of the parties belong together")?,
            target: text("target", "which column is to be predicted? give --target COLUMN, which one party has")?,
            tolerance: reader.number_from("tolerance", 0.0)?.unwrap_or(TOLERANCE),
            held_out_words: held_out.describe(),
            held_out: held_out.spec,
            features: reader.texts("features"),
            drop: reader.texts("drop").unwrap_or_default(),
            one_hot: reader.texts("one-hot").unwrap_or_default(),
            missing: super::data::missing(reader)?,
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            files,
            model,
        })
    }

    /// How to read the table of a party with these columns: its rows are named by the key.
    pub fn spec(&self, party: usize, columns: &[String]) -> InputSpec {
        let here = |names: &[String]| names.iter().filter(|name| columns.contains(name)).cloned().collect::<Vec<_>>();
        let target = columns.contains(&self.target).then(|| self.target.clone());
        InputSpec {
            node: self.key.clone(),
            target_kind: target.as_ref().map_or(TargetKind::None, |_| target_kind(self.model.family)),
            target,
            features: self.features.as_deref().map(here),
            drop: here(&self.drop),
            one_hot: here(&self.one_hot),
            missing: self.missing,
            intercept: false,
            ..InputSpec::new(self.files[party].clone())
        }
    }

    /// Columns that were named and that no party has.
    pub fn unknown_column<'a>(&'a self, columns: &[Vec<String>]) -> Option<&'a str> {
        let named = self.features.iter().flatten().chain(&self.drop).chain(&self.one_hot);
        named.map(String::as_str).find(|name| !columns.iter().flatten().any(|column| column == name))
    }
}

fn not_with_vertical(key: &Key) -> String {
    match key.with {
        "" => "does not go with --vertical: one model is fitted to the columns of all parties".into(),
        with => format!("belongs to {with}"),
    }
}
