//! The strength of the coupling: a number, or how to choose it.

use fedweave::tune::Rule;

use super::settings::{Reader, at_least};
use crate::error::{Result, require};

/// Lambda, or how to choose it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LambdaChoice {
    /// `None`: choose it.
    pub fixed: Option<f64>,
    /// Values to choose from; `None`: a grid from the data.
    pub grid: Option<Vec<f64>>,
    /// Which of them wins.
    pub rule: Rule,
}

impl LambdaChoice {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        let rules = [("minimum", Rule::Minimum), ("one-se", Rule::OneStandardError)];
        Ok(LambdaChoice { rule: reader.choice("lambda-rule", &rules)?, ..LambdaChoice::read_without_rule(reader)? })
    }

    pub(super) fn read_without_rule(reader: &Reader) -> Result<Self> {
        let fixed = reader.number("lambda").map(|value| at_least("lambda", value, 0.0)).transpose()?;
        let grid = reader.numbers_from("lambda-grid", 0.0)?;
        require!(fixed.is_none() || grid.is_none(), "give --lambda or --lambda-grid, not both");
        Ok(LambdaChoice { fixed, grid, rule: Rule::default() })
    }
}
