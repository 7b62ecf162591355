//! Tries to break the noise that protects what is released, with canaries.

use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::audit::{Canaries, DescentCanaries, LowerBound, ModelCanaries, Scores, lower_bound};
use fedweave_io::Noise;
use serde_json::{Value, json};

use crate::error::{Result, refuse, require};
use crate::request::privacy::PrivacyMethod;
use crate::wording::number;

/// Probability that a sound mechanism is called broken.
const ERROR: f64 = 0.01;

/// A claim to be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditRequest {
    /// Claimed epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// What is released: statistics, gradients, or models ([`PrivacyMethod::Output`]).
    pub method: PrivacyMethod,
    /// Rounds in which gradients are released.
    pub rounds: usize,
    /// Nodes with a canary.
    pub canaries: usize,
    /// Repeats an audit.
    pub seed: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditResult {
    request: AuditRequest,
    bound: LowerBound,
}

impl AuditRequest {
    /// Enough to see 0.9 of epsilon in a few seconds.
    pub const CANARIES: usize = 400_000;
    /// Rounds of gradients, if nobody says.
    pub const ROUNDS: usize = 5;
    const ROUNDS_MAX: usize = 1000;

    /// What is released, by the name of a way to fit.
    pub fn method(name: &str) -> Result<PrivacyMethod> {
        let known = [PrivacyMethod::Statistics, PrivacyMethod::Gradients, PrivacyMethod::Output];
        match known.into_iter().find(|method| method.name() == name) {
            Some(method) => Ok(method),
            None => refuse!("--method {name}: there are canaries for {}", known.map(PrivacyMethod::name).join(", ")),
        }
    }

    /// Releases all canaries and looks.
    pub fn run(self) -> Result<AuditResult> {
        require!(self.canaries >= 100, "--canaries {}: at least 100", self.canaries);
        let scores = self.scores()?;
        Ok(AuditResult { request: self, bound: lower_bound(&scores, self.delta, ERROR) })
    }

    fn scores(&self) -> Result<Vec<Scores>> {
        let (canaries, mut source) = (self.canaries, Noise::new(self.seed));
        let releases = if self.method == PrivacyMethod::Gradients { self.rounds } else { 1 };
        require!((1..=Self::ROUNDS_MAX).contains(&releases), "--rounds {releases}: from 1 to {}", Self::ROUNDS_MAX);
        let multiplier = noise((self.epsilon, self.delta), 1.0, releases as u64)?;
        Ok(match self.method {
            PrivacyMethod::Statistics => Canaries { multiplier, flaw: None }.scores(canaries, &mut source)?.to_vec(),
            PrivacyMethod::Gradients => {
                vec![DescentCanaries { multiplier, rounds: self.rounds }.scores(canaries, &mut source)?]
            }
            PrivacyMethod::Output => vec![ModelCanaries { multiplier }.scores(canaries, &mut source)?],
            PrivacyMethod::Objective => refuse!("--method objective: there are no canaries for it"),
        })
    }
}

impl AuditResult {
    /// The claim does not hold.
    pub fn refuted(&self) -> bool {
        self.bound.epsilon.max(self.bound.gaussian) > self.request.epsilon
    }

    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let AuditRequest { epsilon, delta, canaries, seed, method, .. } = self.request;
        json!({
            "method": method.name(), "claimed": epsilon, "delta": delta, "eps_low": self.bound.gaussian, "eps_low_any_noise": self.bound.epsilon,
            "error": ERROR, "canaries": canaries, "refuted": self.refuted(), "noise_source": Noise::name(seed),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let AuditRequest { epsilon, delta, canaries, method, .. } = self.request;
        let verdict = if self.refuted() { "REFUTED" } else { "not refuted" };
        format!(
            "{}: claimed epsilon {epsilon} at delta {delta:e}: {verdict} by {canaries} canaries\n\
             eps_low {} (if the noise is Gaussian), {} (whatever it is); wrong with probability {ERROR} at most",
            method.name(),
            number(self.bound.gaussian),
            number(self.bound.epsilon)
        )
    }
}
