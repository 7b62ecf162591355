//! Where running parts can be asked how they are.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, ConfigFault};
use super::file::PartFile;

/// Why a part cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// Its file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address in it.
    #[error("{}: {fault}", path.display())]
    Address {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Box<ConfigFault>,
    },
    /// It has none.
    #[error("{}: no `metrics` address, so it cannot be asked", .0.display())]
    NoMetrics(PathBuf),
    /// A folder without parts.
    #[error("{}: no node.toml in it or in its folders", .0.display())]
    NoParts(PathBuf),
    /// A folder that cannot be read.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
}

/// Where a part can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsAddress {
    /// Its name.
    pub name: String,
    /// Where it answers.
    pub address: SocketAddr,
    /// The file with its token, if that is known.
    pub token: Option<PathBuf>,
}

/// The metrics behind a word: an address, the file of a part, or a folder with parts.
pub fn metrics_addresses(part: &str) -> Result<Vec<MetricsAddress>, StatusError> {
    if let Ok(address) = part.parse() {
        return Ok(vec![MetricsAddress { name: part.into(), address, token: None }]);
    }
    let path = Path::new(part);
    if !path.is_dir() {
        return Ok(vec![address_in(path)?]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| StatusError::Folder { path: path.into(), error })?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("node.toml")).collect();
    files.push(path.join("node.toml"));
    files.retain(|file| file.is_file());
    files.sort();
    if files.is_empty() {
        return Err(StatusError::NoParts(path.into()));
    }
    files.iter().map(|file| address_in(file)).collect()
}

fn address_in(path: &Path) -> Result<MetricsAddress, StatusError> {
    let file = PartFile::read(path)?;
    let address =
        file.metrics_address().map_err(|fault| StatusError::Address { path: path.into(), fault: Box::new(fault) })?;
    let address = address.ok_or_else(|| StatusError::NoMetrics(path.into()))?;
    let token = path.parent().unwrap_or(Path::new(".")).join(&file.state).join(crate::metrics::TOKEN);
    Ok(MetricsAddress { name: file.name, address, token: Some(token) })
}
