//! Models of any class, coupled by what they predict on public rows.

use std::path::PathBuf;

use fedweave::matrix::Matrix;
use fedweave::model::ModelSpec;
use fedweave::model::relax::{PUBLIC_ROWS, PublicSource, ROUNDS, RelaxOptions};
use fedweave::solve::Order;
use fedweave_io::{InputSpec, TargetKind};

use super::data::input_spec;
use super::held_out::{HeldOutChoice, Why, calibration_folds};
use super::keys::{Job, Key};
use super::lambda::LambdaChoice;
use super::privacy::VoteChoice;
use super::settings::{Reader, Settings};
use super::{Naming, Output};
use crate::error::{Error, Result, refuse, require};

/// Values of lambda to choose from if nobody says which; 0 is every node alone.
const GRID: [f64; 8] = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// Fit models of any class.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaxRequest {
    /// Predict classes.
    pub classify: bool,
    /// For nodes that no table names.
    pub default: Option<ModelSpec>,
    /// A table with a model class for each node.
    pub models: Option<PathBuf>,
    /// `None`: choose it.
    pub lambda: Option<f64>,
    /// Values to choose from.
    pub grid: Vec<f64>,
    /// Number of rounds.
    pub rounds: usize,
    /// How models are coupled.
    pub options: RelaxOptions,
    /// Where public rows come from.
    pub public: PublicChoice,
    /// Measure the objective and errors after every round.
    pub track: bool,
    /// Seconds for all of it.
    pub time_limit: Option<f64>,
    /// Features are scaled.
    pub standardize: bool,
    /// Nodes without rows or edges are errors.
    pub strict: bool,
    /// Rows to hold out.
    pub held_out: HeldOutChoice,
    /// How the rows are protected, if they are.
    pub privacy: Option<VoteChoice>,
    /// Folds that intervals are calibrated by.
    pub calibrate: Option<usize>,
    /// For the report.
    pub naming: Naming,
    /// Where results go.
    pub output: Output,
}

/// Rows without labels on which predictions are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum PublicChoice {
    /// Those of a file.
    File(PathBuf),
    /// Rows in memory: one set for all nodes, or one for each.
    Given(Vec<Matrix>),
    /// So many for every node, drawn from what it shares about its features.
    Drawn(PublicSource, usize),
}

impl RelaxRequest {
    /// True if settings ask for models of any class.
    pub fn is_meant(settings: &Settings) -> bool {
        settings.has("model") || settings.path("models").is_some()
    }

    /// A fit of files, alone (`Job::Fit`) or by a federation (`Job::Up`).
    pub fn of_files(settings: &Settings, job: Job) -> Result<(RelaxRequest, InputSpec)> {
        settings.check_job(job)?;
        let reader = settings.reader();
        let request = RelaxRequest::read(settings, &reader, job)?;
        let spec = request.input_spec(&reader)?;
        super::federation_keys(&reader, job);
        reader.finish(not_with_models)?;
        Ok((request, spec))
    }

    /// A fit of rows in memory, with public rows in memory if there are any.
    pub fn of_memory(settings: &Settings, public: Option<Vec<Matrix>>) -> Result<RelaxRequest> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let mut request = RelaxRequest::read(settings, &reader, Job::Fit)?;
        request.time_limit = reader.number_from("time-limit", 0.0)?;
        request.give(public);
        reader.finish(not_with_models)?;
        Ok(request)
    }

    /// The models of `fedweave compare --model`, which choose lambda for themselves; `None` if there are none.
    pub(super) fn beside(settings: &Settings, reader: &Reader) -> Result<Option<RelaxRequest>> {
        if reader.text("model").is_none() {
            return Ok(None);
        }
        let others: Vec<&str> =
            settings.names().filter(|name| !["model", "seed", "standardize"].contains(name)).collect();
        let own = settings.clone().without(&others);
        RelaxRequest::read(&own, &own.reader(), Job::Fit).map(Some)
    }

    /// Public rows that are in memory already.
    pub(super) fn give(&mut self, public: Option<Vec<Matrix>>) {
        if let Some(rows) = public {
            self.public = PublicChoice::Given(rows);
        }
    }

    pub(super) fn read(settings: &Settings, reader: &Reader, job: Job) -> Result<RelaxRequest> {
        if let Some(k) = reader.count("models") {
            refuse!("--models {k}: give a table with columns node, model, options; a number belongs to --solver ifca");
        }
        let spec = |text: &str| text.parse::<ModelSpec>().map_err(|e| Error::Request(format!("--model: {e}")));
        let classify = reader.choice("task", &[("regression", false), ("classification", true)])?;
        let LambdaChoice { fixed: lambda, grid, .. } = LambdaChoice::read_without_rule(reader)?;
        let why = if job == Job::Fit && lambda.is_none() { Why::Choose } else { Why::Asked };
        Ok(RelaxRequest {
            default: reader.text("model").map(spec).transpose()?,
            models: reader.path("models"),
            grid: grid.unwrap_or_else(|| GRID.to_vec()),
            rounds: reader.count("rounds").unwrap_or(ROUNDS),
            options: RelaxOptions {
                order: reader.choice("order", &RelaxOptions::ORDERS)?,
                judged_on: reader.choice("judged-on", &RelaxOptions::JUDGED_ON)?,
                weighting: reader.choice("row-weights", &RelaxOptions::WEIGHTINGS)?,
                distil: reader.count("distil").unwrap_or(0),
                seed: reader.count("seed").unwrap_or(0) as u64,
                ..RelaxOptions::default()
            },
            privacy: VoteChoice::read(reader, classify, reader.text("target").unwrap_or(super::TARGET))?,
            public: public(reader)?,
            held_out: HeldOutChoice::read(reader, why)?,
            calibrate: calibration_folds(reader)?,
            track: true,
            time_limit: None,
            standardize: reader.flag("standardize"),
            strict: reader.flag("strict"),
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            classify,
            lambda,
        })
    }

    pub(super) fn input_spec(&self, reader: &Reader) -> Result<InputSpec> {
        let kind = if self.classify { TargetKind::Class } else { TargetKind::Number };
        Ok(InputSpec { guarded: self.privacy.is_some(), ..input_spec(reader, kind, false, Vec::new())? })
    }

    /// Refuses a federation that parts cannot follow.
    pub fn check_federation(&self) -> Result<f64> {
        require!(
            !self.naming.settings.has("order") || self.options.order != Order::InTurn,
            "--order in-turn belongs to `fedweave fit`: parts work together, with all rows, and may have to start again"
        );
        require!(self.rounds > 0, "--rounds 0: a federation needs at least one round");
        self.lambda.ok_or_else(|| {
            Error::request("--lambda: a federation needs a number; `fedweave fit --model` chooses one on held-out rows")
        })
    }
}

fn public(reader: &Reader) -> Result<PublicChoice> {
    let (file, rows, named) = (reader.path("public"), reader.count("public-rows"), reader.has("public-from"));
    let source = reader.choice("public-from", &PublicSource::NAMES)?;
    require!(rows != Some(0), "--public-rows 0: at least one row is needed to compare predictions on");
    require!(
        file.is_none() || (rows.is_none() && !named),
        "--public names the rows: leave out --public-rows and --public-from"
    );
    Ok(file.map_or(PublicChoice::Drawn(source, rows.unwrap_or(PUBLIC_ROWS)), PublicChoice::File))
}

/// Why a key has no effect on such models.
pub(super) fn not_with_models(_: &Key) -> String {
    "does not go with --model: models of any class are fitted by their own rules and coupled by predictions".into()
}
