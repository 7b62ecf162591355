//! `node.toml`, the file of a part <-> its [`Plan`](crate::Plan). [`PartFile`] is what stands in it; [`PartFile::of`] writes
//! the one of a plan, [`PartSettings::read`] says what one means. Both agree, also on the number that tells federations
//! apart ([`Plan::agreement`](crate::Plan::agreement)).

mod error;
mod file;
mod model;
mod privacy;
mod read;
mod rows;
mod shared;
mod status;
mod write;

pub use error::{ConfigError, ConfigFault, choice};
pub use file::{CertificateSection, EdgeEntry, FederationSection, NeighbourEntry, NodeEntry, PartFile, SilenceSection};
pub use model::ModelSection;
pub use privacy::PrivacySection;
pub use read::PartSettings;
pub(crate) use rows::plain_encoding;
pub use status::{MetricsAddress, StatusError, metrics_addresses};
pub use write::{ModelPlacement, Placement};
