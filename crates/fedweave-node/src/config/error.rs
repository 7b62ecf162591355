//! What can be wrong with the file of a part, with the key and the remedy.

use std::path::PathBuf;

use fedweave::model::SpecError;
use fedweave_io::IoError;

use crate::certs::CertError;
use crate::transport::TransportError;

/// A file of a part that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read, or does not say what such a file says; the text names file and line.
    #[error(transparent)]
    File(#[from] IoError),
    /// What it says cannot be carried out.
    #[error("{}: {fault}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Box<ConfigFault>,
    },
}

/// What is wrong with what the file of a part says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the words of the messages right above them
pub enum ConfigFault {
    /// Something is missing.
    #[error("{key}: {remedy}")]
    Missing { key: &'static str, remedy: &'static str },
    /// A value out of its range.
    #[error("{key} = {value}: {needs}")]
    Value { key: &'static str, value: String, needs: &'static str },
    /// A word that is not known.
    #[error("{key} {value}: unknown; use {}", known.join(" or "))]
    Word { key: &'static str, value: String, known: Vec<&'static str> },
    /// A key that means nothing beside others.
    #[error("{key} belongs to {owner}")]
    Belongs { key: &'static str, owner: String },
    /// A key that models of any class do not have.
    #[error(
        "model: --{key} does not go with --model: models of any class are fitted by their own rules and coupled by predictions"
    )]
    AnyClass { key: &'static str },
    /// A part that is its own neighbour.
    #[error("neighbour `{name}` is this part itself")]
    OwnNeighbour { name: String },
    /// Two entries of one name.
    #[error("{entry} `{name}` is listed twice")]
    Twice { entry: &'static str, name: String },
    /// An edge to a part that is not a neighbour.
    #[error("edge {edge} to `{node}`: `{part}` is not a [[neighbour]]")]
    NotANeighbour { edge: usize, node: String, part: String },
    /// A `[[node]]` entry for a node of somebody else.
    #[error("[[node]] `{name}`: not a node of this part")]
    NotANode { name: String },
    /// A node without a model class.
    #[error("node `{name}`: which model? write model.model or a [[node]] entry")]
    NoModel { name: String },
    /// A model class that cannot be read.
    #[error("{place}: {error}")]
    ModelClass { place: String, error: SpecError },
    /// Certificates and none.
    #[error("--loopback-plaintext, but the file has certificates; leave out one of them")]
    TwoWays,
    /// No certificates.
    #[error(
        "no [certificates]: issue some with `fedweave certs`, or run on this machine only with --loopback-plaintext"
    )]
    NoCertificates,
    /// A certificate, or a name that cannot stand in one.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// An address.
    #[error(transparent)]
    Endpoint(#[from] TransportError),
    /// The rows.
    #[error(transparent)]
    Rows(#[from] IoError),
    /// The mathematics refuses rows.
    #[error("{place}: {error}")]
    Mathematics { place: String, error: fedweave::Error },
}

/// Result with a [`ConfigFault`].
pub(super) type Checked<T> = std::result::Result<T, ConfigFault>;

/// The fault that `key` has a value out of its range.
pub(super) fn out_of_range(key: &'static str, value: impl ToString, needs: &'static str) -> ConfigFault {
    ConfigFault::Value { key, value: value.to_string(), needs }
}

/// The value that a word stands for; the first one if there is no word.
pub fn choice<T: Copy>(key: &'static str, word: Option<&str>, known: &[(&'static str, T)]) -> Checked<T> {
    let Some(word) = word else { return Ok(known[0].1) };
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    let names = || known.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| ConfigFault::Word { key, value: word.into(), known: names() })
}
