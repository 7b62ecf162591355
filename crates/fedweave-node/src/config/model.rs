//! The section `[model]`: the rows of a part and what is fitted to them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fedweave::loss::{Family, LossOptions, NodeWeight};
use fedweave_io::{InputSpec, IoError, MissingPolicy, TargetKind, TomlFile};
use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

use super::error::{Checked, ConfigFault, choice, out_of_range};
use crate::plan::PenaltyKind;

/// Data and model of a part: those keys of `fedweave fit` that mean something where no part sees the rows of the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ModelSection {
    /// Table with one row per data point; without it the part has nodes, but no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<PathBuf>,
    /// Column that names the node of a row [default: node].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Column to predict; only the point loss needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Columns to predict from [default: all other numeric columns].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Vec<String>>,
    /// Column with row weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Missing values: error or drop (the rows) [default: error].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Name of the loss [default: squared].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// Threshold of the Huber loss [default: 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huber_delta: Option<f64>,
    /// Level of the quantile loss [default: 0.5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Adds `ridge |w|^2` at nodes with rows, sparing the intercept [default: 0].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ridge: Option<f64>,
    /// Adds `lasso sum |w_j|` at nodes with rows, sparing the intercept [default: 0].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasso: Option<f64>,
    /// No intercept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_intercept: bool,
    /// equal: every node counts the same; rows: every row counts the same [default: equal].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_weight: Option<String>,
    /// norm2, norm1, norminf or squared [default: norm2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<String>,
    /// `lambda`; a federation cannot choose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// fedrelax-predictions: model class of every node without a `[[node]]` entry, e.g. "tree max-depth=5".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// fedrelax-predictions: public rows without labels; with a node column, rows of each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<PathBuf>,
    /// fedrelax-predictions: compare on the public rows of the neighbours or of both ends [default: neighbours].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged_on: Option<String>,
    /// fedrelax-predictions: terms are means, or an own row weighs 1 and a public one lambda (plain) [default: means].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_weights: Option<String>,
    /// fedrelax-predictions: seed of everything random [default: 0].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// What such a section means for models with parameters.
pub(super) struct Parametric {
    pub family: Family,
    pub options: LossOptions,
    pub penalty: PenaltyKind,
}

impl ModelSection {
    /// `lambda`, which must be there.
    pub(super) fn checked_lambda(&self) -> Checked<f64> {
        let missing = || ConfigFault::Missing { key: "model.lambda", remedy: NO_LAMBDA };
        at_least_zero("model.lambda", self.lambda.ok_or_else(missing)?)
    }

    /// The column that names nodes.
    pub(super) fn node_column(&self) -> &str {
        self.node.as_deref().unwrap_or("node")
    }

    /// Loss and penalty.
    pub(super) fn parametric(&self) -> Checked<Parametric> {
        let of_predictions = [
            ("model.model", self.model.is_some()),
            ("model.public", self.public.is_some()),
            ("model.judged-on", self.judged_on.is_some()),
            ("model.row-weights", self.row_weights.is_some()),
        ];
        if let Some((key, _)) = of_predictions.into_iter().find(|(_, given)| *given) {
            return Err(ConfigFault::Belongs { key, owner: format!("method {}", crate::plan::ON_PREDICTIONS) });
        }
        let family = self.family()?;
        let node_weights = [("equal", NodeWeight::Equal), ("rows", NodeWeight::Rows)];
        let penalty = self.penalty.as_deref().unwrap_or("norm2");
        let unknown_penalty = || out_of_range("model.penalty", format!("{penalty:?}"), KNOWN_PENALTIES);
        Ok(Parametric {
            options: LossOptions {
                ridge: at_least_zero("model.ridge", self.ridge.unwrap_or(0.0))?,
                lasso: at_least_zero("model.lasso", self.lasso.unwrap_or(0.0))?,
                spare_last: self.intercept(family),
                node_weight: choice("model.node-weight", self.node_weight.as_deref(), &node_weights)?,
            },
            penalty: PenaltyKind::named(penalty).ok_or_else(unknown_penalty)?,
            family,
        })
    }

    fn family(&self) -> Checked<Family> {
        let (delta, q) = (self.huber_delta.unwrap_or(1.0), self.quantile.unwrap_or(0.5));
        let name = self.loss.as_deref().unwrap_or("squared");
        let unknown = || out_of_range("model.loss", format!("{name:?}"), "unknown; `fedweave fit --help` lists them");
        let family = Family::named(name, delta, q).ok_or_else(unknown)?;
        match family {
            Family::Huber { .. } if !(delta > 0.0 && delta.is_finite()) => {
                Err(out_of_range("model.huber-delta", delta, "must be positive"))
            }
            Family::Quantile { .. } if !(q > 0.0 && q < 1.0) => {
                Err(out_of_range("model.quantile", q, "must be between 0 and 1, exclusive"))
            }
            _ => Ok(family),
        }
    }

    /// True if a column of ones is appended.
    fn intercept(&self, family: Family) -> bool {
        !self.no_intercept && family != Family::Point
    }

    /// Refuses what models of any class do not have.
    pub(super) fn check_any_class(&self) -> Checked<()> {
        let given = [
            ("loss", self.loss.is_some()),
            ("huber-delta", self.huber_delta.is_some()),
            ("quantile", self.quantile.is_some()),
            ("ridge", self.ridge.is_some()),
            ("lasso", self.lasso.is_some()),
            ("no-intercept", self.no_intercept),
            ("node-weight", self.node_weight.is_some()),
            ("penalty", self.penalty.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(ConfigFault::AnyClass { key }),
            None => Ok(()),
        }
    }

    /// How to read the rows, for a loss or (`None`) for models of any class.
    pub(super) fn input(&self, family: Option<Family>) -> Checked<InputSpec> {
        let point = family == Some(Family::Point);
        if self.target.is_none() && !point {
            let remedy = "which column is to be predicted? only the point loss needs none";
            return Err(ConfigFault::Missing { key: "model.target", remedy });
        }
        let missing = [("error", MissingPolicy::Error), ("drop", MissingPolicy::Drop)];
        Ok(InputSpec {
            node: self.node_column().into(),
            target: self.target.clone(),
            // Classes are numbered: no part sees all labels.
            target_kind: if point { TargetKind::None } else { TargetKind::Number },
            features: self.features.clone(),
            drop: self.drop.clone().unwrap_or_default(),
            weight: self.weight.clone(),
            missing: choice("model.missing", self.missing.as_deref(), &missing)?,
            intercept: family.is_some_and(|family| self.intercept(family)),
            ..InputSpec::new(self.nodes.clone().unwrap_or_default())
        })
    }
}

fn at_least_zero(key: &'static str, value: f64) -> Checked<f64> {
    match value >= 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(out_of_range(key, value, "must be a finite number, at least 0")),
    }
}

const NO_LAMBDA: &str = "a federation needs a number; `fedweave fit` can choose one on a sample";
const KNOWN_PENALTIES: &str = "a federation knows norm2, norm1, norminf and squared";
const SAME_PUBLIC_ROWS: &str = "all parts need the same public rows: write model.public";

/// Keys of `fedweave fit` that need the rows of all parts or stand elsewhere, and what to do instead.
const FOREIGN: [(&str, &str); 23] = [
    ("edges", "write [[edge]] entries"),
    ("knn", "write [[edge]] entries"),
    ("standardize", "scale the features before: it needs the rows of all parts"),
    ("one-hot", "encode before: it needs the rows of all parts"),
    ("loss-column", "all nodes of a federation have the same loss"),
    ("penalty-matrix", KNOWN_PENALTIES),
    ("block", KNOWN_PENALTIES),
    ("coupling", "write a section [coupling]"),
    ("hub", "write the common mean as a node without rows, and [[edge]] entries to it"),
    ("lambda-grid", "write lambda"),
    ("validation", "a federation trains with all rows"),
    ("solver", "write federation.method"),
    ("tolerance", "write federation.tolerance"),
    ("rounds", "write federation.rounds"),
    ("step-ratio", "write federation.step-ratio"),
    ("relaxation", "write federation.relaxation"),
    ("out", "write state"),
    ("task", "write federation.classes for classes; numbers are the default"),
    ("models", "write [[node]] entries"),
    ("public-from", SAME_PUBLIC_ROWS),
    ("public-rows", SAME_PUBLIC_ROWS),
    ("distil", "belongs to `fedweave fit`: a part that resumes cannot repeat it"),
    ("order", "belongs to `fedweave fit`: all nodes of a federation update together"),
];

/// Refuses keys and values of `fedweave fit` that a part cannot follow, with their line and the remedy.
pub(super) fn refuse_foreign(file: &TomlFile<'_>) -> Result<(), IoError> {
    #[derive(Deserialize)]
    struct Keys {
        #[serde(default)]
        model: BTreeMap<Spanned<String>, Value>,
    }
    // A file that is no such table is refused with better words when it is read as a whole.
    let Ok(keys) = file.parse::<Keys>() else { return Ok(()) };
    let refusal = |(key, value): (&Spanned<String>, &Value)| Some((key.span(), foreign(key.get_ref(), value)?));
    match keys.model.iter().filter_map(refusal).min_by_key(|(span, _)| span.start) {
        Some((span, what)) => Err(file.fault(&span, format!("model.{what}"))),
        None => Ok(()),
    }
}

fn foreign(key: &str, value: &Value) -> Option<String> {
    if let Some((_, remedy)) = FOREIGN.iter().find(|(name, _)| *name == key) {
        return Some(format!("{key}: {remedy}"));
    }
    match (key, value) {
        ("missing", Value::String(rule)) if rule == "mean" => {
            Some("missing = \"mean\": fill before: it needs the rows of all parts".into())
        }
        ("lambda", Value::String(_)) => Some(format!("lambda: {NO_LAMBDA}")),
        ("ridge", Value::Array(_)) => Some("ridge: one number here; `fedweave compare` chooses from a list".into()),
        ("penalty", Value::String(name)) if PenaltyKind::named(name).is_none() => {
            Some(format!("penalty = {name:?}: {KNOWN_PENALTIES}"))
        }
        _ => None,
    }
}
