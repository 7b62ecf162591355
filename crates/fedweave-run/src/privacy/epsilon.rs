//! What a sequence of noisy releases costs.

use fedweave::trust::privacy::accountant::{Method, Sampled, Spent, epsilon, rdp};
use serde_json::{Value, json};

use crate::error::{Result, require};
use crate::wording::number;

/// Releases to account for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonRequest {
    /// Noise, in multiples of the sensitivity.
    pub sigma: f64,
    /// Probability that a row takes part in a release.
    pub rate: f64,
    /// Number of releases.
    pub rounds: u64,
    /// Delta.
    pub delta: f64,
}

/// What they cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonResult {
    request: EpsilonRequest,
    spent: Spent,
    renyi: f64,
}

impl EpsilonRequest {
    /// Accounts for the releases.
    pub fn run(self) -> Result<EpsilonResult> {
        let EpsilonRequest { sigma, rate, rounds, delta } = self;
        require!(sigma > 0.0 && sigma.is_finite(), "--sigma {sigma}: must be positive");
        require!(rate > 0.0 && rate <= 1.0, "--rate {rate}: must be above 0 and at most 1 (1: no sampling)");
        require!(rounds > 0, "--rounds 0: nothing is released");
        require!(delta > 0.0 && delta < 1.0, "--delta {delta}: must be between 0 and 1, exclusive");
        let release = Sampled { sigma, rate };
        let spent = epsilon(release, rounds, delta);
        let renyi = rdp::epsilon(|order| rounds as f64 * rdp::sampled(release, order), delta);
        Ok(EpsilonResult { request: self, spent, renyi })
    }
}

impl EpsilonResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let EpsilonRequest { sigma, rate, rounds, delta } = self.request;
        json!({
            "epsilon": self.spent.epsilon, "delta": delta, "method": self.spent.method.name(),
            "renyi_epsilon": self.renyi, "sigma": sigma, "rate": rate, "rounds": rounds,
            "adjacency": "one row added or removed",
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let EpsilonRequest { sigma, rate, rounds, delta } = self.request;
        let sample =
            if rate < 1.0 { format!(", each on a random {} of the rows", number(rate)) } else { String::new() };
        let how = match self.spent.method {
            Method::Exact => "exact",
            Method::LossDistribution => "from above, by the distribution of the privacy loss",
            Method::Renyi => "from above, by Renyi divergences",
        };
        format!(
            "epsilon {} at delta {delta:e}: {rounds} release(s) with noise {sigma} times the sensitivity{sample}\n\
             {how}; one row added or removed (Renyi divergences alone would say {})",
            number(self.spent.epsilon),
            number(self.renyi)
        )
    }
}
