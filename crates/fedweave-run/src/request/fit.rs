//! A model at every node.

use std::path::PathBuf;

use fedweave::learn::coupling::FormChoice;
use fedweave::matrix::Matrix;
use fedweave::solve;
use fedweave_io::InputSpec;

use super::coupling::{CouplingChoice, StructureChoice, read_form};
use super::data::{input_spec, target_kind};
use super::fair::FairChoice;
use super::folds::FoldChoice;
use super::graph::GraphChoice;
use super::guesses::GuessChoice;
use super::held_out::{HeldOutChoice, Why, calibration_folds};
use super::keys::Job;
use super::lambda::LambdaChoice;
use super::model::ModelChoice;
use super::privacy::PrivacyChoice;
use super::rounds::RoundsChoice;
use super::settings::{Reader, Settings};
use super::{Naming, Output, solver, unread};
use crate::error::{Result, require};

/// Fit a model at every node.
#[derive(Debug, Clone, PartialEq)]
pub struct FitRequest {
    /// Losses and penalty.
    pub model: ModelChoice,
    /// How the graph is learnt; `None`: it is given.
    pub graph: Option<GraphChoice>,
    /// The strength of the coupling.
    pub lambda: LambdaChoice,
    /// Where the coupling comes from.
    pub coupling: CouplingChoice,
    /// Covariances of the models that a learnt coupling has.
    pub structure: StructureChoice,
    /// What a difference of models costs with a learnt coupling.
    pub form: FormChoice,
    /// Learn the coupling as so many parts of a federation would.
    pub parts: Option<usize>,
    /// Share of a common mean in the coupling; the graph has the rest.
    pub hub: Option<f64>,
    /// When to stop.
    pub solve: solve::Settings,
    /// Seconds for all of it.
    pub time_limit: Option<f64>,
    /// The solver, if it exchanges messages; lambda is then chosen by the default one.
    pub rounds: Option<RoundsChoice>,
    /// Rows to hold out.
    pub held_out: HeldOutChoice,
    /// What the rows are protected by.
    pub privacy: Option<PrivacyChoice>,
    /// Folds to choose and to judge by, instead of one share of the rows.
    pub folds: Option<FoldChoice>,
    /// Nodes whose held-out rows speak for their local models keep these.
    pub fallback: bool,
    /// Folds that intervals are calibrated by.
    pub calibrate: Option<usize>,
    /// What users expect models to say.
    pub guesses: Option<GuessChoice>,
    /// Groups whose errors are evened out.
    pub fair: Option<FairChoice>,
    /// Go on from the checkpoint of this run directory.
    pub resume: Option<PathBuf>,
    /// For the report.
    pub naming: Naming,
    /// Where results go.
    pub output: Output,
}

impl FitRequest {
    /// A fit of files.
    pub fn of_files(settings: &Settings) -> Result<(FitRequest, InputSpec)> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let request = FitRequest::read(settings, &reader, None, Job::Fit)?;
        let spec = request.input_spec(&reader, Vec::new())?;
        reader.finish(unread)?;
        Ok((request, spec))
    }

    /// A fit of rows in memory; `matrix` is that of the quadratic penalty.
    pub fn of_memory(settings: &Settings, matrix: Option<Matrix>) -> Result<FitRequest> {
        settings.check_job(Job::Fit)?;
        let reader = settings.reader();
        let request = FitRequest::read(settings, &reader, matrix, Job::Fit)?;
        reader.finish(unread)?;
        Ok(request)
    }

    /// Everything but the files.
    pub(super) fn read(settings: &Settings, reader: &Reader, matrix: Option<Matrix>, job: Job) -> Result<FitRequest> {
        let model = ModelChoice::read(reader, &[0.0], matrix)?;
        model.one_ridge()?;
        let lambda = LambdaChoice::read(reader)?;
        let coupling = CouplingChoice::read(reader)?;
        let why = match (job, coupling) {
            (Job::Fit, CouplingChoice::Learnt) => Why::Learnt,
            (Job::Fit, CouplingChoice::Given) if lambda.fixed.is_none() => Why::Choose,
            _ => Why::Asked,
        };
        let hub = reader.number("hub");
        if let Some(share) = hub {
            require!(share > 0.0 && share <= 1.0, "--hub {share}: must be above 0 and at most 1");
        }
        let parts = match (job, coupling) {
            (Job::Fit, CouplingChoice::Learnt) => reader.count("parts"),
            _ => None,
        };
        require!(parts != Some(0), "--parts 0: at least 1");
        let rounds = RoundsChoice::read(reader)?;
        let resume = reader.path("resume");
        require!(hub.is_none() || resume.is_none(), "--resume does not go with --hub");
        require!(
            rounds.is_none() || resume.is_none(),
            "--resume does not go with --solver {}",
            reader.text("solver").unwrap_or_default()
        );
        let folds = reader.has("folds").then(|| FoldChoice::read(reader, 0)).transpose()?;
        require!(folds.is_none() || rounds.is_none(), "--folds does not go with a solver that exchanges messages");
        require!(
            folds.is_none() || !reader.has("validation"),
            "give --folds (every row is held out once) or --validation (one share of them), not both"
        );
        let privacy = PrivacyChoice::read(reader)?;
        let graph = GraphChoice::read(reader, &model)?;
        let learnt = coupling == CouplingChoice::Learnt;
        let in_the_way =
            [(learnt, "--coupling learnt"), (folds.is_some(), "--folds"), (privacy.is_some(), "--dp-epsilon")];
        for (there, flag) in in_the_way.into_iter().filter(|_| graph.is_some()) {
            require!(
                !there,
                "--graph learn does not go with {flag}: write the graph first (fedweave graph learn ... --out edges.csv), \
                 then give --edges edges.csv"
            );
        }
        let held_out = match &folds {
            Some(folds) => HeldOutChoice::in_turn(folds),
            None => HeldOutChoice::read(reader, if privacy.is_some() { Why::Asked } else { why })?,
        };
        let fallback = reader.flag("fallback");
        let guesses = GuessChoice::read(reader)?;
        let fair = FairChoice::read(reader)?;
        let calibrate = calibration_folds(reader)?;
        if fallback {
            let judged = folds.is_some() || held_out.spec.is_some() && (lambda.fixed.is_none() || held_out.asked);
            require!(judged, "--fallback judges every node on held-out rows: give --validation 0.2");
            require!(privacy.is_none(), "--fallback does not go with --dp-epsilon: errors on rows tell about them");
            require!(guesses.is_none(), "--fallback does not go with --guesses: local models know no guesses");
            require!(
                calibrate.is_none(),
                "--fallback does not go with --calibrate: its models are chosen on the rows held out"
            );
        }
        Ok(FitRequest {
            graph,
            fallback,
            structure: StructureChoice::read(reader, coupling)?,
            form: read_form(reader, coupling)?,
            held_out,
            folds,
            privacy,
            calibrate,
            guesses,
            fair,
            solve: solver::read(reader)?,
            time_limit: reader.number_from("time-limit", 0.0)?,
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            model,
            lambda,
            coupling,
            parts,
            hub,
            rounds,
            resume,
        })
    }

    pub(super) fn input_spec(&self, reader: &Reader, mut per_node: Vec<String>) -> Result<InputSpec> {
        per_node.extend(self.model.loss_column.clone());
        let spec = input_spec(reader, target_kind(self.model.family), self.model.intercept(), per_node)?;
        Ok(InputSpec { protected: self.fair.as_ref().map(|fair| fair.column.clone()), ..spec })
    }
}
