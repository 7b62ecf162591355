//! What a part is told before it starts: its nodes and their data, its neighbours, the method, when to stop, and what to do
//! about neighbours that fall silent. Parts of one federation share everything but data and neighbours.

use fedweave::Dataset;
use fedweave::loss::{LossOptions, LossSpec};
use fedweave::penalty::{Norm1, Norm2, NormInf, Penalty, SquaredNorm};
use serde::{Deserialize, Serialize};

use crate::coupling::CouplingPlan;
use crate::hash::{Fnv, with_digest};
use crate::models::Models;
use crate::noise::NoisePlan;

/// The name of the method on predictions.
pub const ON_PREDICTIONS: &str = "fedrelax-predictions";
/// Stands for the authority of a federation without certificates.
pub const NO_AUTHORITY: &str = "plaintext";

/// A neighbouring part: its position in [`Plan::peers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PeerId(pub u32);

/// Everything a part needs to know.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of the part.
    pub name: String,
    /// Identifies the federation and its settings; frames and checkpoints of another one are refused.
    pub federation: u64,
    /// Its nodes, in byte order.
    pub nodes: Vec<String>,
    /// The rows of its nodes, in that order.
    pub data: Dataset,
    /// The losses of its nodes, in that order.
    pub loss: LossSpec,
    /// Options of the losses; `node_weight` must not depend on rows held elsewhere (see `NodeWeight::resolved`).
    pub loss_options: LossOptions,
    /// The penalty on edges.
    pub penalty: PenaltyKind,
    /// `lambda`.
    pub lambda: f64,
    /// Names of the neighbouring parts; a [`PeerId`] is a position in this list.
    pub peers: Vec<String>,
    /// The edges that touch its nodes.
    pub edges: Vec<PlanEdge>,
    /// How to minimise.
    pub method: MethodSpec,
    /// When to stop.
    pub stop: StopRule,
    /// Patience with silent neighbours.
    pub patience: Patience,
    /// Models of any class, for the method on predictions; `loss` and `penalty` then do not matter.
    pub models: Option<Models>,
    /// The coupling is learnt by all parts before the rounds.
    pub coupling: Option<CouplingPlan>,
    /// Noise of gradients, for the method that needs it.
    pub noise: Option<NoisePlan>,
}

impl Plan {
    /// Identifies what all parts of a federation agree on: [`Plan::federation`]. Rows are private and do not enter; nodes and
    /// edges do not either, because no part knows all of them.
    ///
    /// `authority` signed the certificates ([`NO_AUTHORITY`] if there are none); `features` are the names of the features,
    /// [`numbered_features`] where nobody named them.
    pub fn agreement(&self, authority: &str, features: &[String]) -> u64 {
        let hash = Fnv::new().text(authority).word(features.len() as u64);
        let hash = features.iter().fold(hash, |hash, name| hash.text(name));
        let StopRule { rounds_max, tolerance, diameter } = self.stop;
        let hash = hash.word(self.lambda.to_bits()).text(&format!("{:?}", self.method)).word(rounds_max);
        let hash = hash.word(tolerance.unwrap_or(-1.0).to_bits()).word(u64::from(diameter));
        if let Some(models) = &self.models {
            let settings = hash.text(&format!("{:?}", models.task)).finish();
            return with_digest(settings, models.public.digest());
        }
        let loss = match &self.loss {
            LossSpec::Same(family) => format!("{family:?}"),
            LossSpec::PerNode(_) => "each node its own".into(),
        };
        let LossOptions { ridge, lasso, spare_last, node_weight } = self.loss_options;
        let hash = hash.text(&loss).word(ridge.to_bits()).word(lasso.to_bits()).word(u64::from(spare_last));
        let hash = hash.text(&format!("{node_weight:?}")).text(self.penalty.name());
        match &self.coupling {
            Some(coupling) => {
                let hash = coupling.members.iter().fold(hash.text(&coupling.hub), |hash, name| hash.text(name));
                // The lower half tells later what was learnt.
                with_digest(hash.finish(), 0)
            }
            None => hash.finish(),
        }
    }
}

impl Plan {
    /// The name that the federation has in frames to and from a neighbour: of what all parts share, and of the edges between
    /// the two as this part knows them. Who knows other edges, or gives them other weights, is refused.
    pub fn link_name(&self, peer: PeerId) -> u64 {
        self.federation ^ self.link_mask(peer)
    }

    pub(crate) fn link_mask(&self, peer: PeerId) -> u64 {
        if let Some(mask) = self.coupling.as_ref().and_then(|coupling| coupling.links.get(peer.0 as usize)) {
            return *mask;
        }
        let hash = self
            .shared_edges(peer)
            .iter()
            .fold(Fnv::new(), |hash, (a, b, weight)| hash.text(a).text(b).word(weight.to_bits()));
        // The lower half is that of the digest.
        hash.finish() << 32
    }

    /// The edges to a neighbour in an order that both ends know: smaller name, larger name, weight.
    pub(crate) fn shared_edges(&self, peer: PeerId) -> Vec<(&str, &str, f64)> {
        let ours = self.edges.iter().filter(|e| e.peer == Some(peer) && self.takes_part(e));
        let ends = |e: &PlanEdge| e.node < e.neighbour;
        let mut edges: Vec<(&str, &str, f64)> = ours
            .map(|e| match ends(e) {
                true => (e.node.as_str(), e.neighbour.as_str(), e.weight),
                false => (e.neighbour.as_str(), e.node.as_str(), e.weight),
            })
            .collect();
        edges.sort_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)));
        edges
    }
}

/// Names of features that nobody named: `x1`, `x2`, ..., and `intercept` for the last one if it is one.
pub fn numbered_features(dim: usize, intercept: bool) -> Vec<String> {
    let columns = dim - usize::from(intercept && dim > 0);
    let mut names: Vec<String> = (1..=columns).map(|k| format!("x{k}")).collect();
    names.extend((columns < dim).then(|| "intercept".into()));
    names
}

/// An edge, as seen from one of the part's nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanEdge {
    /// A node of this part.
    pub node: String,
    /// The node at the other side.
    pub neighbour: String,
    /// The part that holds the other side; none if it is this one.
    pub peer: Option<PeerId>,
    /// `A_e`.
    pub weight: f64,
}

/// A penalty by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyKind {
    /// `|t|_2`.
    Norm2,
    /// `|t|_1`.
    Norm1,
    /// `|t|_inf`.
    NormInf,
    /// `|t|_2^2`.
    Squared,
}

impl PenaltyKind {
    /// The penalty itself.
    pub fn build(self) -> Box<dyn Penalty> {
        match self {
            PenaltyKind::Norm2 => Box::new(Norm2),
            PenaltyKind::Norm1 => Box::new(Norm1),
            PenaltyKind::NormInf => Box::new(NormInf),
            PenaltyKind::Squared => Box::new(SquaredNorm),
        }
    }

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PenaltyKind::Norm2 => "norm2",
            PenaltyKind::Norm1 => "norm1",
            PenaltyKind::NormInf => "norminf",
            PenaltyKind::Squared => "squared",
        }
    }

    /// The penalty of this name, as on the command line.
    pub fn named(name: &str) -> Option<Self> {
        let all = [PenaltyKind::Norm2, PenaltyKind::Norm1, PenaltyKind::NormInf, PenaltyKind::Squared];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// How to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum MethodSpec {
    /// Algorithm 1 of gtv-minimization, all parts in step.
    PrimalDual {
        /// Ratio of primal to dual steps; 1 is the paper's.
        step_ratio: f64,
        /// Relaxation, between 0 and 2; 1 is the paper's.
        relaxation: f64,
    },
    /// Gradient descent, all parts in step.
    FedGd {
        /// The step; `fedweave::solve::safe_step` of the whole network never diverges.
        step: f64,
    },
    /// Block minimisation with the squared penalty, all nodes at once, all parts in step.
    FedRelax,
    /// Models of any class ([`Plan::models`]), fitted to own rows and to what neighbours predict on public rows, all at once,
    /// all parts in step.
    FedRelaxPredictions {
        /// Neighbours are compared on the public rows of both ends, not of the other end only.
        both: bool,
        /// An own row weighs 1 and a public one `lambda A_ij`, instead of terms that are means.
        plain: bool,
    },
    /// Gradient descent by clipped gradients with noise ([`Plan::noise`]), all parts in step, for a number of rounds.
    NoisyFedGd {
        /// The step; it must not follow from rows.
        step: f64,
    },
    /// Gradient descent with the squared penalty in which nobody waits for the newest models.
    AsyncFedGd {
        /// The step, as for `FedGd`.
        step: f64,
        /// A part may be so many rounds ahead of what it last heard of a neighbour.
        staleness: u64,
    },
}

impl MethodSpec {
    /// Its name, in commands and files.
    pub fn name(&self) -> &'static str {
        match self {
            MethodSpec::PrimalDual { .. } => "primal-dual",
            MethodSpec::FedGd { .. } => "fedgd",
            MethodSpec::NoisyFedGd { .. } => "noisy-fedgd",
            MethodSpec::FedRelax => "fedrelax",
            MethodSpec::FedRelaxPredictions { .. } => ON_PREDICTIONS,
            MethodSpec::AsyncFedGd { .. } => "async-fedgd",
        }
    }

    /// Rounds by which a part may be ahead of its neighbours; 0 if parts go in step.
    pub fn staleness(&self) -> u64 {
        match self {
            MethodSpec::AsyncFedGd { staleness, .. } => *staleness,
            _ => 0,
        }
    }

    /// True if models of any class exchange predictions.
    pub fn is_on_predictions(&self) -> bool {
        matches!(self, MethodSpec::FedRelaxPredictions { .. })
    }

    /// True if parts do not go in step.
    pub fn is_async(&self) -> bool {
        matches!(self, MethodSpec::AsyncFedGd { .. })
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// After so many rounds.
    pub rounds_max: u64,
    /// When the largest residual of the network is at most this; none for a fixed number of rounds.
    pub tolerance: Option<f64>,
    /// No two parts are farther apart than so many steps from part to part. The number of parts less one always is right; a
    /// smaller bound decides sooner.
    pub diameter: u32,
}

/// What to do about a silent neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    /// What to do when its link was down for `dead_after_ms`.
    pub policy: DeadPolicy,
    /// How long a link may be down, in milliseconds.
    pub dead_after_ms: u64,
    /// Time until a frame is sent again, doubled every time up to sixteen times this, in milliseconds.
    pub retry_ms: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { policy: DeadPolicy::Wait, dead_after_ms: 30_000, retry_ms: 100 }
    }
}

impl DeadPolicy {
    /// All of them by name, the default first.
    pub const NAMES: [(&'static str, DeadPolicy); 3] =
        [("wait", DeadPolicy::Wait), ("continue", DeadPolicy::Continue), ("stop", DeadPolicy::Stop)];

    /// Its name, in commands and files.
    pub fn name(self) -> &'static str {
        DeadPolicy::NAMES.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }
}

/// What to do about a dead neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadPolicy {
    /// Wait until it returns.
    #[default]
    Wait,
    /// Go on without it, to the optimum of the network that is left.
    Continue,
    /// Stop.
    Stop,
}
