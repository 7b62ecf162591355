//! Noise that protects every row of a part.

use fedweave::loss::{Family, LossSpec};
use fedweave::trust::privacy::accountant::{check_privacy, noise};
use fedweave::trust::privacy::statistics::Ranges;
use serde::{Deserialize, Serialize};

use super::error::{Checked, ConfigFault, out_of_range};
use crate::plan::Plan;

/// Statistics of the rows are released once with noise, and everything else follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrivacySection {
    /// What may be spent on every row, ever.
    pub epsilon: f64,
    /// Probability of no protection.
    pub delta: f64,
    /// The budget is enough for so many releases: the first, and one for every time that rows or settings change [default: 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub releases: Option<u64>,
    /// What is known about the features, in their order: `[low, high]` each.
    pub ranges: Vec<[f64; 2]>,
    /// What is known about the target.
    pub target: [f64; 2],
    /// Rows of features, in ranges from -1 to 1, are shortened to this norm [default: no row is].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Noise from a seed: for tests, it protects nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl PrivacySection {
    /// Refuses what cannot be carried out; `features` counts the intercept.
    pub(super) fn check(&self, plan: &Plan, features: usize) -> Checked<()> {
        let invalid = |error| ConfigFault::Mathematics { place: "privacy".into(), error };
        check_privacy(self.epsilon, self.delta).map_err(invalid)?;
        if self.releases == Some(0) {
            return Err(out_of_range("privacy.releases", 0, "at least 1"));
        }
        if plan.models.is_some() || plan.loss != LossSpec::Same(Family::Squared) {
            return Err(ConfigFault::Belongs { key: "[privacy]", owner: "the squared loss".into() });
        }
        let columns = features - usize::from(plan.loss_options.spare_last);
        if self.ranges.len() != columns {
            return Err(out_of_range(
                "privacy.ranges",
                self.ranges.len(),
                "one [low, high] for every feature is needed",
            ));
        }
        let weighted = |node: usize| plan.data.weights(node).iter().any(|weight| *weight != 1.0);
        if (0..plan.data.nodes()).any(weighted) {
            let needs = "does not go with [privacy]: the noise is made for rows that count the same; leave it out";
            return Err(out_of_range("model.weight", "a column of row weights", needs));
        }
        self.known(plan).map_err(invalid)?;
        Ok(())
    }

    /// What is known about the columns.
    pub fn known(&self, plan: &Plan) -> fedweave::Result<Ranges> {
        let pair = |range: &[f64; 2]| (range[0], range[1]);
        let ranges = self.ranges.iter().map(pair).collect();
        Ranges::new(ranges, pair(&self.target), self.clip, plan.loss_options.spare_last)
    }

    /// Noise of one release, in multiples of its sensitivity.
    pub fn multiplier(&self) -> fedweave::Result<f64> {
        noise((self.epsilon, self.delta), 1.0, self.releases.unwrap_or(1))
    }
}
