//! What is said about how the rows of a fit were protected.

use fedweave_io::Noise;
use serde_json::{Value, json};

use crate::request::privacy::{PrivacyChoice, PrivacyMethod};
use crate::wording::number;

/// Where lambda came from.
pub(super) const LAMBDA_GIVEN: &str = "given by the user";
pub(super) const LAMBDA_CHOSEN: &str =
    "chosen by the exponential mechanism on a fifth of the rows, which were not trained with";
/// Where the scales came from.
const RANGES_GIVEN: &str = "ranges given by the user";
const RANGES_NARROWED: &str =
    "ranges given by the user, narrowed by noisy moments for a twentieth of epsilon and delta";

/// How the rows of a fit were protected.
#[derive(Debug, Clone, PartialEq)]
pub struct Protection {
    pub(super) choice: PrivacyChoice,
    pub(super) method: PrivacyMethod,
    /// How far one row can move what is released, at the node where that is most.
    pub(super) sensitivity: f64,
    /// Deviation of the noise, at that node.
    pub(super) deviation: f64,
    pub(super) rows: usize,
    /// The column of the target.
    pub(super) target: String,
    /// Which datasets are neighbours.
    pub(super) adjacency: &'static str,
}

impl Protection {
    fn lambda(&self) -> &'static str {
        if self.choice.grid.is_empty() { LAMBDA_GIVEN } else { LAMBDA_CHOSEN }
    }

    fn scaling(&self) -> &'static str {
        if self.choice.narrow { RANGES_NARROWED } else { RANGES_GIVEN }
    }

    /// As JSON.
    pub fn summary(&self) -> Value {
        let rounds = (self.method == PrivacyMethod::Gradients).then_some(self.choice.rounds);
        json!({
            "epsilon": self.choice.epsilon, "delta": self.choice.delta, "method": self.method.name(),
            "adjacency": self.adjacency, "sensitivity": self.sensitivity, "noise": self.deviation,
            "noise_source": Noise::name(self.choice.seed), "rows": self.rows, "rounds": rounds,
            "sample": rounds.map(|_| self.choice.rate), "lambda": self.lambda(), "scaling": self.scaling(),
        })
    }

    /// In words.
    pub fn text(&self) -> Vec<String> {
        let PrivacyChoice { epsilon, delta, seed, rounds, rate, .. } = self.choice;
        let where_to = match self.method {
            PrivacyMethod::Statistics => "the moments of every node".to_owned(),
            PrivacyMethod::Output => "the models".into(),
            PrivacyMethod::Objective => "the gradient of what is minimised".into(),
            PrivacyMethod::Gradients if rate < 1.0 => {
                format!("the gradients of every node in {rounds} rounds, of a random {} of the rows each", number(rate))
            }
            PrivacyMethod::Gradients => format!("the gradients of every node in {rounds} rounds"),
        };
        let mut lines = vec![format!(
            "private: epsilon {epsilon}, delta {delta:e} for every row of every node ({}); noise of {} on {where_to}, which one row can \
             move by {}",
            self.adjacency,
            number(self.deviation),
            number(self.sensitivity)
        )];
        lines.push(format!("lambda: {}; scales: {}", self.lambda(), self.scaling()));
        lines.push("errors and certificates would tell about rows and are not shown; another run is another release: epsilons add up".into());
        lines.extend(seed.map(|seed| format!("warning: the noise comes from seed {seed}: it protects nothing")));
        lines
    }
}

#[cfg(feature = "federation")]
impl Protection {
    /// Rounds of noisy gradients.
    pub(crate) fn rounds(&self) -> usize {
        self.choice.rounds
    }

    /// The same in the file of a part.
    pub(crate) fn section(&self, input: &fedweave_io::Input) -> fedweave_node::config::PrivacySection {
        let range = |column: &str| self.choice.range(column).map_or([-1.0, 1.0], |(low, high)| [low, high]);
        let columns = input.features.iter().filter(|name| self.choice.range(name).is_ok());
        let known = columns.map(|name| range(name)).collect();
        fedweave_node::config::PrivacySection {
            clip: self.choice.clip,
            seed: self.choice.seed,
            ..fedweave_node::config::PrivacySection::new(
                self.choice.epsilon,
                self.choice.delta,
                known,
                range(&self.target),
            )
        }
    }
}
