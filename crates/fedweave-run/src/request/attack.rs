//! How much it takes to do harm.

use fedweave::matrix::Matrix;
use fedweave::trust::attack::Lie;
use fedweave_io::InputSpec;

use super::coupling::CouplingChoice;
use super::keys::Job;
use super::rounds::RoundsMethod;
use super::settings::{Reader, Settings};
use super::{FitRequest, unread};
use crate::error::{Error, Result, refuse, require};

/// Rounds in which attackers lie; a learnt metric, with its common mean, takes longer to settle.
const ROUNDS: usize = 400;
const ROUNDS_LEARNT: usize = 4_000;

/// What is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttackKind {
    /// Labels of rows.
    Label,
    /// Features of rows.
    Feature,
    /// Features of rows whose labels stay true.
    CleanLabel,
    /// Rows with a trigger.
    Backdoor,
    /// What is sent in rounds.
    Model,
    /// That anything is sent at all.
    Dos,
}

impl AttackKind {
    const NAMES: [(&'static str, AttackKind); 6] = [
        ("label", AttackKind::Label),
        ("feature", AttackKind::Feature),
        ("clean-label", AttackKind::CleanLabel),
        ("backdoor", AttackKind::Backdoor),
        ("model", AttackKind::Model),
        ("dos", AttackKind::Dos),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        AttackKind::NAMES.into_iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// True if attackers lie in rounds, false if in their rows.
    pub fn is_in_rounds(self) -> bool {
        matches!(self, AttackKind::Model | AttackKind::Dos)
    }
}

/// Attack the models of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackRequest {
    /// The fit.
    pub fit: FitRequest,
    /// What is attacked.
    pub kind: AttackKind,
    /// The node whose model is to suffer; `None`: all honest ones.
    pub victim: Option<String>,
    /// The most nodes that the attacker may have.
    pub budget: Option<usize>,
    /// The relative increase of the error that is wanted.
    pub raise: f64,
    /// How far labels are shifted; deviations by which features are.
    pub shift: Option<f64>,
    /// Column and value of the trigger.
    pub trigger: Option<(String, f64)>,
    /// The label, or class, that a trigger is to bring.
    pub wanted: Option<String>,
    /// Lies to try.
    pub lies: Vec<Lie>,
    /// Rounds in which attackers lie.
    pub rounds: usize,
}

impl AttackRequest {
    /// An attack on a fit of files.
    pub fn of_files(settings: &Settings) -> Result<(AttackRequest, InputSpec)> {
        settings.check_job(Job::Attack)?;
        let reader = settings.reader();
        let request = AttackRequest::read(settings, &reader, None)?;
        let spec = request.fit.input_spec(&reader, Vec::new())?;
        reader.finish(unread)?;
        Ok((request, spec))
    }

    /// An attack on a fit of rows in memory; `matrix` is that of the quadratic penalty.
    pub fn of_memory(settings: &Settings, matrix: Option<Matrix>) -> Result<AttackRequest> {
        settings.check_job(Job::Attack)?;
        let reader = settings.reader();
        let request = AttackRequest::read(settings, &reader, matrix)?;
        reader.finish(unread)?;
        Ok(request)
    }

    fn read(settings: &Settings, reader: &Reader, matrix: Option<Matrix>) -> Result<AttackRequest> {
        let fit = FitRequest::read(settings, reader, matrix, Job::Attack)?;
        if let Some(rounds) = &fit.rounds {
            let known = matches!(rounds.method, RoundsMethod::Robust(_));
            require!(
                known,
                "--solver {}: attacks know auto, primal-dual, newton, newton-cg and robust",
                reader.text("solver").unwrap_or_default()
            );
        }
        require!(reader.has("kind"), "which attack? give --kind label, feature, clean-label, backdoor, model or dos");
        let kind = reader.choice("kind", &AttackKind::NAMES)?;
        let only = |key: &'static str, kinds: &[AttackKind]| match reader.has(key) && !kinds.contains(&kind) {
            true => Err(Error::Request(format!("--{key} does not go with --kind {}", kind.name()))),
            false => Ok(()),
        };
        only("shift", &[AttackKind::Label, AttackKind::Feature])?;
        only("trigger", &[AttackKind::Backdoor])?;
        only("wanted", &[AttackKind::Backdoor])?;
        only("lie", &[AttackKind::Model, AttackKind::Dos])?;
        only("rounds", &[AttackKind::Model, AttackKind::Dos])?;
        let shift = reader.number("shift");
        require!(shift.is_none_or(|s| s.is_finite() && s != 0.0), "--shift: must be a number other than zero");
        let budget = reader.count("budget");
        require!(budget != Some(0), "--budget 0: at least one node");
        let usual = if fit.coupling == CouplingChoice::Learnt { ROUNDS_LEARNT } else { ROUNDS };
        let rounds = reader.count("rounds").unwrap_or(usual);
        require!((1..=1_000_000).contains(&rounds), "--rounds {rounds}: give 1 to 1000000");
        Ok(AttackRequest {
            victim: reader.string("victim").filter(|name| name != "all"),
            raise: reader.positive("raise")?.unwrap_or(0.2),
            trigger: reader.text("trigger").map(trigger).transpose()?,
            wanted: reader.string("wanted"),
            lies: lies(kind, reader.text("lie"))?,
            fit,
            kind,
            budget,
            shift,
            rounds,
        })
    }
}

/// `temp=40`.
fn trigger(text: &str) -> Result<(String, f64)> {
    let parts = text.rsplit_once('=');
    match parts.and_then(|(column, value)| Some((column, value.parse::<f64>().ok()?))) {
        Some((column, value)) if value.is_finite() => Ok((column.to_owned(), value)),
        _ => refuse!("--trigger {text}: expected COLUMN=VALUE, e.g. temp=40"),
    }
}

fn lies(kind: AttackKind, name: Option<&str>) -> Result<Vec<Lie>> {
    let all = match kind {
        AttackKind::Model => Lie::MODELS.to_vec(),
        AttackKind::Dos => Lie::FAULTS.to_vec(),
        _ => Vec::new(),
    };
    let Some(name) = name.filter(|name| *name != "all") else { return Ok(all) };
    let found: Vec<Lie> = all.iter().copied().filter(|lie| lie.name() == name).collect();
    if found.is_empty() {
        let mut names: Vec<&str> = all.iter().map(|lie| lie.name()).collect();
        names.dedup();
        refuse!("--lie {name}: unknown; use {} or all", names.join(", "));
    }
    Ok(found)
}
