//! Does the network help? Local-only, one global model, networked, shuffled graph.

use fedweave::baseline::RIDGES;
use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave::solve;
use fedweave_io::InputSpec;

use super::data::{input_spec, target_kind};
use super::fit::FitRequest;
use super::folds::FoldChoice;
use super::graph::GraphChoice;
use super::held_out::{HeldOutChoice, Why, fallback};
use super::keys::{Job, find};
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
    /// Also the network with a way back to local models, for this share of nodes that may be hurt.
    pub fallback: Option<f64>,
    /// The strength of the coupling.
    pub lambda: LambdaChoice,
    /// When to stop.
    pub solve: solve::Settings,
    /// Rows to hold out.
    pub held_out: HeldOutChoice,
    /// Number of splits.
    pub splits: usize,
    /// Leave out whole nodes, instead of rows of all.
    pub leave: Option<LeaveNodes>,
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
        require!(request.leave.is_none(), "--leave-nodes needs files");
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
            fallback: fallback(reader)?,
            lambda: LambdaChoice::read(reader)?,
            held_out: HeldOutChoice::read(reader, Why::Compare)?,
            folds: reader.has("folds").then(|| FoldChoice::read(reader, 0)).transpose()?,
            rivals: reader.choice("rivals", &[("all", true), ("none", false)])?,
            tune: TuneRequest::beside(first, reader, &model)?,
            leave: LeaveNodes::read(first, reader)?,
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            model,
            solve,
            splits,
        })
    }
}

/// Whole nodes are left out, and join the models of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaveNodes {
    /// A share of them at a time, or a number.
    size: f64,
    /// How the others are fitted.
    pub given: FitRequest,
    /// The same with the learnt coupling.
    pub learnt: Option<FitRequest>,
}

impl LeaveNodes {
    fn read(settings: &Settings, reader: &Reader) -> Result<Option<LeaveNodes>> {
        let Some(size) = reader.number("leave-nodes") else { return Ok(None) };
        let fine = size > 0.0 && (size < 1.0 || size.fract() == 0.0);
        require!(fine, "--leave-nodes {size}: give a share below 1, e.g. 0.1, or a number of nodes");
        for flag in ["folds", "tune", "model", "fallback", "splits", "split-file"] {
            require!(!reader.has(flag), "--leave-nodes does not go with --{flag}: whole nodes are left out in turn");
        }
        let of_fit = |name: &&str| find(name).is_some_and(|key| key.is_for(Job::Fit)) && *name != "validation";
        let foreign: Vec<&str> = settings.names().filter(|name| !of_fit(name)).collect();
        // The graph and the columns are read already; a list of ridges is for methods without a network.
        let plain = settings.clone().without(&foreign).without(&["ridge", "out", "overwrite", "watch"]);
        let learnt = plain.clone().without(&["penalty", "lambda", "hub", "penalty-matrix", "block", "reach", "solver"]);
        let learnt = learnt.without(&["lambda-grid", "lambda-rule", "intercept-weight", "lasso"]);
        let learnt = learnt.with("coupling", Value::Text("learnt".into()));
        let fit = |settings: &Settings| FitRequest::read(settings, &settings.reader(), None, Job::Fit);
        let rivals = reader.text("rivals") != Some("none");
        let learnt = if rivals { fit(&learnt).ok() } else { None };
        Ok(Some(LeaveNodes { size, given: fit(&plain)?, learnt }))
    }

    /// How many times nodes are left out, until every one was.
    pub fn turns(&self, nodes: usize) -> usize {
        match self.size < 1.0 {
            true => ((1.0 / self.size).round() as usize).min(nodes),
            false => (nodes as f64 / self.size).ceil() as usize,
        }
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
