//! A process of a federation, as the page shows it.

use serde::Serialize;

/// Where one process of a federation stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: String,
    /// Rounds done.
    pub round: u64,
    /// Largest residual it knows of.
    pub residual: Option<f64>,
    /// Bytes sent to neighbours, and received from them.
    pub sent: u64,
    /// See `sent`.
    pub received: u64,
    /// Neighbours that it can reach.
    pub up: usize,
    /// Neighbours that it has.
    pub neighbours: usize,
    /// It is gone, or does not answer: why.
    pub lost: Option<String>,
}
