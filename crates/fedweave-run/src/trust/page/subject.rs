//! What the evidence is taken from: the run, fitted again as it was, without rows that judge it, and under stress.

use std::path::PathBuf;

use fedweave::matrix::Matrix;
use fedweave::trust::explain::Shaped;
use fedweave_io::{Meter, Used, load, read_parameters};

use super::TrustRequest;
use crate::error::Result;
use crate::fit::{FitResult, groups_of};
use crate::request::again::command;
use crate::request::keys::find;
use crate::request::{AttackRequest, Job, Settings, Value};
use crate::run_dir::CONFIG;
use crate::trust::attack::{AttackResult, attack};
use crate::trust::cross::{Row, judged_rows};
use crate::trust::explain::influence;
use crate::trust::fairness::{FairnessResult, fairness_of};
use crate::trust::refit::Refit;
use crate::trust::stress::{StressRequest, StressResult};
use crate::watch::{Observer, Stage};
use crate::wording::{counted, loss_name};

/// Processor time that is counted well, in seconds, and the most fits that are spent on it.
const CPU_SECONDS_MIN: f64 = 0.05;
const FITS_MAX: i32 = 256;

/// Work of telling who shaped the models that a page may cost, in numbers of the inverse.
const INFLUENCE_WORK: usize = 50_000_000;

/// A run, looked at from all sides.
pub(super) struct Subject {
    pub refit: Refit,
    pub base: FitResult,
    /// What the fit cost.
    pub used: Used,
    /// The models that the run holds, in the order of the input, if they are those of its nodes.
    pub stored: Option<Matrix>,
    pub rows: Vec<Row>,
    pub fairness: FairnessResult,
    pub stress: StressResult,
    pub stress_request: StressRequest,
    /// Who shaped each model, or why that cannot be told.
    pub shaped: Result<Vec<Shaped>>,
    /// What false labels of one node do to all others, or why that was not tried; and the command.
    pub attacked: (Result<AttackResult>, String),
    /// What was said when the run was made.
    pub settings: Settings,
    /// Event logs.
    pub logs: Vec<PathBuf>,
}

impl Subject {
    pub fn of(request: &TrustRequest, observer: &dyn Observer) -> Result<Subject> {
        let refit = Refit::of(&request.run, request.group.as_deref())?;
        if request.group.is_some() {
            groups_of(&refit.input)?;
        }
        let settings = Settings::read(&request.run.join(CONFIG))?;
        observer.begin(Stage::new("fitting again", refit.request.solve.tolerance));
        let base = refit.fit(refit.input.clone(), observer)?;
        let used = cost(&refit, observer)?;
        let rows = judged_rows(&refit, request.folds, request.seed, observer)?;
        let stress_request =
            StressRequest { fits: request.fits, seed: request.seed, ..StressRequest::new(&request.run) };
        let stress = stress_request.on(&refit, &base, observer)?;
        let logs = logs(request, &settings);
        Ok(Subject {
            stored: stored(request, &refit),
            fairness: fairness_of(&refit, &rows)?,
            shaped: shaped(&base),
            attacked: attacked(&settings, base.learnt.is_none().then(|| base.problem.lambda()), observer),
            refit,
            base,
            used,
            rows,
            stress,
            stress_request,
            settings,
            logs,
        })
    }

    pub fn title(&self) -> String {
        let naming = &self.refit.request.naming;
        naming.title.clone().unwrap_or_else(|| match &naming.target {
            Some(target) => format!("Predicting {target} at {}", counted(self.refit.input.names.len(), "node")),
            None => format!("Models of {}", counted(self.refit.input.names.len(), "node")),
        })
    }

    pub fn about(&self) -> Vec<String> {
        let (input, base) = (&self.refit.input, &self.base);
        let parts = self.parts().map_or(String::new(), |parts| format!(", by a federation of {parts} parts"));
        vec![format!(
            "{} with {} of their own and {} between them{parts}: {} loss, {} penalty, {} a model.",
            counted(input.names.len(), "node"),
            counted(input.data.len(), "row"),
            counted(input.graph.edges(), "edge"),
            loss_name(&base.loss),
            base.problem.penalty().name(),
            counted(base.parameters.cols(), "parameter"),
        )]
    }

    /// True if the run was made by `fedweave up`.
    pub fn is_federated(&self) -> bool {
        let launched = |name: &str| find(name).is_some_and(|key| !key.is_for(Job::Fit));
        self.settings.names().any(launched) || self.parts().is_some() && !self.settings.has("coupling")
    }

    /// How many parts made the models, if several did.
    pub fn parts(&self) -> Option<u64> {
        use crate::request::Value;
        match self.settings.get("parts") {
            Some(Value::Count(parts)) => Some(*parts),
            // `fedweave up` counts what its parts sent, also where nobody said how many.
            _ if self.settings.has("solver") || self.settings.has("rounds") => None,
            _ => self.refit.summary["messages"].as_u64().map(|_| 4),
        }
    }
}

/// What a fit costs: repeated until the kernel, which does not count at every moment, has seen enough of it.
fn cost(refit: &Refit, observer: &dyn Observer) -> Result<Used> {
    let mut fits = 1;
    loop {
        let meter = Meter::start();
        for _ in 0..fits {
            refit.fit(refit.input.clone(), observer)?;
        }
        let Used { cpu_seconds, joules } = meter.read();
        let share = |total: f64| total / f64::from(fits);
        if fits >= FITS_MAX || cpu_seconds.is_none_or(|seconds| seconds >= CPU_SECONDS_MIN) {
            let cpu_seconds = cpu_seconds.filter(|seconds| *seconds > 0.0);
            return Ok(Used { cpu_seconds: cpu_seconds.map(share), joules: joules.map(share) });
        }
        fits *= 4;
    }
}

/// The models of the run, if its nodes are those of the input.
fn stored(request: &TrustRequest, refit: &Refit) -> Option<Matrix> {
    let found = read_parameters(&request.run).ok()?;
    (found.names == refit.input.names).then_some(found.w)
}

/// Who shaped each model.
fn shaped(base: &FitResult) -> Result<Vec<Shaped>> {
    let (n, d) = (base.problem.nodes(), base.problem.dim());
    crate::error::require!(
        n * n * d * d <= INFLUENCE_WORK,
        "the network is large: `fedweave explain` tells it for one node at a time"
    );
    let found = influence(base)?;
    Ok((0..base.input.names.len()).map(|i| found.of(i, base.solution.w.row(i))).collect())
}

/// Gives the node that reaches most others false labels, in the fit of these settings.
fn attacked(settings: &Settings, lambda: Option<f64>, observer: &dyn Observer) -> (Result<AttackResult>, String) {
    let strange: Vec<&str> =
        settings.names().filter(|name| find(name).is_none_or(|key| !key.is_for(Job::Attack))).collect();
    let text = |word: &str| Value::Text(word.to_owned());
    // Rounds are for attackers that lie in them. The optimum is the same by any solver, but rules lead elsewhere.
    let rules = matches!(settings.get("solver"), Some(Value::Text(solver)) if solver == "robust");
    let idle: &[&str] = if rules { &["rounds"] } else { &["solver", "step", "rounds"] };
    let mut asked =
        settings.clone().without(&strange).without(idle).with("kind", text("label")).with("budget", Value::Count(1));
    if let Some(lambda) = lambda {
        asked = asked.without(&["lambda-grid", "lambda-rule"]).with("lambda", Value::Number(lambda));
    }
    let words = command(Job::Attack, &asked);
    let found = AttackRequest::of_files(&asked).and_then(|(request, spec)| attack(request, load(&spec)?, observer));
    (found, words)
}

/// Event logs that were named, and those in the folder that `fedweave up --work` kept.
fn logs(request: &TrustRequest, settings: &Settings) -> Vec<PathBuf> {
    let work = settings.path("work").and_then(|work| std::fs::read_dir(work).ok());
    let parts = work.into_iter().flatten().flatten().map(|entry| entry.path().join("state").join("events.jsonl"));
    let mut found: Vec<PathBuf> = parts.filter(|log| log.is_file()).chain(request.logs.iter().cloned()).collect();
    found.sort();
    found.dedup();
    found
}
