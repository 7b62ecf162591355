//! Tries to break the noise that protects statistics, with canaries.

use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::audit::{Canaries, LowerBound, lower_bound};
use fedweave_io::Noise;
use serde_json::{Value, json};

use crate::error::{Result, require};
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

    /// Releases all canaries and looks.
    pub fn run(self) -> Result<AuditResult> {
        require!(self.canaries >= 100, "--canaries {}: at least 100", self.canaries);
        let multiplier = noise((self.epsilon, self.delta), 1.0, 1)?;
        let scores = Canaries { multiplier, flaw: None }.scores(self.canaries, &mut Noise::new(self.seed))?;
        Ok(AuditResult { request: self, bound: lower_bound(&scores, self.delta, ERROR) })
    }
}

impl AuditResult {
    /// The claim does not hold.
    pub fn refuted(&self) -> bool {
        self.bound.epsilon.max(self.bound.gaussian) > self.request.epsilon
    }

    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let AuditRequest { epsilon, delta, canaries, seed } = self.request;
        json!({
            "claimed": epsilon, "delta": delta, "eps_low": self.bound.gaussian, "eps_low_any_noise": self.bound.epsilon,
            "error": ERROR, "canaries": canaries, "refuted": self.refuted(), "noise_source": Noise::name(seed),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let AuditRequest { epsilon, delta, canaries, .. } = self.request;
        let verdict = if self.refuted() { "REFUTED" } else { "not refuted" };
        format!(
            "claimed epsilon {epsilon} at delta {delta:e}: {verdict} by {canaries} canaries\n\
             eps_low {} (if the noise is Gaussian), {} (whatever it is); wrong with probability {ERROR} at most",
            number(self.bound.gaussian),
            number(self.bound.epsilon)
        )
    }
}
