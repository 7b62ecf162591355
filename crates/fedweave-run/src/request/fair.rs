//! Groups of rows whose errors are evened out.

use fedweave::Dataset;
use fedweave::loss::LossOptions;
use fedweave::trust::fairness::{Balanced, weighted, with_swapped};

use super::settings::Reader;
use crate::error::{Result, refuse, require};

/// Groups, and how they are treated.
#[derive(Debug, Clone, PartialEq)]
pub struct FairChoice {
    /// The column that tells groups apart.
    pub column: String,
    /// What is done about them.
    pub by: FairRule,
    /// How strongly.
    pub strength: f64,
    /// What the groups count, once that was found.
    pub balanced: Option<Balanced>,
}

/// What is done about groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FairRule {
    /// A group counts the more the larger its error.
    Errors,
    /// Every row also stands there as if it were of the other groups.
    Swap,
}

impl FairRule {
    /// What `fair-by` calls them.
    pub const NAMES: [(&str, FairRule); 2] = [("errors", FairRule::Errors), ("swap", FairRule::Swap)];

    /// Its name.
    pub fn name(self) -> &'static str {
        FairRule::NAMES.iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| name)
    }
}

/// Weights of groups would follow the rounding of their errors.
const POWER_MAX: f64 = 100.0;

impl FairChoice {
    /// Checked.
    pub fn new(column: &str, by: FairRule, strength: f64) -> Result<FairChoice> {
        let most = if by == FairRule::Swap { 1.0 } else { POWER_MAX };
        require!(
            (0.0..=most).contains(&strength),
            "--fair-strength {strength}: must be from 0 to {most} with --fair-by {}",
            by.name()
        );
        Ok(FairChoice { column: column.into(), by, strength, balanced: None })
    }

    pub(super) fn read(reader: &Reader) -> Result<Option<FairChoice>> {
        let Some(column) = reader.text("fair") else { return Ok(None) };
        let by = reader.choice("fair-by", &FairRule::NAMES)?;
        let strength = reader.number("fair-strength").unwrap_or(1.0);
        let in_the_way = [
            (reader.has("guesses"), "--guesses"),
            (reader.has("dp-epsilon"), "--dp-epsilon: errors of groups tell about rows"),
            (reader.flag("fallback"), "--fallback: local models know no groups"),
            (reader.text("loss") == Some("point"), "--loss point, which predicts no rows"),
            (reader.text("coupling").is_some_and(|rule| rule == "learnt"), "--coupling learnt"),
        ];
        if let Some((_, flag)) = in_the_way.iter().find(|(there, _)| *there) {
            refuse!("--fair does not go with {flag}");
        }
        Ok(Some(FairChoice::new(column, by, strength)?))
    }

    /// Columns of the features that tell the group.
    pub fn columns(column: &str, features: &[String]) -> Vec<usize> {
        let levels = format!("{column}=");
        (0..features.len()).filter(|&j| features[j] == column || features[j].starts_with(&levels)).collect()
    }

    /// Rows as they are to be trained with, and the options of their loss.
    pub(crate) fn join(
        &self,
        rows: Dataset,
        options: &LossOptions,
        features: &[String],
    ) -> Result<(Dataset, LossOptions)> {
        match (self.by, &self.balanced) {
            (FairRule::Errors, Some(found)) => Ok(weighted(&rows, &found.weights, options)),
            (FairRule::Errors, None) => Ok((rows, *options)),
            (FairRule::Swap, _) => {
                let columns = FairChoice::columns(&self.column, features);
                require!(
                    !columns.is_empty(),
                    "--fair-by swap: `{0}` is not among the features, so models cannot tell its groups apart; \
                     --fair-by errors needs no feature, --one-hot {0} makes a text column one",
                    self.column
                );
                Ok(with_swapped(&rows, &columns, self.strength, options)?)
            }
        }
    }
}
