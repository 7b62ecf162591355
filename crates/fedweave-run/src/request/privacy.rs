//! How the rows are protected.

use fedweave::loss::Family;
use fedweave::trust::privacy::accountant::check_privacy;
use fedweave::trust::privacy::sensitivity::gradient_bound;

use super::settings::Reader;
use crate::error::{Error, Result, refuse, require};

/// Where the noise goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyMethod {
    /// On moments of the rows of every node, once.
    Statistics,
    /// On the models.
    Output,
}

impl PrivacyMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PrivacyMethod::Statistics => "statistics",
            PrivacyMethod::Output => "output",
        }
    }
}

/// How the rows are protected.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyChoice {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Where the noise goes; `None`: where the loss allows.
    pub method: Option<PrivacyMethod>,
    /// Columns and what is known about them.
    pub ranges: Vec<(String, (f64, f64))>,
    /// Longest scaled row of features.
    pub clip: Option<f64>,
    /// For tests.
    pub seed: Option<u64>,
}

impl PrivacyChoice {
    /// What was said; `None` if nothing was.
    pub(super) fn read(reader: &Reader) -> Result<Option<PrivacyChoice>> {
        let Some(epsilon) = reader.number("dp-epsilon") else { return Ok(None) };
        let delta = reader.number("dp-delta").unwrap_or(1e-5);
        check_privacy(epsilon, delta).map_err(|error| Error::Request(format!("--dp-epsilon, --dp-delta: {error}")))?;
        require!(delta <= 0.01, "--dp-delta {delta}: at most 0.01; it is the probability that there is no protection");
        let methods =
            [("", None), ("statistics", Some(PrivacyMethod::Statistics)), ("output", Some(PrivacyMethod::Output))];
        let ranges = reader.texts("dp-range").unwrap_or_default();
        let choice = PrivacyChoice {
            epsilon,
            delta,
            method: reader.choice("dp-method", &methods)?,
            ranges: ranges.iter().map(|text| range(text)).collect::<Result<_>>()?,
            clip: reader.positive("dp-clip")?,
            seed: reader.count("dp-seed").map(|seed| seed as u64),
        };
        refuse_leaks(reader)?;
        Ok(Some(choice))
    }

    /// The method that was asked for, or the one that the loss allows.
    pub fn method_for(&self, family: Family) -> Result<PrivacyMethod> {
        let allowed = match family {
            Family::Squared => PrivacyMethod::Statistics,
            family if gradient_bound(family, 1.0).is_some() => PrivacyMethod::Output,
            family => refuse!(
                "--dp-epsilon: one row can change the {family} loss without limit; use --loss squared, huber, logistic, absolute or quantile"
            ),
        };
        let asked = self.method.unwrap_or(allowed);
        require!(
            asked == allowed,
            "--dp-method {}: not for the {family} loss; statistics is for squared, output for huber, logistic, absolute and quantile",
            asked.name()
        );
        Ok(asked)
    }

    /// The range of a column.
    pub fn range(&self, column: &str) -> Result<(f64, f64)> {
        let found = self.ranges.iter().find(|(name, _)| name == column);
        found.map(|(_, range)| *range).ok_or_else(|| {
            Error::Request(format!(
                "--dp-range: nothing is known about column `{column}`; give --dp-range {column}=LOW:HIGH \
                 (from what you know about it, not from these rows)"
            ))
        })
    }
}

/// Settings that would let rows out by another way.
fn refuse_leaks(reader: &Reader) -> Result<()> {
    let chosen = reader.number("lambda").is_none();
    require!(!chosen, "--dp-epsilon needs --lambda NUMBER: choosing it on rows would tell about them");
    for (key, why) in [
        ("standardize", "means and deviations of the rows would tell about them; features are scaled by --dp-range"),
        ("validation", "errors on held-out rows would tell about them"),
        ("weight", "weights of rows would tell about them"),
        ("calibrate", "errors on rows would tell about them"),
        ("folds", "errors on rows would tell about them"),
        ("resume", "a checkpoint holds models without noise"),
        ("loss-column", "all nodes must have the same loss"),
        ("hub", "the common mean is not released with noise"),
    ] {
        require!(!reader.has(key), "--{key} does not go with --dp-epsilon: {why}");
    }
    require!(
        reader.text("missing") != Some("mean"),
        "--missing mean does not go with --dp-epsilon: means tell about rows"
    );
    require!(
        reader.text("coupling") != Some("learnt"),
        "--coupling learnt does not go with --dp-epsilon: it looks at all rows"
    );
    Ok(())
}

/// `column=low:high`.
fn range(text: &str) -> Result<(String, (f64, f64))> {
    let parsed = text.rsplit_once('=').and_then(|(name, ends)| {
        let (low, high) = ends.split_once(':')?;
        Some((name.to_owned(), (low.trim().parse::<f64>().ok()?, high.trim().parse::<f64>().ok()?)))
    });
    match parsed {
        Some((name, (low, high))) if low < high && (high - low).is_finite() => Ok((name, (low, high))),
        _ => refuse!("--dp-range {text}: expected COLUMN=LOW:HIGH with LOW below HIGH, e.g. age=0:100"),
    }
}
