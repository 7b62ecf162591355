//! What can be wrong with the mathematics' inputs. Facts only; whoever knows files and lines adds them.

use thiserror::Error;

/// An input that does not describe a problem. `row` and `column` count from 0 in the [`Dataset`](crate::Dataset).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A size differs from the one the rest of the problem implies.
    #[error("{what}: expected {expected}, found {found}")]
    Size {
        /// What was counted.
        what: &'static str,
        /// The count the rest of the problem implies.
        expected: usize,
        /// The count that was given.
        found: usize,
    },
    /// An edge joins a node with itself.
    #[error("node {node} has an edge to itself")]
    SelfLoop {
        /// The node.
        node: usize,
    },
    /// An edge names a node that does not exist.
    #[error("edge {edge} names node {node}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Position of the edge in the list.
        edge: usize,
        /// The missing node.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// Somebody asked to stop before there was a result.
    #[error("stopped before there was a result")]
    Stopped,
    /// A name that no node has.
    #[error("no node is named `{name}`")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// An edge weight that is not a positive finite number.
    #[error("edge {edge} has weight {weight}; weights must be positive and finite")]
    EdgeWeight {
        /// Position of the edge in the list.
        edge: usize,
        /// The weight.
        weight: f64,
    },
    /// The same edge twice with different weights.
    #[error("edges {first} and {second} join the same two nodes with different weights")]
    EdgeConflict {
        /// Position of the first mention.
        first: usize,
        /// Position of the second mention.
        second: usize,
    },
    /// A feature, label or row weight that is not a finite number.
    #[error("row {row}: {what} is not a finite number")]
    NotFinite {
        /// Row of the dataset.
        row: usize,
        /// "feature 3", "label", "row weight".
        what: String,
    },
    /// A row weight below zero.
    #[error("row {row} has weight {weight}; row weights must be zero or positive")]
    RowWeight {
        /// Row of the dataset.
        row: usize,
        /// The weight.
        weight: f64,
    },
    /// A label outside the domain of the loss.
    #[error("row {row}: label {label} does not fit the {loss} loss, which needs {needs}")]
    Label {
        /// Row of the dataset.
        row: usize,
        /// The label.
        label: f64,
        /// Name of the loss.
        loss: &'static str,
        /// The labels that would fit.
        needs: &'static str,
    },
    /// A column so large or small that its squares leave the range of f64.
    #[error(
        "column {column} has entries of size {size:e}; squares of that leave the range of double precision: rescale the column or standardise"
    )]
    Scale {
        /// Column of the dataset.
        column: usize,
        /// The largest absolute entry.
        size: f64,
    },
    /// A method that does not fit the problem.
    #[error("{method} needs {needs}")]
    Method {
        /// Name of the method, as on the command line.
        method: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A model that cannot be fitted to the rows of a node, or predict.
    #[error("node {node}: {source}")]
    Fit {
        /// The node.
        node: usize,
        /// Why.
        source: crate::model::FitError,
    },
    /// A description of a model that cannot be used at a node.
    #[error("node {node}: {source}")]
    Spec {
        /// The node.
        node: usize,
        /// Why.
        source: crate::model::SpecError,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}; it must be {needs}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed range.
        needs: &'static str,
    },
}

/// Result with this crate's `Error`.
pub type Result<T> = std::result::Result<T, Error>;
