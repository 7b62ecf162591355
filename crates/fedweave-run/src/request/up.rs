//! A fit by a federation of processes.

use std::path::PathBuf;

use fedweave_io::InputSpec;

use super::coupling::CouplingChoice;
use super::fit::FitRequest;
use super::keys::Job;
use super::relax::RelaxRequest;
use super::settings::{Reader, Settings};
use super::unread;
use crate::error::{Error, Result, require};

/// Fit by processes that keep their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct UpRequest {
    /// What is fitted; lambda is fixed.
    pub fit: FitRequest,
    /// The strength of the coupling; `None` where the parts learn it.
    pub lambda: Option<f64>,
    /// The method of the parts.
    pub method: UpMethod,
    /// Exactly so many rounds; `None`: until the tolerance.
    pub rounds: Option<usize>,
}

/// A method that parts can follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpMethod {
    /// Primal-dual message passing, with this ratio of steps and relaxation.
    PrimalDual(f64, f64),
    /// Gradient descent, with this step or a safe one.
    FedGd(Option<f64>),
    /// Block coordinate minimisation.
    FedRelax,
    /// Gradient descent out of step: the step, and how many rounds parts may be apart.
    AsyncFedGd(Option<f64>, usize),
}

/// How processes are started.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchChoice {
    /// Number of processes.
    pub parts: usize,
    /// Keep the files in this new folder.
    pub work: Option<PathBuf>,
    /// Address of each part.
    pub hosts: Option<Vec<String>>,
    /// First port.
    pub port: Option<u16>,
    /// Write the files and stop.
    pub prepare: bool,
    /// Keep the frames that are sent.
    pub record_frames: bool,
    /// No certificates.
    pub loopback_plaintext: bool,
    /// What to do when a neighbour is dead.
    pub policy: Option<String>,
    /// The seed that the seeds of all nodes follow from.
    pub seed: u64,
}

impl LaunchChoice {
    /// How processes are started.
    pub fn of(settings: &Settings) -> Result<LaunchChoice> {
        let reader = settings.reader();
        let port = reader.count("port");
        let small = port.map(u16::try_from).transpose();
        let port = small.map_err(|_| Error::Request(format!("--port {}: at most 65535", port.unwrap_or(0))))?;
        Ok(LaunchChoice {
            parts: reader.count("parts").unwrap_or(4),
            work: reader.path("work"),
            hosts: reader.texts("hosts"),
            port,
            prepare: reader.flag("prepare"),
            record_frames: reader.flag("record-frames"),
            loopback_plaintext: reader.flag("loopback-plaintext"),
            policy: reader.string("policy"),
            seed: reader.count("seed").unwrap_or(0) as u64,
        })
    }
}

impl UpRequest {
    /// A fit of files by processes.
    pub fn of_files(settings: &Settings) -> Result<(UpRequest, InputSpec)> {
        settings.check_job(Job::Up)?;
        let reader = settings.reader();
        let method = UpMethod::read(&reader)?;
        let rounds = reader.count("rounds");
        let fit = FitRequest { rounds: None, ..FitRequest::read(settings, &reader, None, Job::Up)? };
        let lambda = fit.lambda.fixed;
        require!(
            lambda.is_some() || fit.coupling == CouplingChoice::Learnt,
            "--lambda: a federation needs a number; `fedweave fit` chooses one on held-out rows, and \
             --coupling learnt needs none"
        );
        let unknown_step = matches!(method, UpMethod::FedGd(None) | UpMethod::AsyncFedGd(None, _));
        require!(
            fit.privacy.is_none() || !unknown_step,
            "--solver {}: with --dp-epsilon give --step NUMBER: the step that never diverges follows from the rows, and every part is told it",
            reader.text("solver").unwrap_or_default()
        );
        let spec = fit.input_spec(&reader, Vec::new())?;
        super::federation_keys(&reader, Job::Up);
        reader.finish(unread)?;
        Ok((UpRequest { fit, lambda, method, rounds }, spec))
    }

    /// Models of any class by processes.
    pub fn models_of_files(settings: &Settings) -> Result<(RelaxRequest, InputSpec, f64)> {
        let (request, spec) = RelaxRequest::of_files(settings, Job::Up)?;
        let lambda = request.check_federation()?;
        Ok((request, spec, lambda))
    }
}

impl UpMethod {
    fn read(reader: &Reader) -> Result<UpMethod> {
        let known = ["primal-dual", "fedgd", "fedrelax", "async-fedgd"];
        let name = reader.text("solver").unwrap_or(known[0]);
        require!(known.contains(&name), "--solver {name}: a federation knows {}", known.join(", "));
        let in_turn = reader.text("order") == Some("in-turn");
        require!(!in_turn, "--order in-turn belongs to `fedweave fit`: parts work together");
        Ok(match name {
            "fedgd" => UpMethod::FedGd(reader.number("step")),
            "fedrelax" => UpMethod::FedRelax,
            "async-fedgd" => UpMethod::AsyncFedGd(reader.number("step"), reader.count("delay-max").unwrap_or(5)),
            _ => UpMethod::PrimalDual(
                reader.positive("step-ratio")?.unwrap_or(1.0),
                reader.number("relaxation").unwrap_or(fedweave::solve::Settings::default().relaxation),
            ),
        })
    }
}
