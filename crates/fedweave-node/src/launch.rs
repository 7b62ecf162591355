//! A whole network as a federation of processes on this machine, or as the files for one on several: [`prepare`] cuts it and
//! writes the files, [`Processes`] runs them, [`collect`] and [`collect_models`] gather what they found.
//!
//! How a process of this program is started, whether somebody wants to stop, and who is told how it goes: the caller knows.

mod collect;
mod error;
mod files;
mod ports;
mod prepare;
mod processes;

pub use collect::{Collected, CollectedModels, Exchange, certify_collected, collect, collect_models};
pub use error::LaunchError;
pub use prepare::{LaunchOptions, PARTS_MAX, Prepared, prepare};
pub use processes::{Factory, Processes};
