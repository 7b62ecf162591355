//! Noise that protects every row of a part.

use fedweave::Dataset;
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::trust::privacy::accountant::gaussian;
use fedweave::trust::privacy::accountant::{check_privacy, noise};
use fedweave::trust::privacy::rounds::{GradientNoise, has_rounds, usual_clip};
use fedweave::trust::privacy::statistics::Ranges;
use fedweave::trust::privacy::votes::Votes;
use serde::{Deserialize, Serialize};

use super::error::{Checked, ConfigFault, out_of_range};
use crate::plan::{MethodSpec, Plan};

/// Name of the method with noise on gradients.
const GRADIENTS: &str = "gradients";
/// Name of the method by which models of any class learn from public rows alone.
const VOTES: &str = "votes";

/// Models that vote at a node, if nobody says.
const TEACHERS: usize = 10;

/// Statistics of the rows are released once with noise, or gradients in every round, and everything else follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrivacySection {
    /// What may be spent on every row, ever.
    pub epsilon: f64,
    /// Probability of no protection.
    pub delta: f64,
    /// statistics, gradients (of method noisy-fedgd) or votes (of fedrelax-predictions) [default: statistics].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// gradients: every row takes part in a round with this probability [default: 1, all rows].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// gradients: those of rows are shortened to this norm [default: what the loss bounds them by].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_clip: Option<f64>,
    /// gradients: the budget is for so many [default: federation.rounds]. statistics: the budget is enough for so many releases: the first, and one for every time that rows or settings change [default: 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub releases: Option<u64>,
    /// votes: the rows of a node are dealt out to so many models [default: 10].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teachers: Option<u64>,
    /// What is known about the features, in their order: `[low, high]` each; votes need none.
    pub ranges: Vec<[f64; 2]>,
    /// What is known about the target; gradients need it of the squared loss only, which is then to be fitted to targets from -1 to 1.
    pub target: [f64; 2],
    /// Rows of features, in ranges from -1 to 1, are shortened to this norm [default: no row is].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Noise from a seed: for tests, it protects nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl PrivacySection {
    /// One release of statistics.
    pub fn new(epsilon: f64, delta: f64, ranges: Vec<[f64; 2]>, target: [f64; 2]) -> Self {
        let (method, rate, gradient_clip, releases) = (None, None, None, None);
        let (teachers, clip, seed) = (None, None, None);
        PrivacySection { epsilon, delta, method, rate, gradient_clip, releases, teachers, ranges, target, clip, seed }
    }

    /// Refuses what cannot be carried out; `features` counts the intercept.
    pub(super) fn check(&self, plan: &Plan, features: usize) -> Checked<()> {
        let invalid = |error| ConfigFault::Mathematics { place: "privacy".into(), error };
        check_privacy(self.epsilon, self.delta).map_err(invalid)?;
        if self.releases == Some(0) {
            return Err(out_of_range("privacy.releases", 0, "at least 1"));
        }
        self.check_method(plan)?;
        let columns = features - usize::from(plan.loss_options.spare_last);
        let needed = if self.on_votes() { 0 } else { columns };
        if self.ranges.len() != needed {
            return Err(out_of_range(
                "privacy.ranges",
                self.ranges.len(),
                if self.on_votes() { "votes need none" } else { "one [low, high] for every feature is needed" },
            ));
        }
        let weighted = |node: usize| plan.data.weights(node).iter().any(|weight| *weight != 1.0);
        if (0..plan.data.nodes()).any(weighted) {
            let needs = "does not go with [privacy]: the noise is made for rows that count the same; leave it out";
            return Err(out_of_range("model.weight", "a column of row weights", needs));
        }
        for [low, high] in self.ranges.iter().chain([&self.target]) {
            if !(low < high && (high - low).is_finite()) {
                return Err(out_of_range(
                    "privacy.ranges",
                    format!("[{low}, {high}]"),
                    "the first must be below the second",
                ));
            }
        }
        if !self.on_votes() {
            self.known(plan).map_err(invalid)?;
        }
        Ok(())
    }

    fn check_method(&self, plan: &Plan) -> Checked<()> {
        let noisy = matches!(plan.method, MethodSpec::NoisyFedGd { .. });
        if let Some(name) = self.method.as_deref().filter(|name| ![GRADIENTS, VOTES, "statistics"].contains(name)) {
            return Err(out_of_range(
                "privacy.method",
                format!("{name:?}"),
                "unknown; use statistics, gradients or votes",
            ));
        }
        let gradients = "method = \"gradients\"";
        let foreign = [
            ("privacy.rate", self.rate.is_some() && !self.on_gradients(), gradients),
            ("privacy.gradient-clip", self.gradient_clip.is_some() && !self.on_gradients(), gradients),
            (
                "privacy.clip",
                self.clip.is_some() && (self.on_gradients() || self.on_votes()),
                "method = \"statistics\"",
            ),
        ];
        if let Some((key, _, owner)) = foreign.into_iter().find(|(_, given, _)| *given) {
            return Err(ConfigFault::Belongs { key, owner: owner.into() });
        }
        if self.on_votes() || self.teachers.is_some() {
            let owner =
                |words: &str| Err(ConfigFault::Belongs { key: "privacy.method = \"votes\"", owner: words.into() });
            return match (&plan.models, self.teachers) {
                _ if !self.on_votes() => {
                    Err(ConfigFault::Belongs { key: "privacy.teachers", owner: "method = \"votes\"".into() })
                }
                (None, _) => owner("federation.method = \"fedrelax-predictions\""),
                (_, Some(0)) => Err(out_of_range("privacy.teachers", 0, "at least 1")),
                _ => Ok(()),
            };
        }
        let LossSpec::Same(family) = plan.loss else {
            return Err(ConfigFault::Belongs { key: "[privacy]", owner: "one loss for all nodes".into() });
        };
        if plan.models.is_some() || plan.coupling.is_some() {
            let owner = "parameters with a coupling that is given (models of any class: method = \"votes\"): nothing bounds how far one row moves predictions or sums";
            return Err(ConfigFault::Belongs { key: "[privacy]", owner: owner.into() });
        }
        if !self.on_gradients() {
            let squared = family == Family::Squared && !noisy;
            let owner = || "the squared loss, and to another method than noisy-fedgd".into();
            return if squared {
                Ok(())
            } else {
                Err(ConfigFault::Belongs { key: "privacy.method = \"statistics\"", owner: owner() })
            };
        }
        if !noisy || !has_rounds(family) {
            let owner =
                "federation.method = \"noisy-fedgd\" with the squared, huber, logistic or squared hinge loss".into();
            return Err(ConfigFault::Belongs { key: "privacy.method = \"gradients\"", owner });
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1.0)) {
            return Err(out_of_range("privacy.rate", self.rate.unwrap_or(0.0), "must be above 0 and at most 1"));
        }
        if self.gradient_clip.is_some_and(|clip| !(clip > 0.0 && clip.is_finite())) {
            return Err(out_of_range("privacy.gradient-clip", self.gradient_clip.unwrap_or(0.0), "must be positive"));
        }
        Ok(())
    }

    /// True if gradients get noise, in every round.
    pub fn on_gradients(&self) -> bool {
        self.method.as_deref() == Some(GRADIENTS)
    }

    /// True if public rows are labelled by votes, and models learn from these.
    pub fn on_votes(&self) -> bool {
        self.method.as_deref() == Some(VOTES)
    }

    /// How a node votes.
    pub fn votes(&self, multiplier: f64) -> Votes {
        let [low, high] = self.target;
        let teachers = self.teachers.map_or(TEACHERS, |teachers| teachers as usize);
        Votes { teachers, range: (0.5 * (low + high), 0.5 * (high - low)), multiplier }
    }

    /// Probability that a row takes part in a round.
    pub fn rate(&self) -> f64 {
        self.rate.unwrap_or(1.0)
    }

    /// Gradients that the budget is for.
    pub fn gradients(&self, plan: &Plan) -> u64 {
        self.releases.unwrap_or(plan.stop.rounds_max)
    }

    /// Bounds and noise of gradients.
    pub fn noise(&self, plan: &Plan, multiplier: f64) -> fedweave::Result<GradientNoise> {
        let row_norm = self.longest(plan);
        let clip = self.gradient_clip.unwrap_or_else(|| usual_clip(plan.loss.family(0), row_norm));
        Ok(GradientNoise { row_norm, clip, multiplier, rate: self.rate() })
    }

    /// The longest row of features inside the ranges, in their units.
    fn longest(&self, plan: &Plan) -> f64 {
        let most = self.ranges.iter().map(|[low, high]| low.abs().max(high.abs()).powi(2)).sum::<f64>();
        (most + f64::from(u8::from(plan.loss_options.spare_last))).sqrt()
    }

    /// The rows of a plan, moved into the ranges.
    pub fn inside(&self, plan: &Plan) -> fedweave::Result<Dataset> {
        let data = &plan.data;
        let squared = plan.loss == LossSpec::Same(Family::Squared);
        let columns = self.ranges.len();
        let moved = |(j, x): (usize, &f64)| match self.ranges.get(j % data.dim()).filter(|_| j % data.dim() < columns) {
            Some([low, high]) => x.clamp(*low, *high),
            None => *x,
        };
        let x: Vec<f64> = (0..data.nodes()).flat_map(|i| data.features(i)).enumerate().map(moved).collect();
        let [low, high] = self.target;
        let y = data.y().iter().map(|y| if squared { y.clamp(low, high) } else { *y }).collect();
        let offsets = std::iter::once(0).chain((0..data.nodes()).map(|i| data.rows(i).end)).collect();
        Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, vec![1.0; data.len()])
    }

    /// What is known about the columns.
    pub fn known(&self, plan: &Plan) -> fedweave::Result<Ranges> {
        let pair = |range: &[f64; 2]| (range[0], range[1]);
        let ranges = self.ranges.iter().map(pair).collect();
        Ranges::new(ranges, pair(&self.target), self.clip, plan.loss_options.spare_last)
    }

    /// Noise of one release, in multiples of its sensitivity.
    pub fn multiplier(&self, plan: &Plan) -> fedweave::Result<f64> {
        let releases = if self.on_gradients() { self.gradients(plan) } else { self.releases.unwrap_or(1) };
        noise((self.epsilon, self.delta), self.rate(), releases)
    }

    /// What an entry of the ledger costs: one over the multiplier of one release that would cost the same.
    pub fn cost(&self, plan: &Plan) -> fedweave::Result<f64> {
        let multiplier = self.multiplier(plan)?;
        Ok(match self.on_gradients() {
            false => 1.0 / multiplier,
            true if self.rate() < 1.0 => gaussian::mu(self.epsilon, self.delta),
            true => (self.gradients(plan) as f64).sqrt() / multiplier,
        })
    }
}
