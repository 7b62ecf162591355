//! Without a graph: nodes ask others, drawn at random, and learn from those whose answers help.

use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave_io::InputSpec;

use super::fit::FitRequest;
use super::held_out::HeldOutChoice;
use super::keys::Job;
use super::relax::{RelaxRequest, not_with_models};
use super::settings::{Reader, Settings};
use super::{Naming, Output, unread};
use crate::error::{Result, require};

/// Rounds, if nobody says how many; gradient steps may need more.
pub const ROUNDS: usize = 100;

/// Let nodes ask others.
#[derive(Debug, Clone, PartialEq)]
pub struct AskRequest {
    /// Who asks; `None`: every node.
    pub askers: Option<Vec<String>>,
    /// How many others are asked in a round.
    pub candidates: Option<usize>,
    /// Number of rounds, if somebody said so.
    pub rounds: Option<usize>,
    /// Step of an answer, or what rows of others weigh.
    pub eta: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Keep every answer, however many nodes ask.
    pub tell_all: bool,
    /// What is learnt.
    pub learner: Learner,
}

/// What is learnt.
#[derive(Debug, Clone, PartialEq)]
pub enum Learner {
    /// Parameters, by gradient steps.
    Gradients(Box<FitRequest>),
    /// Models of any class, by fits.
    Fits(Box<RelaxRequest>),
}

impl AskRequest {
    /// Asking among the nodes of files.
    pub fn of_files(settings: &Settings) -> Result<(AskRequest, InputSpec)> {
        settings.check_job(Job::Ask)?;
        let reader = settings.reader();
        let fits = RelaxRequest::is_meant(settings);
        let request = AskRequest::read(settings, &reader, fits)?;
        let spec = match &request.learner {
            Learner::Gradients(fit) => fit.input_spec(&reader, Vec::new())?,
            Learner::Fits(relax) => relax.input_spec(&reader)?,
        };
        reader.finish(if fits { not_with_models } else { unread })?;
        Ok((request, spec))
    }

    /// Asking among nodes whose rows are in memory, about linear models or (`fits`) models of any class, with public rows in
    /// memory if there are any. Every answer is kept.
    pub fn of_memory(settings: &Settings, fits: bool, public: Option<Vec<Matrix>>) -> Result<AskRequest> {
        settings.check_job(Job::Ask)?;
        let reader = settings.reader();
        let mut request = AskRequest { tell_all: true, ..AskRequest::read(settings, &reader, fits)? };
        if let Learner::Fits(relax) = &mut request.learner {
            relax.give(public);
        }
        reader.finish(if fits { not_with_models } else { unread })?;
        Ok(request)
    }

    fn read(settings: &Settings, reader: &Reader, fits: bool) -> Result<AskRequest> {
        let rounds = reader.count("rounds");
        require!(rounds != Some(0), "--rounds 0: a node that never asks learns nothing; give at least 1");
        let eta = reader.number("eta");
        if let Some(eta) = eta {
            require!(eta > 0.0 && eta.is_finite(), "--eta {eta}: must be positive and finite");
        }
        let learner = match fits {
            true => {
                // Nothing is coupled, so there is no lambda to choose.
                let request = RelaxRequest { lambda: Some(0.0), ..RelaxRequest::read(settings, reader, Job::Ask)? };
                Learner::Fits(Box::new(request))
            }
            false => {
                let request = FitRequest::read(settings, reader, None, Job::Ask)?;
                let point = request.model.family == Family::Point;
                require!(!point, "an answer is judged by a target; the point loss has none");
                Learner::Gradients(Box::new(request))
            }
        };
        Ok(AskRequest {
            askers: reader.texts("asker"),
            candidates: reader.count("candidates"),
            seed: reader.count("seed").unwrap_or(0) as u64,
            tell_all: false,
            rounds,
            eta,
            learner,
        })
    }

    /// For the report.
    pub fn naming(&self) -> &Naming {
        match &self.learner {
            Learner::Gradients(request) => &request.naming,
            Learner::Fits(request) => &request.naming,
        }
    }

    /// The same, to be changed.
    pub fn naming_mut(&mut self) -> &mut Naming {
        match &mut self.learner {
            Learner::Gradients(request) => &mut request.naming,
            Learner::Fits(request) => &mut request.naming,
        }
    }

    /// Where results go.
    pub fn output(&self) -> &Output {
        match &self.learner {
            Learner::Gradients(request) => &request.output,
            Learner::Fits(request) => &request.output,
        }
    }

    /// Rows to hold out.
    pub fn held_out(&self) -> &HeldOutChoice {
        match &self.learner {
            Learner::Gradients(request) => &request.held_out,
            Learner::Fits(request) => &request.held_out,
        }
    }
}
