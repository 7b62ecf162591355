//! What can be wrong with a report.

/// Why a report cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// An edge refers to a node that is not there.
    #[error("edge {edge} refers to node {node}, but there are {nodes} nodes")]
    EdgeEnd {
        /// The position of the edge.
        edge: usize,
        /// The node it refers to.
        node: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A node refers to a cluster that is not there.
    #[error("node {node} is in cluster {cluster}, but there are {clusters} clusters")]
    NodeCluster {
        /// The position of the node.
        node: usize,
        /// The cluster it refers to.
        cluster: usize,
        /// The number of clusters.
        clusters: usize,
    },
    /// A model has the wrong number of parameters.
    #[error("{owner} {index} has {found} parameters, expected {expected}")]
    ModelLength {
        /// `node` or `cluster`.
        owner: &'static str,
        /// Its position.
        index: usize,
        /// The parameters it has.
        found: usize,
        /// The parameters it should have.
        expected: usize,
    },
    /// A table of classes is not square.
    #[error("the table of {classes} classes does not have as many rows and columns")]
    Confusion {
        /// The number of classes.
        classes: usize,
    },
    /// The path has no points, or its chosen point is not one of them.
    #[error("the chosen point of the path is {chosen}, but there are {points} points")]
    PathChosen {
        /// The point chosen.
        chosen: usize,
        /// The number of points.
        points: usize,
    },
    /// Something is wrong with one point of the path.
    #[error("point {point} of the path: {what}")]
    PathPoint {
        /// The position of the point.
        point: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The page template failed; a bug.
    #[error("the page template failed: {0}")]
    Template(#[from] minijinja::Error),
    /// The data of the page could not be written as JSON; a bug.
    #[error("the data of the page cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}
