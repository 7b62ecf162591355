//! What a run needs, and how it can end.

use std::time::Duration;

use fedweave::Matrix;

use crate::checkpoint::Store;
use crate::event_log::{EventLog, LogError};
use crate::ledger::LedgerError;
use crate::metrics::Shared;
use crate::part::{Note, Outcome};
use crate::run::Quarantine;
use crate::transport::Transport;

/// Sees frames: to whom, and the bytes.
pub type Witness<'a> = dyn FnMut(usize, &[u8]) + 'a;

/// What a run needs besides the part.
pub struct Surroundings<'a> {
    /// The way to the neighbours.
    pub transport: &'a mut dyn Transport,
    /// Where checkpoints go.
    pub store: &'a mut dyn Store,
    /// Where releases that were paid for are written down.
    pub spend: &'a mut dyn FnMut(&[u8]) -> Result<(), LedgerError>,
    /// Where events go.
    pub log: &'a mut EventLog,
    /// What others may look at.
    pub shared: &'a Shared,
    /// Sees every frame that is sent, before encryption.
    pub witness: Option<&'a mut Witness<'a>>,
    /// Told what is written into the log about the part.
    pub tell: &'a mut dyn FnMut(&Note),
    /// Asked on every tick.
    pub wish: &'a mut dyn FnMut() -> Wish,
    /// Judges the models of the part while it runs, if somebody does.
    pub judge: Option<&'a mut dyn FnMut(&Matrix) -> Judged>,
    /// How neighbours are judged, if they are.
    pub quarantine: Option<Quarantine<'a>>,
    /// After the end, neighbours get at most so long to receive the last frames.
    pub linger: Duration,
}

/// Errors of the models of a part: means over its nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Judged {
    /// On the rows that it trains with.
    pub training: Option<f64>,
    /// On rows that it does not.
    pub validation: Option<f64>,
    /// On those of them that came since the process began.
    pub new: Option<f64>,
}

/// What the owner of the process wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    GoOn,
    /// Take leave of the federation for good.
    Leave,
    /// Stop now; the checkpoint stays.
    Stop,
}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    /// The part is done.
    Done(Outcome),
    /// It was stopped, and can be resumed.
    Stopped,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The ledger could not be written: nothing may be sent.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A checkpoint could not be written: without it nothing may be sent.
    #[error("the checkpoint cannot be written: {0}")]
    Checkpoint(String),
}
