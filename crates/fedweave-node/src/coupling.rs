//! A coupling that the parts learn together before their rounds: what a plan says about it, and what follows from what was
//! learnt. How parts learn it is in `part/learning.rs`, the mathematics in [`fedweave::learn::coupling::shared`].

use std::sync::Arc;

use fedweave::learn::coupling::shared::{Member, Question, SharedCoupling, learn_in_parts};
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::penalty::{Penalty, Quadratic};
use fedweave::{Dataset, Graph, Matrix, Problem};

use crate::error::{Error, Result};
use crate::hash::{Fnv, with_digest};
use crate::network::Network;
use crate::plan::{MethodSpec, PeerId, Plan, PlanEdge};
use crate::wire::NUMBERS_MAX;

/// Parts learn the coupling of their models. Weights of edges are those of the graph; `lambda` and the penalty are learnt.
#[derive(Debug, Clone, PartialEq)]
pub struct CouplingPlan {
    /// The common mean: a node without rows that every node has an edge to.
    pub hub: String,
    /// Names of all parts, in byte order: sums are taken in this order.
    pub members: Vec<String>,
    /// What was learnt.
    pub learnt: Option<Arc<SharedCoupling>>,
    /// Once it is learnt: digests of the edges to each peer, with the weights that they had before.
    pub links: Vec<u64>,
}

impl Plan {
    /// True if the coupling must be learnt first.
    pub fn is_to_learn(&self) -> bool {
        self.coupling.as_ref().is_some_and(|coupling| coupling.learnt.is_none())
    }

    /// What was learnt, if anything.
    pub fn learnt(&self) -> Option<&SharedCoupling> {
        self.coupling.as_ref()?.learnt.as_deref()
    }

    /// The plan of the rounds that follow: rows on the common scale, losses in which every row counts the same, edges that
    /// weigh `rho A_e` and `1 - rho` to the common mean, the quadratic penalty. Frames tell what was learnt apart.
    pub fn with_coupling(mut self, learnt: Arc<SharedCoupling>) -> Result<Self> {
        let links = (0..self.peers.len()).map(|k| self.link_mask(PeerId(k as u32))).collect();
        let Some(coupling) = &mut self.coupling else { return Ok(self) };
        coupling.links = links;
        // As in `Graph::with_hub`, digit by digit.
        let share = 1.0 - learnt.coupling.rho;
        for edge in &mut self.edges {
            let to_hub = edge.node == coupling.hub || edge.neighbour == coupling.hub;
            edge.weight = if to_hub { share } else { (1.0 - share) * edge.weight };
        }
        self.data = learnt.coupling.shared_rows(&learnt.scaling.apply(&self.data))?;
        self.loss_options = LossOptions { node_weight: NodeWeight::Unit(learnt.row_unit), ..LossOptions::default() };
        self.lambda = learnt.row_unit;
        self.federation = with_digest(self.federation, digest(&learnt));
        coupling.learnt = Some(learnt);
        Ok(self)
    }

    /// The name of the federation in frames about the coupling.
    pub(crate) fn federation_to_learn(&self) -> u64 {
        with_digest(self.federation, 0)
    }

    /// The penalty on edges.
    pub fn build_penalty(&self) -> Result<Box<dyn Penalty>> {
        Ok(match self.learnt() {
            Some(learnt) => Box::new(Quadratic::new(&[learnt.coupling.penalty_matrix()])?),
            None => self.penalty.build(),
        })
    }

    /// True if an edge takes part in the rounds: where the graph explains nothing, only edges to the common mean do.
    pub fn takes_part(&self, edge: &PlanEdge) -> bool {
        self.learnt().is_none() || edge.weight > 0.0
    }

    /// What the part answers questions from: its rows, and the edges between its nodes.
    pub(crate) fn member(&self) -> Result<Member> {
        let hub = self.coupling.as_ref().map(|coupling| coupling.hub.as_str());
        let kept: Vec<usize> = (0..self.nodes.len()).filter(|i| Some(self.nodes[*i].as_str()) != hub).collect();
        let place = |name: &String| {
            let node = self.nodes.binary_search(name).ok()?;
            kept.binary_search(&node).ok()
        };
        let inside = self.edges.iter().filter(|edge| edge.peer.is_none());
        let edges = inside.filter_map(|edge| Some((place(&edge.node)?, place(&edge.neighbour)?, edge.weight)));
        let graph = Graph::new(kept.len(), &edges.collect::<Vec<_>>())?;
        Ok(Member::new(&graph, rows_of(&self.data, &kept)?))
    }

    /// Refuses what cannot be learnt.
    pub(crate) fn check_coupling(&self) -> Result<()> {
        let Some(coupling) = &self.coupling else { return Ok(()) };
        let fault = |needs| Err(fedweave::Error::Method { method: "learnt coupling", needs }.into());
        if !matches!(self.method, MethodSpec::PrimalDual { .. }) {
            return fault("the primal-dual method");
        }
        if self.loss != LossSpec::Same(Family::Squared) {
            return fault("the squared loss in a federation");
        }
        if coupling.members.windows(2).any(|pair| pair[0] >= pair[1]) {
            return fault("members in strictly increasing byte order");
        }
        if let Some(name) = [&self.name].into_iter().chain(&self.peers).find(|name| !coupling.members.contains(name)) {
            return Err(Error::NotAMember { part: name.clone() });
        }
        let dim = self.data.dim();
        if Question::numbers_max(dim).max(SharedCoupling::numbers(dim)) + 2 > NUMBERS_MAX {
            let needs = "at most 63 where the coupling is learnt";
            return Err(Error::Setting { name: "number of features", value: dim as f64, needs });
        }
        Ok(())
    }
}

/// Tells couplings apart.
fn digest(learnt: &SharedCoupling) -> u64 {
    learnt.to_numbers().iter().fold(Fnv::new(), |hash, x| hash.word(x.to_bits())).finish()
}

/// The rows of some nodes.
pub(crate) fn rows_of(data: &Dataset, nodes: &[usize]) -> Result<Dataset> {
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for &i in nodes {
        x.extend_from_slice(data.features(i));
        y.extend_from_slice(data.labels(i));
        weight.extend_from_slice(data.weights(i));
        offsets.push(y.len());
    }
    Ok(Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight)?)
}

impl Network {
    /// What parts with these nodes learn, and the problem that follows, on one machine.
    pub fn learn(&self, part: &[usize]) -> Result<(SharedCoupling, Problem)> {
        let graph = self.inner_graph();
        let nodes: Vec<usize> = (0..graph.nodes()).collect();
        let data = rows_of(&self.data, &nodes)?;
        let learnt = learn_in_parts(&graph, &data, &part[..nodes.len()], self.loss_options.spare_last)?;
        let problem = learnt.problem(&graph, &data)?;
        Ok((learnt, problem))
    }
}
