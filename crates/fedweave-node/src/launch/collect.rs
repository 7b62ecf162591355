//! What all parts found, gathered from their folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fedweave::learn::coupling::shared::SharedCoupling;
use fedweave::model::Fitted;
use fedweave::solve::{History, RoundRecord, Settings, Solution, certify};
use fedweave::{Matrix, Problem};
use fedweave_io::{ModelFile, read_json, read_parameters};

use super::error::LaunchError;
use super::prepare::Prepared;
use crate::hub::Hub;
use crate::network::Network;
use crate::plan::{MethodSpec, PlanEdge};
use crate::process::{CouplingFile, PartSummary};

/// What it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Rounds.
    pub rounds: u64,
    /// Frames sent by all parts.
    pub messages: u64,
    /// Bytes sent by all parts.
    pub bytes: u64,
}

/// The models and flows of all nodes.
pub struct Collected {
    /// The models, in the order of the nodes of the network.
    pub w: Matrix,
    /// The flows on the edges of the network; only the primal-dual method has them.
    pub u: Option<Matrix>,
    /// Rounds, messages and bytes.
    pub exchange: Exchange,
    /// What the parts learnt before; the models then are those of scaled features.
    pub coupling: Option<SharedCoupling>,
}

/// The models of any class of all nodes.
pub struct CollectedModels {
    /// The models by the names of their nodes; none where nothing was ever learnt.
    pub models: HashMap<String, Option<Fitted>>,
    /// Rounds, messages and bytes.
    pub exchange: Exchange,
}

/// Gathers models and flows; `network` is what the federation was prepared from.
pub fn collect(prepared: &Prepared, network: &Network) -> Result<Collected, LaunchError> {
    let dim = network.loss.family(0).dim(network.data.dim());
    let mut w = Matrix::zeros(network.graph.nodes(), dim);
    let mut u = Matrix::zeros(network.graph.edges(), dim);
    let (mut exchange, mut coupling) = (Exchange::default(), None);
    for (result, plan) in results(prepared).zip(&prepared.plans) {
        exchange.add(&result)?;
        let refused = |what: String| LaunchError::Result { path: result.clone(), what };
        let mut models = read_parameters(&result)?;
        if network.hub == Some(Hub::Learnt) {
            let file: CouplingFile = read_json(&result, "coupling.json")?;
            models.w = scaled(&file, dim).ok_or_else(|| refused("not a coupling".into()))?;
            let learnt = SharedCoupling::from_numbers(&file.numbers, dim).map_err(|e| refused(e.to_string()))?;
            if coupling.get_or_insert_with(|| learnt.clone()) != &learnt {
                return Err(refused("another coupling than that of the first part".into()));
            }
        }
        if models.names != plan.nodes || models.w.cols() != dim {
            return Err(refused(format!("not the result of {}", plan.name)));
        }
        for (k, name) in models.names.iter().enumerate() {
            let i = network.names.binary_search(name).map_err(|_| refused(format!("unknown node `{name}`")))?;
            w.row_mut(i).copy_from_slice(models.w.row(k));
        }
        for (edge, flow) in plan.edges.iter().zip(flows(&result, dim)?) {
            let e = edge_of(network, edge).ok_or_else(|| refused("unknown edge".into()))?;
            u.row_mut(e).copy_from_slice(&flow);
        }
    }
    let u = matches!(network.method, MethodSpec::PrimalDual { .. }).then_some(u);
    Ok(Collected { w, u, exchange, coupling })
}

/// Gathers models of any class.
pub fn collect_models(prepared: &Prepared) -> Result<CollectedModels, LaunchError> {
    let (mut models, mut exchange) = (HashMap::new(), Exchange::default());
    for result in results(prepared) {
        exchange.add(&result)?;
        let file: ModelFile = read_json(&result, "models.json")?;
        models.extend(file.nodes.into_iter().map(|model| (model.node, model.fitted)));
    }
    Ok(CollectedModels { models, exchange })
}

/// The models in scaled features.
fn scaled(file: &CouplingFile, dim: usize) -> Option<Matrix> {
    let fits = file.scaled_models.iter().all(|row| row.len() == dim);
    fits.then(|| Matrix::from_rows(dim, file.scaled_models.concat()))
}

fn results(prepared: &Prepared) -> impl Iterator<Item = PathBuf> {
    prepared.folders.iter().map(|folder| folder.join("state/result"))
}

impl Exchange {
    /// Adds what a part sent.
    fn add(&mut self, result: &Path) -> Result<(), LaunchError> {
        let summary: PartSummary = read_json(result, "summary.json")?;
        self.rounds = self.rounds.max(summary.rounds);
        self.messages += summary.frames_sent;
        self.bytes += summary.bytes_sent;
        Ok(())
    }
}

/// The flows of a part, in the order of its edges.
fn flows(result: &Path, dim: usize) -> Result<Vec<Vec<f64>>, LaunchError> {
    let path = result.join("flows.csv");
    let text = std::fs::read_to_string(&path).map_err(|error| LaunchError::File { path: path.clone(), error })?;
    let flow = |line: &str| -> Option<Vec<f64>> {
        let numbers = line.rsplit(',').next()?.split(' ').map(|v| v.parse().ok()).collect::<Option<Vec<f64>>>()?;
        (numbers.len() == dim).then_some(numbers)
    };
    let broken = || LaunchError::Result { path: path.clone(), what: "not the flows of a part".into() };
    text.lines().skip(1).map(|line| flow(line).ok_or_else(broken)).collect()
}

fn edge_of(network: &Network, edge: &PlanEdge) -> Option<usize> {
    let (i, j) = (network.names.binary_search(&edge.node).ok()?, network.names.binary_search(&edge.neighbour).ok()?);
    network.graph.ends(i).iter().find(|end| end.neighbour as usize == j).map(|end| end.edge as usize)
}

/// The solution that the parts found, judged with all data in sight.
pub fn certify_collected(
    problem: &Problem,
    collected: Collected,
    method: &MethodSpec,
    settings: &Settings,
) -> (Solution, History) {
    let Exchange { rounds, messages, bytes } = collected.exchange;
    let round = rounds as usize;
    let mut solution = certify(problem, collected.w, collected.u, settings.tolerance);
    solution.choice.method = method.name().into();
    solution.iterations = round;
    solution.history.iter_mut().for_each(|record| record.iteration = round);
    // What parts compute is not counted.
    let record = |value| RoundRecord { round, value, messages, bytes, flops: 0.0 };
    let records = solution.history.iter().map(|seen| record(seen.objective)).collect();
    (solution, History { records })
}
