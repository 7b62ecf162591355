//! What a sequence of noisy releases costs.

use fedweave::trust::privacy::accountant::laplace::{self, Laplace};
use fedweave::trust::privacy::accountant::{Method, Sampled, Spent, epsilon, rdp};
use serde_json::{Value, json};

use crate::error::{Result, refuse, require};
use crate::wording::{counted, number};

/// The shape of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Sensitivities in the 2-norm.
    #[default]
    Gaussian,
    /// One number at a time.
    Laplace,
}

impl Shape {
    /// The shape of this name.
    pub fn named(name: &str) -> Result<Shape> {
        match name {
            "gaussian" => Ok(Shape::Gaussian),
            "laplace" => Ok(Shape::Laplace),
            _ => refuse!("--noise {name}: must be gaussian or laplace"),
        }
    }

    fn name(self) -> &'static str {
        if self == Shape::Laplace { "laplace" } else { "gaussian" }
    }
}

/// Releases to account for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonRequest {
    /// The shape of the noise.
    pub noise: Shape,
    /// Deviation (Gaussian) or scale (Laplace) of the noise, in multiples of the sensitivity.
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
    /// By Renyi divergences alone, where they are known.
    renyi: Option<f64>,
}

impl EpsilonRequest {
    /// Accounts for the releases.
    pub fn run(self) -> Result<EpsilonResult> {
        let EpsilonRequest { noise, sigma, rate, rounds, delta } = self;
        require!(sigma > 0.0 && sigma.is_finite(), "--sigma {sigma}: must be positive");
        require!(rate > 0.0 && rate <= 1.0, "--rate {rate}: must be above 0 and at most 1 (1: no sampling)");
        require!(rounds > 0, "--rounds 0: nothing is released");
        let least = delta > 0.0 || (noise == Shape::Laplace && delta == 0.0);
        require!(
            least && delta < 1.0,
            "--delta {delta}: must be between 0 and 1, exclusive (0 is possible with --noise laplace)"
        );
        let divergence = |of: &dyn Fn(f64) -> f64| rdp::epsilon(|order| rounds as f64 * of(order), delta);
        let (spent, renyi) = match noise {
            Shape::Gaussian => {
                let release = Sampled { sigma, rate };
                (epsilon(release, rounds, delta), Some(divergence(&|order| rdp::sampled(release, order))))
            }
            Shape::Laplace => {
                let known = rate == 1.0 && delta > 0.0;
                let renyi = known.then(|| divergence(&|order| rdp::laplace(sigma, order)));
                (laplace::epsilon(Laplace { scale: sigma, rate }, rounds, delta), renyi)
            }
        };
        Ok(EpsilonResult { request: self, spent, renyi })
    }
}

impl EpsilonResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let EpsilonRequest { noise, sigma, rate, rounds, delta } = self.request;
        json!({
            "epsilon": self.spent.epsilon, "delta": delta, "method": self.spent.method.name(),
            "renyi_epsilon": self.renyi, "noise": noise.name(), "sigma": sigma, "rate": rate, "rounds": rounds,
            "adjacency": "one row added or removed",
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let EpsilonRequest { noise, sigma, rate, rounds, delta } = self.request;
        let sample =
            if rate < 1.0 { format!(", each on a random {} of the rows", number(rate)) } else { String::new() };
        let how = match self.spent.method {
            Method::Exact => "exact",
            Method::LossDistribution => "from above, by the distribution of the privacy loss",
            Method::Renyi => "from above, by Renyi divergences",
        };
        let (of, shape) = match noise {
            Shape::Gaussian => ("", "noise"),
            Shape::Laplace => (" of one number", "Laplace noise of scale"),
        };
        let renyi = self.renyi.map(|renyi| format!(" (Renyi divergences alone would say {})", number(renyi)));
        format!(
            "epsilon {} at delta {delta:e}: {}{of} with {shape} {sigma} times the sensitivity{sample}\n\
             {how}; one row added or removed{}",
            number(self.spent.epsilon),
            counted(rounds as usize, "release"),
            renyi.unwrap_or_default()
        )
    }
}
