//! A diagnosis in words from the training, validation and baseline errors.
//!
//! The rules are those of A. Jung, *Federated Learning: From Theory to Practice*, section 2.5:
//!
//! | seen | hint |
//! |---|---|
//! | `E_t ≈ E_v ≈ E_ref` | fine |
//! | `E_v >> E_t` | overfitting |
//! | `E_t ≈ E_v >> E_ref` | the model is too small, or the solver did not finish |
//! | `E_t >> E_v` | the rows fitted to and the rows held out are not alike, or too few |
//!
//! A network of models has two baselines of its own, fitted to the same rows: every node alone (the largest model the
//! coupling allows, lambda = 0) and one model for all (the smallest, lambda = infinity). If the first does better, the
//! coupled model is too small; if the second does, it is too large. These are hints from a few numbers, not proofs,
//! and are worded so.

use crate::Outcome;
use crate::number::{percent, short};
use crate::report::Status;
use serde::Serialize;

/// `>>`: this many times larger. Errors on different rows differ by chance.
const MUCH_LARGER: f64 = 1.5;
/// The same for two methods on the same rows, where chance plays a smaller part.
const LARGER: f64 = 1.05;

/// The errors a diagnosis is made from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Errors {
    /// On the rows fitted to.
    pub train: Option<f64>,
    /// On the rows held out.
    pub validation: Option<f64>,
    /// Known to be good from elsewhere: a noise level, an existing method, an expert.
    pub baseline: Option<f64>,
    /// Of models fitted to each node alone, on the rows held out.
    pub local: Option<f64>,
    /// Of one model for all nodes, on the rows held out.
    pub global: Option<f64>,
    /// Whether the solver reached its tolerance.
    pub converged: bool,
}

/// What the errors hint at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No sign of trouble.
    Fine,
    /// The models follow the rows they were fitted to too closely.
    Overfitting,
    /// The models cannot follow the data: too few features, or tied together too tightly.
    ModelTooSmall,
    /// The rows held out do not behave like the rows fitted to.
    DataNotAlike,
    /// There is not enough to compare.
    Unknown,
}

/// A verdict, the numbers that led to it, and what may be tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict as a short sentence.
    pub headline: String,
    /// The numbers behind it, a sentence each.
    pub reasons: Vec<String>,
    /// What may be tried, a sentence each.
    pub advice: Vec<String>,
}

impl From<&Outcome> for Errors {
    fn from(outcome: &Outcome) -> Self {
        Errors {
            train: outcome.train_error,
            validation: outcome.validation_error,
            baseline: outcome.baseline_error,
            local: outcome.local_error,
            global: outcome.global_error,
            converged: matches!(outcome.status, Status::Converged | Status::Finished),
        }
    }
}

/// Compares the errors and says in words what they hint at.
///
/// ```
/// use fedweave_report::{Errors, Verdict, diagnose};
/// let errors = Errors { train: Some(1.0), validation: Some(9.0), converged: true, ..Errors::default() };
/// assert_eq!(diagnose(&errors).verdict, Verdict::Overfitting);
/// ```
pub fn diagnose(errors: &Errors) -> Diagnosis {
    let mut diagnosis = match (usable(errors.train), usable(errors.validation)) {
        (Some(train), Some(validation)) => compare(train, validation, errors),
        (_, None) if errors.validation.is_none() => no_held_out_rows(errors.train),
        _ => not_comparable(),
    };
    if !errors.converged {
        let caution = "The solver stopped before its tolerance, so these models are unfinished: let it run longer before \
                       changing anything else.";
        diagnosis.advice.insert(0, caution.into());
    }
    diagnosis
}

/// Ratios need errors that are finite and not negative (a likelihood may be).
fn usable(error: Option<f64>) -> Option<f64> {
    error.filter(|error| error.is_finite() && *error >= 0.0)
}

fn compare(train: f64, validation: f64, errors: &Errors) -> Diagnosis {
    let (local, global) = (usable(errors.local), usable(errors.global));
    let mut diagnosis = if validation > MUCH_LARGER * train {
        overfitting(train, validation)
    } else if train > MUCH_LARGER * validation {
        not_alike(train, validation)
    } else {
        against_references(train, validation, usable(errors.baseline), local, global)
    };
    diagnosis.reasons.extend(alternatives(validation, local, global));
    diagnosis
}

fn overfitting(train: f64, validation: f64) -> Diagnosis {
    let times = if train > 0.0 { format!(", {} times as large", short(validation / train)) } else { String::new() };
    Diagnosis {
        verdict: Verdict::Overfitting,
        headline: "The errors hint at overfitting.".into(),
        reasons: vec![format!(
            "The error on held-out rows ({}) is well above the error on the rows fitted to ({}){times}.",
            short(validation),
            short(train)
        )],
        advice: vec![
            "A larger lambda, fewer features, some ridge or more rows per node make the models follow the rows less closely."
                .into(),
            "The same pattern appears when the held-out rows come from another time or place: check how they were chosen.".into(),
        ],
    }
}

fn not_alike(train: f64, validation: f64) -> Diagnosis {
    Diagnosis {
        verdict: Verdict::DataNotAlike,
        headline: "The held-out rows do not behave like the rows fitted to.".into(),
        reasons: vec![format!(
            "The error on held-out rows ({}) is well below the error on the rows fitted to ({}), which should not happen \
             when both are drawn alike and are many.",
            short(validation),
            short(train)
        )],
        advice: vec![
            "Look at how the rows were split, and whether the held-out rows are too few or unusually easy; \
             until then neither number can be trusted."
                .into(),
        ],
    }
}

fn against_references(
    train: f64,
    validation: f64,
    baseline: Option<f64>,
    local: Option<f64>,
    global: Option<f64>,
) -> Diagnosis {
    let alike = format!(
        "The error on held-out rows ({}) is on the level of the error on the rows fitted to ({}): no sign of overfitting.",
        short(validation),
        short(train)
    );
    let beats = |other: Option<f64>| other.is_some_and(|other| validation > LARGER * other);
    let mut diagnosis = match baseline {
        Some(baseline) if validation > MUCH_LARGER * baseline => above_baseline(baseline, validation),
        _ if beats(local) && local <= global.or(local) => tied_too_tightly(),
        _ if beats(global) => too_free(),
        _ => fine(validation, baseline),
    };
    diagnosis.reasons.insert(0, alike);
    diagnosis
}

fn above_baseline(baseline: f64, validation: f64) -> Diagnosis {
    Diagnosis {
        verdict: Verdict::ModelTooSmall,
        headline: "The model seems too small.".into(),
        reasons: vec![format!(
            "Both are well above the baseline of {}, which shows that a smaller error is possible ({} times smaller).",
            short(baseline),
            short(validation / baseline)
        )],
        advice: vec![
            "More features, a smaller lambda or less ridge give the models more room; also make sure that the solver finished."
                .into(),
        ],
    }
}

fn tied_too_tightly() -> Diagnosis {
    Diagnosis {
        verdict: Verdict::ModelTooSmall,
        headline: "The models seem tied together too tightly.".into(),
        reasons: Vec::new(),
        advice: vec![
            "A smaller lambda, or a graph that only joins nodes that are alike, gives the models more room.".into(),
        ],
    }
}

fn too_free() -> Diagnosis {
    Diagnosis {
        verdict: Verdict::Overfitting,
        headline: "One model for all nodes does better than personal ones.".into(),
        reasons: Vec::new(),
        advice: vec![
            "The personal models seem to follow differences that are noise: a larger lambda ties them together more."
                .into(),
        ],
    }
}

fn fine(validation: f64, baseline: Option<f64>) -> Diagnosis {
    let level = match baseline {
        Some(baseline) => {
            format!("The baseline is {}: there seems to be little left to gain.", short_pair(baseline, validation))
        }
        None => {
            "No baseline from elsewhere was given, so whether this level is good enough is for you to judge.".into()
        }
    };
    Diagnosis {
        verdict: Verdict::Fine,
        headline: "The errors show no sign of trouble.".into(),
        reasons: vec![level],
        advice: Vec::new(),
    }
}

fn short_pair(baseline: f64, validation: f64) -> String {
    format!("{} and the held-out error {}", short(baseline), short(validation))
}

fn no_held_out_rows(train: Option<f64>) -> Diagnosis {
    let seen = train.map(|train| format!("The error on the rows fitted to is {}.", short(train)));
    Diagnosis {
        verdict: Verdict::Unknown,
        headline: "No rows were held out, so nothing can be said about new data.".into(),
        reasons: seen.into_iter().collect(),
        advice: vec![
            "Hold out some rows of every node; the error on the rows fitted to is nearly always too optimistic.".into(),
        ],
    }
}

fn not_comparable() -> Diagnosis {
    Diagnosis {
        verdict: Verdict::Unknown,
        headline: "The errors cannot be compared.".into(),
        reasons: vec!["At least one of them is missing, negative or not a finite number.".into()],
        advice: Vec::new(),
    }
}

/// How the networked models stand against the two ends of the range of lambda.
fn alternatives(validation: f64, local: Option<f64>, global: Option<f64>) -> Option<String> {
    let against = |name: &str, other: f64| format!("{} {name} ({})", versus(validation, other), short(other));
    let parts: Vec<String> = [("models fitted to each node alone", local), ("one model for all nodes", global)]
        .into_iter()
        .filter_map(|(name, other)| other.map(|other| against(name, other)))
        .collect();
    (!parts.is_empty()).then(|| format!("On the held-out rows the networked models are {}.", parts.join(" and ")))
}

fn versus(error: f64, other: f64) -> String {
    let change = error / other - 1.0;
    match change {
        _ if error == other => "level with".into(),
        c if !c.is_finite() => "worse than".into(),
        c if c.abs() < 0.005 => "level with".into(),
        c if c < 0.0 => format!("{} better than", percent(-c)),
        c => format!("{} worse than", percent(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(train: f64, validation: f64) -> Errors {
        Errors { train: Some(train), validation: Some(validation), converged: true, ..Errors::default() }
    }

    fn verdict(errors: Errors) -> Verdict {
        diagnose(&errors).verdict
    }

    #[test]
    fn all_on_one_level_is_fine() {
        assert_eq!(verdict(errors(1.0, 1.1)), Verdict::Fine);
        assert_eq!(verdict(Errors { baseline: Some(0.9), ..errors(1.0, 1.1) }), Verdict::Fine);
        assert_eq!(verdict(Errors { local: Some(2.0), global: Some(3.0), ..errors(1.0, 1.1) }), Verdict::Fine);
        assert_eq!(verdict(errors(0.0, 0.0)), Verdict::Fine);
    }

    #[test]
    fn validation_far_above_training_is_overfitting() {
        let diagnosis = diagnose(&errors(1.0, 9.0));
        assert_eq!(diagnosis.verdict, Verdict::Overfitting);
        assert!(diagnosis.reasons[0].contains("(9)") && diagnosis.reasons[0].contains("9 times"));
        assert_eq!(verdict(errors(0.0, 1.0)), Verdict::Overfitting);
    }

    #[test]
    fn both_far_above_the_baseline_is_too_small() {
        assert_eq!(verdict(Errors { baseline: Some(1.0), ..errors(5.0, 5.5) }), Verdict::ModelTooSmall);
    }

    #[test]
    fn training_far_above_validation_is_not_alike() {
        assert_eq!(verdict(errors(9.0, 1.0)), Verdict::DataNotAlike);
    }

    #[test]
    fn the_two_ends_of_lambda_are_baselines() {
        let local = Errors { local: Some(4.0), global: Some(6.0), ..errors(5.0, 5.0) };
        assert_eq!(verdict(local), Verdict::ModelTooSmall);
        let global = Errors { local: Some(6.0), global: Some(4.0), ..errors(5.0, 5.0) };
        assert_eq!(verdict(global), Verdict::Overfitting);
        let both = Errors { local: Some(4.5), global: Some(4.0), ..errors(5.0, 5.0) };
        assert_eq!(verdict(both), Verdict::Overfitting);
        let alone = Errors { local: Some(4.0), ..errors(5.0, 5.0) };
        assert_eq!(verdict(alone), Verdict::ModelTooSmall);
    }

    #[test]
    fn without_held_out_rows_nothing_is_claimed() {
        let diagnosis = diagnose(&Errors { train: Some(1.0), converged: true, ..Errors::default() });
        assert_eq!(diagnosis.verdict, Verdict::Unknown);
        assert!(diagnosis.headline.contains("No rows were held out"));
    }

    #[test]
    fn errors_that_are_no_ratios_are_not_compared() {
        assert_eq!(verdict(errors(-1.0, 1.0)), Verdict::Unknown);
        assert_eq!(verdict(errors(1.0, f64::NAN)), Verdict::Unknown);
    }

    #[test]
    fn an_unfinished_solver_is_mentioned_first() {
        let diagnosis = diagnose(&Errors { converged: false, ..errors(1.0, 1.0) });
        assert!(diagnosis.advice[0].contains("stopped before its tolerance"));
    }

    #[test]
    fn gains_are_told_with_their_numbers() {
        let diagnosis = diagnose(&Errors { local: Some(10.0), global: Some(31.0), ..errors(6.0, 7.0) });
        let last = diagnosis.reasons.last().unwrap();
        assert!(last.contains("30 % better than models fitted to each node alone (10)"), "{last}");
        assert!(last.contains("77 % better than one model for all nodes (31)"), "{last}");
    }
}
