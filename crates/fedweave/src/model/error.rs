//! What can go wrong with a model: in its description, in the rows it is fitted to.

use thiserror::Error;

/// Rows a model cannot be fitted to, or predict.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FitError {
    /// A size differs from the one the model implies.
    #[error("{what}: expected {expected}, found {found}")]
    Size {
        /// What was counted.
        what: &'static str,
        /// The count the model implies.
        expected: usize,
        /// The count that was given.
        found: usize,
    },
    /// A feature, target or row weight that is not a finite number.
    #[error("row {row}: {what} is not a finite number")]
    NotFinite {
        /// Row, counted from 0.
        row: usize,
        /// "feature 3", "target", "row weight".
        what: String,
    },
    /// A row weight below zero.
    #[error("row {row} has weight {weight}; row weights must be zero or positive")]
    RowWeight {
        /// Row, counted from 0.
        row: usize,
        /// The weight.
        weight: f64,
    },
    /// A label or row of targets that is no class and no probabilities.
    #[error("row {row}: label {label} does not fit a classifier of {classes} classes, which needs {needs}")]
    Label {
        /// Row, counted from 0.
        row: usize,
        /// The label, or the first target out of range.
        label: f64,
        /// Number of classes.
        classes: usize,
        /// The labels that would fit.
        needs: &'static str,
    },
    /// Nothing to fit to.
    #[error("no row has a positive weight: there is nothing to fit {model} to")]
    NoRows {
        /// The model class.
        model: &'static str,
    },
    /// A fit left the range of f64.
    #[error("fitting {model} gave numbers that are not finite: {hint}")]
    Diverged {
        /// The model class.
        model: &'static str,
        /// What to try.
        hint: &'static str,
    },
    /// A model from elsewhere that could not be fitted, or not predict.
    #[error("the {model} model failed: {what}")]
    Failed {
        /// The model class.
        model: &'static str,
        /// What it said.
        what: String,
    },
    /// A fitted model read from a file that no fit can have written.
    #[error("damaged {model} model: {what}")]
    Damaged {
        /// The model class.
        model: &'static str,
        /// What is wrong.
        what: &'static str,
    },
}

/// A description of a model that means nothing.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SpecError {
    /// A model class that does not exist.
    #[error("unknown model '{name}'; known models: {known}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What exists.
        known: String,
    },
    /// An option that the model class does not have.
    #[error("model {model} has no option '{option}'; its options: {known}")]
    UnknownOption {
        /// The model class.
        model: &'static str,
        /// What was given.
        option: String,
        /// What exists.
        known: String,
    },
    /// An option without a value.
    #[error("model {model}: '{found}' is not an option; write name=value, with a name of: {known}")]
    Malformed {
        /// The model class.
        model: &'static str,
        /// What was given.
        found: String,
        /// Options that exist.
        known: String,
    },
    /// An option outside its range.
    #[error("model {model}: {option} is '{value}'; it must be {needs}")]
    Value {
        /// The model class.
        model: &'static str,
        /// The option.
        option: String,
        /// Its value.
        value: String,
        /// The allowed values.
        needs: &'static str,
    },
    /// A model class that cannot do what it is asked to.
    #[error("model {model} cannot be used for {task}: it needs {needs}")]
    Task {
        /// The model class.
        model: &'static str,
        /// "regression" or "classification".
        task: &'static str,
        /// What it can be used for.
        needs: &'static str,
    },
}
