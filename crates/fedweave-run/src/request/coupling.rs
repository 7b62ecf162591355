//! Where the coupling of the models comes from.

use super::settings::Reader;
use crate::error::{Result, require};

/// How models are coupled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum CouplingChoice {
    /// By a penalty and one strength for all parameters.
    #[default]
    Given,
    /// By what the rows say: how much each coefficient varies, and how much of that neighbours share.
    Learnt,
}

impl CouplingChoice {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        let choice =
            reader.choice("coupling", &[("given", CouplingChoice::Given), ("learnt", CouplingChoice::Learnt)])?;
        if choice == CouplingChoice::Learnt {
            let fixed = reader.number("lambda").is_some();
            require!(!fixed, "--lambda does not go with --coupling learnt, which finds it from the rows");
            for key in ["penalty", "lambda-grid", "lambda-rule", "hub", "loss-column", "node-weight"] {
                require!(!reader.has(key), "--{key} does not go with --coupling learnt, which finds it from the rows");
            }
            let solver = reader.text("solver").unwrap_or("auto");
            require!(
                ["auto", "newton", "newton-cg", "primal-dual"].contains(&solver),
                "--solver {solver} does not go with --coupling learnt"
            );
        }
        Ok(choice)
    }
}
