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
use super::held_out::{HeldOutChoice, Why, calibration_folds, fallback};
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
    /// Nodes keep their local models, so that at most this share is hurt.
    pub fallback: Option<f64>,
    /// Edges are left out over which a neighbour is so many times as bad as usual, to this node and to all who hear it.
    pub screen: Option<f64>,
    /// Folds that intervals are calibrated by.
    pub calibrate: Option<usize>,
    /// What users expect models to say.
    pub guesses: Option<GuessChoice>,
    /// Groups whose errors are evened out.
    pub fair: Option<FairChoice>,
    /// Go on from the checkpoint of this run directory.
    pub resume: Option<PathBuf>,
    /// Start from the models of this run directory, whose nodes may be others.
    pub warm: Option<PathBuf>,
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
        let privacy = PrivacyChoice::read(reader, job)?;
        let folds = reader.has("folds").then(|| FoldChoice::read(reader, 0)).transpose()?;
        let held_out = match &folds {
            Some(folds) => HeldOutChoice::in_turn(folds),
            None if privacy.is_some() => HeldOutChoice::read(reader, Why::Asked)?,
            None => HeldOutChoice::read(reader, why_hold_out(job, coupling, &lambda))?,
        };
        let request = FitRequest {
            graph: GraphChoice::read(reader, &model)?,
            structure: StructureChoice::read(reader, coupling)?,
            form: read_form(reader, coupling)?,
            parts: match (job, coupling) {
                (Job::Fit, CouplingChoice::Learnt) => reader.count("parts"),
                _ => None,
            },
            hub: reader.number("hub"),
            solve: solver::read(reader)?,
            time_limit: reader.number_from("time-limit", 0.0)?,
            rounds: RoundsChoice::read(reader)?,
            fallback: fallback(reader)?,
            screen: reader.number("screen"),
            calibrate: calibration_folds(reader)?,
            guesses: GuessChoice::read(reader)?,
            fair: FairChoice::read(reader)?,
            resume: reader.path("resume"),
            warm: reader.path("warm"),
            naming: Naming::read(settings, reader),
            output: Output::read(reader)?,
            model,
            lambda,
            coupling,
            held_out,
            privacy,
            folds,
        };
        request.check_coupling()?;
        request.check_held_out(reader)?;
        request.check_resume(reader)?;
        request.check_privacy()?;
        request.check_graph()?;
        request.check_screen()?;
        request.check_fallback()?;
        Ok(request)
    }

    fn is_learnt(&self) -> bool {
        self.coupling == CouplingChoice::Learnt
    }

    fn check_coupling(&self) -> Result<()> {
        if let Some(share) = self.hub {
            require!(share > 0.0 && share <= 1.0, "--hub {share}: must be above 0 and at most 1");
        }
        require!(self.parts != Some(0), "--parts 0: at least 1");
        Ok(())
    }

    fn check_held_out(&self, reader: &Reader) -> Result<()> {
        if self.folds.is_some() {
            require!(self.rounds.is_none(), "--folds does not go with a solver that exchanges messages");
            require!(
                !reader.has("validation"),
                "give --folds (every row is held out once) or --validation (one share of them), not both"
            );
        }
        Ok(())
    }

    fn check_resume(&self, reader: &Reader) -> Result<()> {
        if self.warm.is_some() {
            require!(self.resume.is_none(), "give --warm or --resume, not both");
            require!(self.hub.is_none(), "--warm does not go with --hub");
            require!(self.rounds.is_none(), "--warm does not go with a solver that exchanges messages");
            require!(self.privacy.is_none(), "--warm does not go with --dp-epsilon");
            let learnt = self.coupling == CouplingChoice::Learnt;
            require!(!learnt, "--warm does not go with --coupling learnt, which learns its problem first");
        }
        if self.resume.is_some() {
            require!(self.hub.is_none(), "--resume does not go with --hub");
            require!(
                self.rounds.is_none(),
                "--resume does not go with --solver {}",
                reader.text("solver").unwrap_or_default()
            );
        }
        Ok(())
    }

    fn check_privacy(&self) -> Result<()> {
        require!(
            self.privacy.is_none() || self.model.options.lasso == 0.0,
            "--lasso does not go with --dp-epsilon: the proof of how far a row moves the models is for --ridge"
        );
        Ok(())
    }

    fn check_graph(&self) -> Result<()> {
        let in_the_way = [
            (self.is_learnt(), "--coupling learnt"),
            (self.folds.is_some(), "--folds"),
            (self.privacy.is_some(), "--dp-epsilon"),
        ];
        for (there, flag) in in_the_way.into_iter().filter(|_| self.graph.is_some()) {
            require!(
                !there,
                "--graph learn does not go with {flag}: write the graph first (fedweave graph learn ... --out edges.csv), \
                 then give --edges edges.csv"
            );
        }
        Ok(())
    }

    fn check_screen(&self) -> Result<()> {
        let Some(factor) = self.screen else { return Ok(()) };
        require!(factor > 1.0 && factor.is_finite(), "--screen {factor}: must be a number above 1, e.g. 3");
        require!(
            !self.is_learnt() && self.hub.is_none(),
            "--screen does not go with --coupling learnt and --hub, where a node has more than neighbours"
        );
        require!(
            self.privacy.is_none(),
            "--screen does not go with --dp-epsilon: which edges are left out tells about rows"
        );
        require!(self.resume.is_none(), "--screen does not go with --resume");
        require!(self.guesses.is_none(), "--screen does not go with --guesses");
        require!(self.fair.is_none(), "--screen does not go with --fair");
        Ok(())
    }

    fn check_fallback(&self) -> Result<()> {
        if self.fallback.is_none() {
            return Ok(());
        }
        let chosen = self.lambda.fixed.is_none() || self.held_out.asked;
        let judged = self.folds.is_some() || self.held_out.spec.is_some() && chosen;
        require!(judged, "--fallback judges every node on held-out rows: give --validation 0.2");
        require!(self.privacy.is_none(), "--fallback does not go with --dp-epsilon: errors on rows tell about them");
        require!(self.guesses.is_none(), "--fallback does not go with --guesses: local models know no guesses");
        require!(
            self.calibrate.is_none(),
            "--fallback does not go with --calibrate: its models are chosen on the rows held out"
        );
        Ok(())
    }

    pub(super) fn input_spec(&self, reader: &Reader, mut per_node: Vec<String>) -> Result<InputSpec> {
        per_node.extend(self.model.loss_column.clone());
        let spec = input_spec(reader, target_kind(self.model.family), self.model.intercept(), per_node)?;
        let protected = self.fair.as_ref().map(|fair| fair.column.clone());
        Ok(InputSpec { protected, guarded: self.privacy.is_some(), ..spec })
    }
}

fn why_hold_out(job: Job, coupling: CouplingChoice, lambda: &LambdaChoice) -> Why {
    match (job, coupling) {
        (Job::Fit, CouplingChoice::Learnt) => Why::Learnt,
        (Job::Fit, CouplingChoice::Given) if lambda.fixed.is_none() => Why::Choose,
        // Harm is measured on rows that models have not seen.
        (Job::Attack, _) => Why::Choose,
        _ => Why::Asked,
    }
}
