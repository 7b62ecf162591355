//! What stands in `node.toml`. The same structs write it (`fedweave up`) and read it (`fedweave node`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::model::ModelSection;
use super::privacy::PrivacySection;

/// The file of one part. Paths are relative to the folder of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartFile {
    /// Name of the part, as in its certificate.
    pub name: String,
    /// `host:port` to listen on.
    pub listen: String,
    /// Folder for checkpoints, the event log and the result.
    pub state: PathBuf,
    /// Loopback address for metrics and `fedweave status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Certificates; without them the part may only run on loopback addresses, and must be told so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<CertificateSection>,
    /// What all parts agree on.
    pub federation: FederationSection,
    /// The parts learn the coupling before their rounds; `lambda` and the penalty are then learnt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<CouplingSection>,
    /// Patience with silent neighbours.
    #[serde(default)]
    pub silence: SilenceSection,
    /// Data and model.
    pub model: ModelSection,
    /// Noise that protects every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacySection>,
    /// Neighbouring parts.
    #[serde(default, rename = "neighbour")]
    pub neighbours: Vec<NeighbourEntry>,
    /// fedrelax-predictions: nodes of this part with a model class of their own.
    #[serde(default, rename = "node", skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeEntry>,
    /// Edges that touch nodes of this part.
    #[serde(default, rename = "edge")]
    pub edges: Vec<EdgeEntry>,
}

/// Certificates of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CertificateSection {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The part's own.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The revocation list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<PathBuf>,
}

/// What all parts agree on: frames of a part that differs are refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FederationSection {
    /// Number of parts; a bound on how far apart two of them can be.
    pub parts: u32,
    /// Number of rounds, at most.
    pub rounds: u64,
    /// Stop when the largest residual of the network is at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// No two parts are farther apart than so many steps [default: parts - 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diameter: Option<u32>,
    /// primal-dual, fedgd, noisy-fedgd (with a section `[privacy]`), fedrelax, fedrelax-predictions or async-fedgd [default: primal-dual].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// primal-dual: ratio of primal to dual steps [default: 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ratio: Option<f64>,
    /// primal-dual: relaxation [default: 1.8].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relaxation: Option<f64>,
    /// fedgd, noisy-fedgd, async-fedgd: step; one over the largest curvature of all nodes and pulls never diverges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// async-fedgd: a part may be so many rounds ahead of its neighbours [default: 5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staleness: Option<u64>,
    /// multinomial, fedrelax-predictions: number of classes; labels are then 0, 1, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<usize>,
    /// node-weight rows: what a unit of row weight counts, e.g. one over the mean number of rows of a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_unit: Option<f64>,
}

/// A coupling that is learnt; all parts agree on this section, too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CouplingSection {
    /// The common mean: a node without rows of one of the parts, to which every node has an edge.
    pub hub: String,
    /// Names of all parts, in byte order.
    pub members: Vec<String>,
}

/// What to do about silent neighbours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SilenceSection {
    /// wait, continue or stop [default: wait].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// A neighbour is dead after so many seconds without a link [default: 30].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_after_seconds: Option<f64>,
    /// A frame is sent again after so many milliseconds, then at growing intervals [default: 100].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
}

/// A neighbouring part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NeighbourEntry {
    /// Its name, as in its certificate.
    pub name: String,
    /// `host:port` to dial; one end of every pair must have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// The model of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodeEntry {
    /// The node.
    pub name: String,
    /// Its model class and options, as for `--model` [default: model.model].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its number in the whole network, from which the random numbers of its model follow [default: from its name].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

/// An edge from a node of this part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgeEntry {
    /// A node of this part.
    pub node: String,
    /// The node at the other side.
    pub neighbour: String,
    /// The part that holds it [default: this one].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its weight [default: 1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}
