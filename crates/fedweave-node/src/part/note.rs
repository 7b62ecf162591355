//! What a part reports: notes for the event log, the outcome, the status.

use std::collections::BTreeMap;

use fedweave::Matrix;
use serde::{Deserialize, Serialize};

/// Something worth writing down. Peers are named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Note {
    /// The first round begins.
    Started,
    /// The part goes on from a checkpoint taken after this round.
    Restored {
        /// Rounds done.
        round: u64,
    },
    /// A neighbour can be reached.
    LinkUp {
        /// Its name.
        peer: String,
    },
    /// A neighbour cannot be reached.
    LinkDown {
        /// Its name.
        peer: String,
    },
    /// A neighbour was silent for too long.
    PeerDead {
        /// Its name.
        peer: String,
        /// The round in flight.
        round: u64,
    },
    /// The edges to a neighbour no longer count.
    EdgesDropped {
        /// Its name.
        peer: String,
        /// From this round on.
        round: u64,
    },
    /// A neighbour does not count this part: it must join again.
    NotCounted {
        /// Its name.
        peer: String,
        /// The neighbour's round.
        round: u64,
    },
    /// All neighbours count this part.
    Joined {
        /// From this round on.
        round: u64,
    },
    /// A neighbour is counted on from a round on.
    PeerJoins {
        /// Its name.
        peer: String,
        /// From this round on.
        round: u64,
    },
    /// A neighbour leaves.
    PeerLeft {
        /// Its name.
        peer: String,
        /// After this round.
        round: u64,
    },
    /// A neighbour has ended before this part; its last rows stand.
    PeerEnded {
        /// Its name.
        peer: String,
        /// The rows are those of this round.
        round: u64,
    },
    /// Nothing is heard of a neighbour whose rows are waited for, although it may be connected.
    PeerSilent {
        /// Its name.
        peer: String,
        /// The round in flight.
        round: u64,
    },
    /// A neighbour is so far ahead that its rows are of no use: this part, or that one, came back with an old state.
    PeerAhead {
        /// Its name.
        peer: String,
        /// Its round.
        round: u64,
        /// Rounds done here.
        done: u64,
    },
    /// The two ends differ in what they must have in common.
    Disagreement {
        /// The neighbour.
        peer: String,
        /// In what.
        what: String,
    },
    /// Nobody is left who would count this part: it goes on alone.
    Alone {
        /// From this round on.
        round: u64,
    },
    /// A frame was refused.
    PeerMisbehaved {
        /// Its name.
        peer: String,
        /// Why.
        what: String,
    },
    /// A model could not be fitted.
    NotFitted {
        /// Which, and why.
        what: String,
    },
    /// The coupling is known, and the rounds begin.
    CouplingLearnt {
        /// Questions that all parts have answered.
        questions: u64,
        /// Share of the graph.
        rho: f64,
    },
    /// The budget for noisy gradients is used up.
    Spent {
        /// Gradients that were released.
        releases: u64,
    },
    /// The largest residual of the network was computed.
    NetworkResidual {
        /// The round it belongs to.
        round: u64,
        /// The residual.
        residual: f64,
    },
    /// The part is done.
    Finished {
        /// Rounds done.
        round: u64,
        /// Why.
        reason: Reason,
    },
}

/// Why a part stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The largest residual of the network is within the tolerance.
    Converged,
    /// The number of rounds that was asked for.
    RoundLimit,
    /// A neighbour is dead or has left, and the policy is to stop.
    PeerLost,
    /// It was asked to leave.
    Left,
    /// A neighbour had finished before.
    PeerFinished,
    /// The privacy of its rows is spent: nothing more may be released.
    Spent,
    /// A number left the range of f64 (the step is too long, or a liar has no bound), or a model could not be fitted.
    Diverged,
}

/// The end of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why.
    pub reason: Reason,
    /// Rounds done.
    pub round: u64,
    /// The largest residual of the network, as last computed; infinite if it never was.
    pub residual: f64,
    /// The models, a row per node of the plan.
    pub models: Matrix,
    /// The flows, a row per edge of the plan, oriented from the end with the smaller name.
    pub flows: Matrix,
}

/// Where a part stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Rounds done.
    pub round: u64,
    /// In words.
    pub state: State,
    /// The largest residual of the network, as last computed.
    pub residual: Option<f64>,
    /// After the end: every neighbour has all it needs from this part, which may go.
    pub settled: bool,
    /// The neighbours, in the order of the plan.
    pub peers: Vec<PeerStatus>,
}

/// What a part is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not started.
    New,
    /// Asking neighbours from which round on to take part.
    Joining,
    /// Learning the coupling with all other parts.
    Learning,
    /// Waiting for the rows of neighbours.
    Waiting,
    /// Done.
    Finished,
}

/// What is known of a neighbour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerStatus {
    /// Its name.
    pub name: String,
    /// True while its link is up.
    pub up: bool,
    /// False while its edges do not count.
    pub counted: bool,
    /// The highest round of which all rows came.
    pub round: u64,
    /// Bytes of frames received.
    pub bytes_in: u64,
    /// Bytes of frames sent.
    pub bytes_out: u64,
    /// Frames sent again.
    pub resent: u64,
    /// Frames refused.
    pub refused: u64,
    /// The same by reason.
    pub refusals: BTreeMap<&'static str, u64>,
    /// True if it takes part in our rounds.
    pub in_step: bool,
    /// True if its rows are waited for.
    pub awaited: bool,
    /// True if it ended before this part, and its last rows stand.
    pub stands: bool,
    /// After the end: it has not said that it has the last rows.
    pub lacks: bool,
}
