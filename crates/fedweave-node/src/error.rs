//! What can be wrong with a plan, a checkpoint or a frame. Facts only.

use thiserror::Error;

/// A plan or checkpoint that cannot be used.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Error {
    /// The mathematics refuses the plan.
    #[error(transparent)]
    Problem(#[from] fedweave::Error),
    /// Names of nodes are not in strictly increasing byte order.
    #[error("node `{node}` is out of order: nodes of a part must be in strictly increasing byte order")]
    NodeOrder {
        /// The first node out of order.
        node: String,
    },
    /// A node whose name comes after all names that a common mean can have.
    #[error("node `{node}`: no name is left for the common mean of all nodes; rename the node")]
    HubName {
        /// The node.
        node: String,
    },
    /// A part that is not among those that learn the coupling.
    #[error("part `{part}` is not among the members that learn the coupling")]
    NotAMember {
        /// The part.
        part: String,
    },
    /// An edge starts at a node of another part.
    #[error("edge {edge} starts at `{node}`, which is not a node of this part")]
    ForeignNode {
        /// Position of the edge.
        edge: usize,
        /// The node.
        node: String,
    },
    /// An edge inside the part ends at a node that the part does not have, or one across parts at a node that it has.
    #[error("edge {edge} ends at `{node}`: an edge inside the part must end at one of its nodes, any other elsewhere")]
    Neighbour {
        /// Position of the edge.
        edge: usize,
        /// The node.
        node: String,
    },
    /// An edge names a neighbouring part that is not in the list, or the same node in two parts.
    #[error("edge {edge} to `{node}`: {what}")]
    Peer {
        /// Position of the edge.
        edge: usize,
        /// The node at the other side.
        node: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A setting out of its range.
    #[error("{name} is {value}; it must be {needs}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed range.
        needs: &'static str,
    },
    /// The model of a node cannot be built.
    #[error("node `{node}`: {source}")]
    Model {
        /// The node.
        node: String,
        /// Why not.
        source: fedweave::model::SpecError,
    },
    /// The model of a node cannot be fitted.
    #[error("node `{node}`: {source}")]
    Fit {
        /// The node.
        node: String,
        /// Why not.
        source: fedweave::model::FitError,
    },
    /// Predictions on the public rows of a node are needed, and it has none.
    #[error("node `{node}` has no public rows; add some, or use the same for all nodes")]
    NoPublicRows {
        /// The node.
        node: String,
    },
    /// A checkpoint that does not belong to the plan, or is damaged.
    #[error("the checkpoint cannot be used: {what}")]
    Checkpoint {
        /// Why not.
        what: &'static str,
    },
    /// A file of checkpoints that cannot be read or written.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What the operating system says.
        what: String,
    },
}

/// Result with this crate's `Error`.
pub type Result<T> = std::result::Result<T, Error>;
