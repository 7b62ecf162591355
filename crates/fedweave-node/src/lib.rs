//! The federation: every part keeps its data, the network returns the same answer as one machine, bit for bit.
//!
//! A [`Part`] is a state machine without clock, socket, thread or random source: [`Event`]s in, [`Effect`]s out. Whoever
//! drives it hands over frames, makes checkpoints durable and tells the time.
//!
//! ```text
//! launch: a Network is cut     -> a folder with node.toml and rows for each part -> processes -> what they found
//! config: node.toml <-> Plan      process: one part with its state folder, log, metrics, transport and result
//! run: the loop around a Part     simulator, in_process: many parts in one thread
//! ```

pub mod certs;
pub mod checkpoint;
pub mod config;
pub mod coupling;
pub mod error;
pub mod event_log;
pub mod exposure;
mod hash;
pub mod hub;
pub mod in_process;
mod kernel;
pub mod launch;
pub mod ledger;
pub mod metrics;
pub mod models;
pub mod network;
pub mod noise;
pub mod part;
pub mod plan;
pub mod private;
pub mod process;
mod protect;
pub mod run;
pub mod simulator;
pub mod subproblem;
pub mod transport;
pub mod wire;

pub use checkpoint::{FileStore, Store};
pub use config::{PartFile, PartSettings};
pub use coupling::CouplingPlan;
pub use error::{Error, Result};
pub use exposure::{Exposure, exposure};
pub use hub::{Hub, hub_name, joined_to_all};
pub use models::{Models, PublicSets};
pub use network::Network;
pub use part::{Effect, Event, InStep, Note, Outcome, Part, PeerStatus, Reason, State, Status};
pub use plan::{DeadPolicy, MethodSpec, Patience, PeerId, PenaltyKind, Plan, PlanEdge, StopRule};
