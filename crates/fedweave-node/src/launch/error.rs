//! Why a federation cannot be launched.

use std::path::PathBuf;

use fedweave_io::IoError;

use crate::certs::CertError;
use crate::error::Error;

/// A federation of processes that cannot be prepared, run or gathered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the words of the messages right above them
pub enum LaunchError {
    /// A number of parts that makes no sense.
    #[error("--parts {parts}: between 1 and {}", super::PARTS_MAX)]
    Parts { parts: usize },
    /// Not a host for each part.
    #[error("--hosts: {hosts} hosts for {parts} parts; give one, or one for each")]
    Hosts { hosts: usize, parts: usize },
    /// A port without room above it.
    #[error("--port {port}: too high")]
    Port { port: u16 },
    /// The machine is full.
    #[error("no {count} free ports on this machine")]
    NoPorts { count: usize },
    /// The folder of the files is there already.
    #[error("{}: exists already; --work makes a new folder", path.display())]
    WorkExists { path: PathBuf },
    /// Nodes with losses of their own.
    #[error("a federation has one loss for all nodes")]
    SeveralLosses,
    /// A spared feature that the files cannot say.
    #[error("the last feature of node `{node}` is spared from the ridge and is not 1: only an intercept can be spared")]
    NoIntercept { node: String },
    /// Seeds of models that do not follow from the seed of the launch.
    #[error("the seed of node `{node}` does not follow from the seed {seed} of the federation")]
    Seed { node: String, seed: u64 },
    /// No round at all.
    #[error("--rounds 0: a federation needs at least one round")]
    NoRounds,
    /// The operating system refuses.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    /// A process does not start.
    #[error("a process cannot be started: {0}")]
    Start(std::io::Error),
    /// A process failed.
    #[error("{part} ended with {status}: {last_words}")]
    Failed { part: String, status: std::process::ExitStatus, last_words: String },
    /// What a process left is not what it was asked for.
    #[error("{}: {what}", path.display())]
    Result { path: PathBuf, what: String },
    /// A file of the program.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A certificate.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// The network cannot be cut.
    #[error(transparent)]
    Network(#[from] Error),
    /// A settings file cannot be written.
    #[error(transparent)]
    Toml(#[from] toml::ser::Error),
}
