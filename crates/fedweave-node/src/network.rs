//! A whole network on one desk, to be cut into the plans of its parts: for trying out, for tests, and for one large graph
//! on several machines.

use fedweave::loss::{LossOptions, LossSpec};
use fedweave::{Dataset, Graph, Problem};

use crate::coupling::{CouplingPlan, rows_of};
use crate::error::{Error, Result};
use crate::hub::Hub;
use crate::models::Models;
use crate::plan::{
    DeadPolicy, MethodSpec, NO_AUTHORITY, Patience, PeerId, PenaltyKind, Plan, PlanEdge, StopRule, numbered_features,
};

/// All there is to know of a network. Nodes are in byte order of their names, so that every way to run it adds up in the
/// same order.
#[derive(Debug, Clone)]
pub struct Network {
    /// Names of the nodes, in strictly increasing byte order.
    pub names: Vec<String>,
    /// The edges.
    pub graph: Graph,
    /// The rows of all nodes.
    pub data: Dataset,
    /// The losses.
    pub loss: LossSpec,
    /// Options of the losses.
    pub loss_options: LossOptions,
    /// The penalty on edges.
    pub penalty: PenaltyKind,
    /// `lambda`.
    pub lambda: f64,
    /// How to minimise.
    pub method: MethodSpec,
    /// Rounds at most.
    pub rounds_max: u64,
    /// When the largest residual of the network is at most this; none for a fixed number of rounds.
    pub tolerance: Option<f64>,
    /// Patience with silent neighbours.
    pub patience: Patience,
    /// Models of any class, for the method on predictions.
    pub models: Option<Models>,
    /// The last node is a common mean of all others, which has no rows.
    pub hub: Option<Hub>,
}

impl Network {
    /// The problem on one machine.
    pub fn problem(&self) -> Result<Problem> {
        let loss = self.loss.build(self.data.clone(), &self.options())?;
        Ok(Problem::build(self.graph.clone(), loss, self.penalty.build(), self.lambda)?)
    }

    /// What every row counts is decided with all rows in sight.
    fn options(&self) -> LossOptions {
        LossOptions { node_weight: self.loss_options.node_weight.resolved(&self.data), ..self.loss_options }
    }

    /// The plans of the parts, where `part[i] < parts` holds node `i`. Parts without nodes get no plan.
    pub fn plans(&self, part: &[usize], parts: usize) -> Result<Vec<Plan>> {
        if let Some(pair) = self.names.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::NodeOrder { node: pair[1].clone() });
        }
        let models = self.models.as_ref().map_or(self.names.len(), |m| m.specs.len().min(m.seeds.len()));
        for (what, found) in [("names", self.names.len()), ("parts of nodes", part.len()), ("models", models)] {
            if found != self.graph.nodes() {
                return Err(fedweave::Error::Size { what, expected: self.graph.nodes(), found }.into());
            }
        }
        if let Some(&found) = part.iter().find(|p| **p >= parts) {
            return Err(fedweave::Error::Size { what: "parts", expected: parts, found: found + 1 }.into());
        }
        let neighbours = self.neighbours(part, parts);
        // Without some of its parts the network may be as long as a chain.
        let diameter = match self.patience.policy {
            DeadPolicy::Continue => parts.saturating_sub(1) as u32,
            _ => diameter(&neighbours),
        };
        let mut nodes_of = vec![Vec::new(); parts];
        part.iter().enumerate().for_each(|(i, &p)| nodes_of[p].push(i));
        let plan = |p: usize| self.plan(p, &nodes_of[p], part, &neighbours[p], diameter);
        let mut plans = (0..parts).filter(|&p| !nodes_of[p].is_empty()).map(plan).collect::<Result<Vec<_>>>()?;
        if self.hub == Some(Hub::Learnt) {
            let members: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
            let hub = self.names.last().cloned().unwrap_or_default();
            let coupling = CouplingPlan { hub, members, learnt: None, links: Vec::new() };
            plans.iter_mut().for_each(|plan| plan.coupling = Some(coupling.clone()));
        }
        let federation = plans.first().map_or(0, |plan| plan.agreement(NO_AUTHORITY, &self.features()));
        plans.iter_mut().for_each(|plan| plan.federation = federation);
        Ok(plans)
    }

    fn plan(&self, p: usize, nodes: &[usize], part: &[usize], neighbours: &[usize], diameter: u32) -> Result<Plan> {
        let mut edges = Vec::new();
        for &i in nodes {
            for end in self.graph.ends(i) {
                let j = end.neighbour as usize;
                let inside = part[j] == p;
                if inside && j < i {
                    continue;
                }
                let peer = (!inside).then(|| PeerId(neighbours.binary_search(&part[j]).unwrap_or(0) as u32));
                let (node, neighbour) = (self.names[i].clone(), self.names[j].clone());
                edges.push(PlanEdge { node, neighbour, peer, weight: self.graph.weight(end.edge as usize) });
            }
        }
        Ok(Plan {
            name: part_name(p),
            // All parts agree on it: computed once.
            federation: 0,
            nodes: nodes.iter().map(|&i| self.names[i].clone()).collect(),
            data: rows_of(&self.data, nodes)?,
            loss: match &self.loss {
                LossSpec::Same(family) => LossSpec::Same(*family),
                LossSpec::PerNode(of) => LossSpec::PerNode(nodes.iter().map(|&i| of[i]).collect()),
            },
            loss_options: self.options(),
            penalty: self.penalty,
            lambda: self.lambda,
            peers: neighbours.iter().map(|&q| part_name(q)).collect(),
            edges,
            method: self.method,
            stop: StopRule { rounds_max: self.rounds_max, tolerance: self.tolerance, diameter },
            patience: self.patience,
            models: self.models.as_ref().map(|models| models.select(nodes)),
            coupling: None,
            noise: None,
        })
    }

    /// Names of the features: numbers, since nobody named them here.
    pub fn features(&self) -> Vec<String> {
        numbered_features(self.data.dim(), self.has_intercept())
    }

    /// True if the last feature is an intercept.
    pub fn has_intercept(&self) -> bool {
        self.models.is_none() && self.loss_options.spare_last
    }

    /// For each part, the parts next to it, in increasing order.
    fn neighbours(&self, part: &[usize], parts: usize) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); parts];
        for e in 0..self.graph.edges() {
            let (i, j) = self.graph.nodes_of(e);
            if part[i] != part[j] {
                neighbours[part[i]].push(part[j]);
                neighbours[part[j]].push(part[i]);
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        neighbours
    }
}

/// The name of a part of a network that was cut: `part-0007`.
pub fn part_name(part: usize) -> String {
    format!("part-{part:04}")
}

/// The largest distance between two parts of a component, or a bound of at most twice that: by breadth-first search from every
/// part of a small federation, from one part of each component of a large one.
fn diameter(neighbours: &[Vec<usize>]) -> u32 {
    const SMALL: usize = 2_000;
    let mut largest = 0;
    let mut reached = vec![false; neighbours.len()];
    for root in 0..neighbours.len() {
        if neighbours.len() <= SMALL || !reached[root] {
            let distance = distances(neighbours, root);
            let farthest = distance.iter().flatten().copied().max().unwrap_or(0);
            distance.iter().enumerate().filter(|(_, d)| d.is_some()).for_each(|(q, _)| reached[q] = true);
            largest = largest.max(if neighbours.len() <= SMALL { farthest } else { 2 * farthest });
        }
    }
    largest
}

fn distances(neighbours: &[Vec<usize>], root: usize) -> Vec<Option<u32>> {
    let mut distance = vec![None; neighbours.len()];
    let (mut order, mut next) = (vec![root], 0);
    distance[root] = Some(0u32);
    while let Some(&p) = order.get(next) {
        next += 1;
        for &q in &neighbours[p] {
            if distance[q].is_none() {
                distance[q] = distance[p].map(|d| d + 1);
                order.push(q);
            }
        }
    }
    distance
}
