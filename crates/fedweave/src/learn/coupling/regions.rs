//! Large graphs: the few numbers of a coupling do not need all nodes at every step.
//!
//! The graph is cut into regions, and edges between regions are left out: the factor then never fills up. A sample of the
//! regions decides on the structure and comes close; all regions together finish; the common mean and the noise are those of
//! the whole graph, where its factor fits. A region has a border of about a tenth of its edges, so what is learnt hardly
//! differs.

use std::sync::Arc;

use super::choose::{Learnt, ROUGH, coupling, learn_and_fit, refine_to};
use super::fit::Fit;
use super::minimise::Memory;
use super::network::Network;
use super::noise::Noise;
use super::{Coupling, CouplingOptions, Prepared, Rho};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::{Graph, cut};
use crate::linalg::sparse::{Budget, Elimination};
use crate::matrix::Matrix;

/// Nodes of a region.
const REGION: usize = 100;
/// Multiplications of one factorisation, beyond which a graph is large.
const EXACT: Budget = Budget { flops: 1e9, fill: 1e8 };
/// The sample has about so many nodes times the cube of the number of parameters, and at least so many nodes.
const SAMPLE: (f64, usize) = (1e6, 1000);
/// All regions finish the search up to this many nodes times the cube of the number of parameters.
const FINISH_MAX: f64 = 5e7;

/// True if a factor of the whole graph is too expensive to be computed again and again.
pub fn is_large(graph: &Graph, d: usize) -> bool {
    graph.nodes() > SAMPLE.1 && Elimination::plan_panels(graph, d, EXACT).is_none()
}

/// Learns from regions.
pub fn learn_in_regions(graph: &Graph, data: &Dataset, options: &CouplingOptions) -> Result<Learnt> {
    let inside = without_borders(graph);
    let cube = (data.dim() as f64).powi(3);
    let (nodes, some_graph, some_rows) = sampled(&inside, data)?;
    // The noise of the nodes of a sample says nothing about the others: it is taken as common.
    let common = CouplingOptions { noise: Noise::Common, ..options.clone() };
    let (mut learnt, fit) = learn_and_fit(&some_graph, &some_rows, &common)?;
    let inside = inside.0;
    if graph.nodes() as f64 * cube <= FINISH_MAX
        && let Some(finished) = finish(&inside, data, options, &learnt.coupling, for_more(&fit, nodes.len(), graph))
    {
        learnt.coupling = finished;
    }
    let whole = Prepared::new(graph, data, options.family, options.intercept)?;
    let task = whole.task(options.likelihood, options.prior);
    if let Some(fit) = carried(&learnt.coupling, &whole)
        && (fit.kappa == 0.0 || whole.network.plan(data.dim()).is_coupled())
    {
        learnt.coupling = coupling(&task, &fit, options)?;
    }
    Ok(learnt)
}

/// The nodes of a sample of regions, their graph and their rows.
fn sampled((inside, part): &(Graph, Vec<usize>), data: &Dataset) -> Result<(Vec<usize>, Graph, Dataset)> {
    let wanted = (SAMPLE.0 / (data.dim() as f64).powi(3)) as usize;
    let nodes = sample(part, wanted.max(SAMPLE.1), data);
    let (graph, rows) = (restricted_graph(inside, &nodes), restricted_rows(data, &nodes)?);
    Ok((nodes, graph, rows))
}

/// A sample of the regions of a large graph, for questions that need the likelihood again and again.
pub fn sample_of_large(graph: &Graph, data: &Dataset) -> Result<Option<(Vec<usize>, Graph, Dataset)>> {
    match is_large(graph, data.dim()) {
        true => sampled(&without_borders(graph), data).map(Some),
        false => Ok(None),
    }
}

/// The curvature that a sample saw, as all nodes see it.
fn for_more(fit: &Fit, sample: usize, graph: &Graph) -> Memory {
    let times = graph.nodes() as f64 / sample as f64;
    let scaled = |change: &Vec<f64>| change.iter().map(|c| times * c).collect();
    fit.memory.iter().map(|(step, change)| (step.clone(), scaled(change))).collect()
}

/// The search continued with all regions.
fn finish(
    inside: &Graph,
    data: &Dataset,
    options: &CouplingOptions,
    from: &Coupling,
    memory: Memory,
) -> Option<Coupling> {
    let prepared = Prepared::new(inside, data, options.family, options.intercept).ok()?;
    let task = prepared.task(options.likelihood, options.prior);
    let rho = if from.rho > 0.0 { options.rho } else { Rho::Fixed(0.0) };
    // Differences in the deviance that no choice hangs on, for a sample or for all.
    let gain = ROUGH * data.nodes() as f64 / SAMPLE.1 as f64;
    let fit = refine_to(&task, &Fit { memory, ..carried(from, &prepared)? }, rho, gain)?;
    coupling(&task, &fit, options).ok()
}

/// What was learnt, as a fit for other rows and another graph.
pub fn carried(from: &Coupling, to: &Prepared) -> Option<Fit> {
    let (root, kappa) = from.relative_root(&to.moments, &to.network)?;
    Some(Fit { structure: from.structure, root, kappa, deviance: f64::NAN, memory: Memory::new() })
}

/// The graph without the edges between regions, and the region of every node.
pub fn without_borders(graph: &Graph) -> (Graph, Vec<usize>) {
    let part = cut(graph, graph.nodes().div_ceil(REGION)).part;
    let edges = (0..graph.edges()).map(|e| (graph.nodes_of(e), graph.weight(e)));
    let kept: Vec<_> = edges.filter(|((i, j), _)| part[*i] == part[*j]).map(|((i, j), w)| (i, j, w)).collect();
    (Graph::new(graph.nodes(), &kept).expect("some edges of a graph make a graph"), part)
}

/// Nodes of regions spread evenly over all, about `wanted` of them, in increasing order; all nodes if those have no rows.
fn sample(part: &[usize], wanted: usize, data: &Dataset) -> Vec<usize> {
    let parts = part.iter().max().map_or(1, |p| p + 1);
    let step = (part.len() / wanted.max(1)).clamp(1, parts);
    let nodes: Vec<usize> = (0..part.len()).filter(|i| part[*i].is_multiple_of(step)).collect();
    match nodes.iter().any(|i| !data.rows(*i).is_empty()) {
        true => nodes,
        false => (0..part.len()).collect(),
    }
}

/// The graph between some nodes.
pub(super) fn restricted_graph(graph: &Graph, nodes: &[usize]) -> Graph {
    let mut place = vec![usize::MAX; graph.nodes()];
    nodes.iter().enumerate().for_each(|(k, i)| place[*i] = k);
    let edges = (0..graph.edges()).map(|e| (graph.nodes_of(e), graph.weight(e)));
    let named = edges.map(|((i, j), w)| (place[i], place[j], w));
    let kept: Vec<_> = named.filter(|(i, j, _)| *i < nodes.len() && *j < nodes.len()).collect();
    Graph::new(nodes.len(), &kept).expect("some nodes of a graph make a graph")
}

/// The rows of some nodes.
pub(super) fn restricted_rows(data: &Dataset, nodes: &[usize]) -> Result<Dataset> {
    let mut offsets = vec![0];
    nodes.iter().for_each(|i| offsets.push(offsets[offsets.len() - 1] + data.rows(*i).len()));
    let x = nodes.iter().flat_map(|i| data.features(*i)).copied().collect();
    let y = nodes.iter().flat_map(|i| data.labels(*i)).copied().collect();
    let weight = nodes.iter().flat_map(|i| data.weights(*i)).copied().collect();
    Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight)
}

/// The network on which the posterior is computed, and true if it is the whole one: only its regions where the factor does not fit.
pub fn fitting(graph: &Graph, d: usize) -> (Arc<Network>, bool) {
    let network = Network::new(graph);
    match network.plan(d).is_coupled() || graph.edges() == 0 {
        true => (Arc::new(network), true),
        false => (Arc::new(Network::new(&without_borders(graph).0)), false),
    }
}
