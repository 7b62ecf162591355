//! Does the network help? Local-only, one global model, networked, shuffled graph.

use fedweave::baseline::RIDGES;
use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave::solve;
use fedweave_io::InputSpec;

use super::data::{input_spec, target_kind};
use super::folds::FoldChoice;
use super::graph::GraphChoice;
use super::held_out::{HeldOutChoice, Why};
use super::keys::Job;
use super::lambda::LambdaChoice;
use super::model::ModelChoice;
use super::penalty::PenaltyChoice;
use super::relax::RelaxRequest;
use super::rounds::RoundsChoice;
use super::settings::{Reader, Settings, Value};
use super::tune::TuneRequest;
use super::{Naming, Output, solver, unread};
use crate::error::{Result, require};

/// Relative accuracy of every solve: errors on test rows do not depend on the last digits.
const TOLERANCE: f64 = 1e-5;

/// Compare methods on held-out rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareRequest {
    /// Losses and penalty; every method chooses its own ridge.
    pub model: ModelChoice,
    /// Penalties that are tried beside the first.
    pub more_penalties: Vec<PenaltyChoice>,
    /// Models of any class that are also judged.
    pub models: Option<RelaxRequest>,
    /// How the graph of every split is learnt; `None`: it is given.
    pub graph: Option<GraphChoice>,
    /// Also the network with a way back to local models.
    pub fallback: bool,
    /// The strength of the coupling.
    pub lambda: LambdaChoice,
    /// When to stop.
    pub solve: solve::Settings,
    /// Rows to hold out.
    pub held_out: HeldOutChoice,
    /// Number of splits.
    pub splits: usize,
    /// Folds to choose by, instead of the rows held out to validate.
    pub folds: Option<FoldChoice>,
    /// Also what would be used instead.
    pub rivals: bool,
    /// Also what a race finds.
    pub tune: Option<TuneRequest>,
    /// For the report.
    pub naming: Naming,
    /// Where results go.
    pub output: Output,
}

impl CompareRequest {
    /// A comparison on files.
    pub fn of_files(settings: &Settings) -> Result<(CompareRequest, InputSpec)> {
        settings.check_job(Job::Compare)?;
        let (first, others) = penalties(settings);
        let reader = first.reader();
        let request = CompareRequest::read(settings, &first, &others, &reader, None)?;
        let spec = input_spec(&reader, target_kind(request.model.family), request.model.intercept(), Vec::new())?;
        reader.finish(unread)?;
        Ok((request, spec))
    }

    /// A comparison on rows in memory.
    pub fn of_memory(settings: &Settings, matrix: Option<Matrix>) -> Result<CompareRequest> {
        settings.check_job(Job::Compare)?;
        let (first, others) = penalties(settings);
        let reader = first.reader();
        let request = CompareRequest::read(settings, &first, &others, &reader, matrix)?;
        reader.finish(unread)?;
        Ok(request)
    }

    fn read(
        settings: &Settings,
        first: &Settings,
        others: &[Settings],
        reader: &Reader,
        matrix: Option<Matrix>,
    ) -> Result<CompareRequest> {
        let model = ModelChoice::read(reader, &RIDGES, matrix.clone())?;
        let more = others.iter().map(|other| PenaltyChoice::read(&other.reader(), matrix.clone()));
        let more_penalties: Vec<PenaltyChoice> = more.collect::<Result<_>>()?;
        let mut names: Vec<&str> = more_penalties.iter().chain([&model.penalty]).map(PenaltyChoice::name).collect();
        names.sort_unstable();
        require!(names.windows(2).all(|pair| pair[0] != pair[1]), "--penalty: each one once");
        let models = RelaxRequest::beside(first, reader)?;
        require!(
            models.is_none() || model.family == Family::Squared,
            "--model: models of any class are compared where the loss is squared"
        );
        require!(model.family != Family::Point, "compare predicts a target; the point loss has none");
        let solver = || reader.text("solver").unwrap_or_default();
        require!(RoundsChoice::read(reader)?.is_none(), "--solver {} belongs to `fedweave fit`", solver());
        let splits = reader.count("splits").unwrap_or(1);
        require!(splits > 0, "--splits must be at least 1");
        require!(
            splits == 1 || reader.text("split") != Some("last"),
            "--split last holds out the same rows in every split: leave out --splits, or draw rows (--split random, --split-by)"
        );
        let mut solve = solver::read(reader)?;
        solve.tolerance = reader.number("tolerance").unwrap_or(TOLERANCE);
        let graph = GraphChoice::read(reader, &model)?;
        for flag in ["folds", "tune"] {
            require!(
                graph.is_none() || !reader.has(flag),
                "--graph learn does not go with --{flag}: a graph is learnt from the training rows of a split, once"
            );
        }
        Ok(CompareRequest {
            more_penalties,
            models,
            graph,
            fallback: reader.flag("fallback"),
            lambda: LambdaChoice::read(reader)?,
            held_out: HeldOutChoice::read(reader, Why::Compare)?,
            folds: reader.has("folds").then(|| FoldChoice::read(reader, 0)).transpose()?,
            rivals: reader.choice("rivals", &[("all", true), ("none", false)])?,
            tune: TuneRequest::beside(first, reader, &model)?,
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            model,
            solve,
            splits,
        })
    }
}

/// The settings with the first penalty of a list, and with each of the others.
fn penalties(settings: &Settings) -> (Settings, Vec<Settings>) {
    let Some(Value::Text(list)) = settings.get("penalty") else { return (settings.clone(), Vec::new()) };
    let with = |name: &str| settings.clone().with("penalty", Value::Text(name.trim().to_owned()));
    let mut each = list.split(',').map(with);
    let first = each.next().unwrap_or_else(|| settings.clone());
    (first, each.collect())
}
