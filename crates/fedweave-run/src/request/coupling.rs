//! Where the coupling of the models comes from.

use fedweave::learn::coupling::{FormChoice, Structure};

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

/// Which covariances of the models a learnt coupling has.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StructureChoice {
    /// An average of all, weighed by folds.
    #[default]
    Average,
    /// The one of the largest likelihood.
    Likelihood,
    /// A diagonal one and a few directions in common, as many as nodes can tell.
    LowRank,
    /// This one.
    One(Structure),
}

/// What a difference of models costs with a learnt coupling.
pub(super) fn read_form(reader: &Reader, coupling: CouplingChoice) -> Result<FormChoice> {
    let key = "coupling-penalty";
    require!(!reader.has(key) || coupling == CouplingChoice::Learnt, "--{key} goes with --coupling learnt");
    let form = reader.choice(
        key,
        &[
            ("quadratic", FormChoice::Quadratic),
            ("huber", FormChoice::Huber),
            ("norm", FormChoice::Norm),
            ("auto", FormChoice::Auto),
        ],
    )?;
    require!(
        form == FormChoice::Quadratic || !reader.has("parts"),
        "--{key} {} does not go with --parts: parts of a federation learn the quadratic coupling only",
        reader.text(key).unwrap_or_default()
    );
    Ok(form)
}

impl StructureChoice {
    pub(super) fn read(reader: &Reader, coupling: CouplingChoice) -> Result<Self> {
        require!(
            !reader.has("structure") || coupling == CouplingChoice::Learnt,
            "--structure goes with --coupling learnt"
        );
        require!(!(reader.has("structure") && reader.has("parts")), "--structure does not go with --parts");
        let one = |structure| StructureChoice::One(structure);
        reader.choice(
            "structure",
            &[
                ("average", StructureChoice::Average),
                ("likelihood", StructureChoice::Likelihood),
                ("intercept", one(Structure::Intercept)),
                ("diagonal", one(Structure::Diagonal)),
                ("low-rank", StructureChoice::LowRank),
                ("full", one(Structure::Full)),
            ],
        )
    }
}

impl CouplingChoice {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        let choice =
            reader.choice("coupling", &[("given", CouplingChoice::Given), ("learnt", CouplingChoice::Learnt)])?;
        if choice == CouplingChoice::Learnt {
            let fixed = reader.number("lambda").is_some();
            require!(!fixed, "--lambda does not go with --coupling learnt, which finds it from the rows");
            for key in [
                "penalty",
                "lasso",
                "intercept-weight",
                "lambda-grid",
                "lambda-rule",
                "hub",
                "loss-column",
                "node-weight",
            ] {
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
