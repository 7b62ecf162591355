//! The subproblem of a part: its own nodes, the nodes of others next to them, and the edges between, as one small
//! [`Problem`]. Nodes of others have no rows: their loss is zero, and their rows come from the wire.
//!
//! Nodes are numbered in byte order of their names, as on one machine, so that sums over the edges of a node run in the
//! same order there and here, and round in the same way.

use std::collections::BTreeMap;

use fedweave::loss::LossSpec;
use fedweave::{Dataset, Graph, Matrix, Problem};

use crate::error::{Error, Result};
use crate::plan::{MethodSpec, Plan, PlanEdge};

/// Where everything is in the problem of a part.
#[derive(Debug, Clone)]
pub struct Subproblem {
    /// The node of the problem that each node of the plan is.
    pub own: Vec<u32>,
    /// For each peer that counts: the nodes of the problem whose rows it sends, in byte order.
    pub receives: Vec<Vec<u32>>,
    /// The edge of the problem that each edge of the plan is; none if it leads to a peer that does not count.
    pub edges: Vec<Option<u32>>,
    /// The peers that count.
    pub counted: Vec<bool>,
}

impl Subproblem {
    /// Builds the problem of a part with the peers that count.
    pub fn build(plan: &Plan, counts: impl Fn(usize) -> bool) -> Result<(Subproblem, Problem)> {
        check_settings(plan)?;
        let ghosts = ghosts(plan)?;
        let mut number: BTreeMap<&str, u32> = plan.nodes.iter().map(|n| (n.as_str(), 0)).collect();
        let counts_edge = |e: &&PlanEdge| e.peer.is_none_or(|p| counts(p.0 as usize)) && plan.takes_part(e);
        let far_ends = plan.edges.iter().filter(counts_edge).map(|e| e.neighbour.as_str());
        number.extend(far_ends.filter(|name| ghosts.contains_key(name)).map(|name| (name, 0)));
        number.values_mut().enumerate().for_each(|(k, i)| *i = k as u32);
        let own: Vec<u32> = plan.nodes.iter().map(|n| number[n.as_str()]).collect();

        let ends = |e: &PlanEdge| (number[e.node.as_str()], number[e.neighbour.as_str()]);
        let triple = |e: &PlanEdge| (ends(e).0 as usize, ends(e).1 as usize, e.weight);
        let triples: Vec<_> = plan.edges.iter().filter(counts_edge).map(triple).collect();
        let graph = Graph::new(number.len(), &triples)?;
        let position: BTreeMap<(usize, usize), u32> =
            (0..graph.edges()).map(|e| (graph.nodes_of(e), e as u32)).collect();
        let place = |e: &PlanEdge| {
            let (a, b, _) = triple(e);
            position[&(a.min(b), a.max(b))]
        };
        let edges = plan.edges.iter().map(|e| Some(e).filter(counts_edge).map(place)).collect();

        let mut receives = vec![Vec::new(); plan.peers.len()];
        for edge in plan.edges.iter().filter(counts_edge) {
            if let Some(peer) = edge.peer {
                receives[peer.0 as usize].push(ends(edge).1);
            }
        }
        for list in &mut receives {
            list.sort_unstable();
            list.dedup();
        }
        let loss = loss(plan, &own, number.len())?;
        let problem = Problem::build(graph, loss, plan.build_penalty()?, plan.lambda)?;
        plan.method.fits(&problem)?;
        let counted = (0..plan.peers.len()).map(counts).collect();
        Ok((Subproblem { own, receives, edges, counted }, problem))
    }
}

fn check_settings(plan: &Plan) -> Result<()> {
    if let Some(pair) = plan.nodes.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(Error::NodeOrder { node: pair[1].clone() });
    }
    if plan.nodes.len() != plan.data.nodes() {
        let (expected, found) = (plan.nodes.len(), plan.data.nodes());
        return Err(fedweave::Error::Size { what: "nodes of the data", expected, found }.into());
    }
    plan.method.check()?;
    plan.check_coupling()?;
    let stop = &plan.stop;
    if let Some(value) = stop.tolerance.filter(|t| !(*t >= 0.0 && t.is_finite())) {
        return Err(Error::Setting { name: "tolerance", value, needs: "zero or positive" });
    }
    if plan.noise.is_some() != matches!(plan.method, MethodSpec::NoisyFedGd { .. }) {
        let fault = fedweave::Error::Method {
            method: "noisy-fedgd",
            needs: "[privacy] with method = \"gradients\", which needs it",
        };
        return Err(fault.into());
    }
    if plan.noise.is_some() && stop.tolerance.is_some() {
        let needs = "a number of rounds instead of a tolerance: noise never settles";
        return Err(fedweave::Error::Method { method: "noisy-fedgd", needs }.into());
    }
    if stop.rounds_max == 0 {
        return Err(Error::Setting { name: "rounds", value: 0.0, needs: "at least 1" });
    }
    if plan.patience.retry_ms == 0 {
        return Err(Error::Setting { name: "retry_ms", value: 0.0, needs: "at least 1" });
    }
    Ok(())
}

/// The nodes of others, and who holds them.
fn ghosts(plan: &Plan) -> Result<BTreeMap<&str, u32>> {
    let mut ghosts: BTreeMap<&str, u32> = BTreeMap::new();
    let is_own = |name: &String| plan.nodes.binary_search(name).is_ok();
    for (k, edge) in plan.edges.iter().enumerate() {
        let fault = |what| Error::Peer { edge: k, node: edge.neighbour.clone(), what };
        if !is_own(&edge.node) {
            return Err(Error::ForeignNode { edge: k, node: edge.node.clone() });
        }
        if is_own(&edge.neighbour) != edge.peer.is_none() {
            return Err(Error::Neighbour { edge: k, node: edge.neighbour.clone() });
        }
        let Some(peer) = edge.peer else { continue };
        if peer.0 as usize >= plan.peers.len() {
            return Err(fault("no such neighbouring part"));
        }
        if *ghosts.entry(&edge.neighbour).or_insert(peer.0) != peer.0 {
            return Err(fault("two parts are said to hold it"));
        }
    }
    if let Some(k) = (0..plan.peers.len()).find(|&k| !ghosts.values().any(|p| *p as usize == k)) {
        let node = plan.peers[k].clone();
        return Err(Error::Peer { edge: plan.edges.len(), node, what: "no edge leads to this neighbouring part" });
    }
    Ok(ghosts)
}

/// The losses of the own nodes, and zero elsewhere.
fn loss(plan: &Plan, own: &[u32], nodes: usize) -> Result<Box<dyn fedweave::loss::Loss>> {
    let data = &plan.data;
    let mut offsets = vec![0; nodes + 1];
    own.iter().enumerate().for_each(|(k, &i)| offsets[i as usize + 1] = data.rows(k).len());
    for i in 0..nodes {
        offsets[i + 1] += offsets[i];
    }
    // Nodes keep their order, so rows stay where they are.
    let x: Vec<f64> = (0..data.nodes()).flat_map(|k| data.features(k)).copied().collect();
    let weight = (0..data.nodes()).flat_map(|k| data.weights(k)).copied().collect();
    let data = Dataset::new(offsets, Matrix::from_rows(data.dim(), x), data.y().to_vec(), weight)?;
    let spec = match &plan.loss {
        LossSpec::Same(family) => LossSpec::Same(*family),
        LossSpec::PerNode(families) => {
            if families.len() != own.len() || own.is_empty() {
                let (expected, found) = (own.len(), families.len());
                return Err(fedweave::Error::Size { what: "losses of nodes", expected, found }.into());
            }
            let mut all = vec![families[0]; nodes];
            own.iter().zip(families).for_each(|(&i, f)| all[i as usize] = *f);
            LossSpec::PerNode(all)
        }
    };
    Ok(spec.build(data, &plan.loss_options)?)
}
