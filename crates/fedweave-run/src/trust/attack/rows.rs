//! What attackers do to rows, in the units of the input.

use fedweave::Dataset;
use fedweave::loss::Family;
use fedweave::trust::attack::{DataAttack, Trigger};
use fedweave_io::Input;

use crate::error::{Result, refuse, require};
use crate::request::attack::{AttackKind, AttackRequest};
use crate::training::TrainingRows;

/// Standard deviations by which labels or features are shifted if nobody says how far.
const SHIFT: f64 = 3.0;
/// A trigger is this many deviations beyond the largest value of its feature.
const TRIGGER: f64 = 1.0;

/// The attack on rows that was asked for; `None` if attackers lie in rounds.
pub(super) fn data_attack(
    request: &AttackRequest,
    training: &TrainingRows,
    input: &Input,
    family: Family,
) -> Result<Option<DataAttack>> {
    let rows = &training.rows;
    let (low, high) = label_range(rows);
    let (mean, deviation) = moments(rows.y().iter().copied());
    Ok(Some(match request.kind {
        AttackKind::Label if family.is_classifier() => {
            require!(request.shift.is_none(), "--shift: classes are exchanged, not shifted");
            DataAttack::FlippedLabels { sum: low + high }
        }
        AttackKind::Label => DataAttack::Labels(request.shift.unwrap_or(SHIFT * deviation)),
        AttackKind::Feature => DataAttack::Features(request.shift.unwrap_or(SHIFT)),
        AttackKind::CleanLabel => DataAttack::CleanLabels,
        AttackKind::Backdoor => {
            let free = input.features.len() - usize::from(training_has_intercept(input));
            require!(free > 0, "--kind backdoor: there is no feature that could carry a trigger");
            let (feature, value) = match &request.trigger {
                Some((column, value)) => match input.features[..free].iter().position(|f| f == column) {
                    Some(feature) => (feature, *value),
                    None => {
                        refuse!("--trigger {column}: no such feature; there are {}", input.features[..free].join(", "))
                    }
                },
                None => {
                    let column = (0..rows.len()).map(|row| rows.x(row)[0]);
                    let (_, deviation) = moments(column.clone());
                    (0, column.fold(f64::NEG_INFINITY, f64::max) + TRIGGER * deviation)
                }
            };
            let label = match (&request.wanted, family.is_classifier()) {
                (None, true) => high,
                (None, false) => mean + SHIFT * deviation,
                (Some(text), true) if !input.classes.is_empty() => match input.classes.iter().position(|c| c == text) {
                    Some(class) => class as f64,
                    None => refuse!("--wanted {text}: no such class; there are {}", input.classes.join(", ")),
                },
                (Some(text), _) => match text.parse::<f64>() {
                    Ok(label) if label.is_finite() => label,
                    _ => refuse!("--wanted {text}: not a number"),
                },
            };
            DataAttack::Backdoor { trigger: Trigger { feature, value }, label }
        }
        AttackKind::Model | AttackKind::Dos => return Ok(None),
    }))
}

fn training_has_intercept(input: &Input) -> bool {
    input.features.last().is_some_and(|last| last == "intercept")
}

pub(super) fn label_range(rows: &Dataset) -> (f64, f64) {
    rows.y().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)))
}

fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt())
}
