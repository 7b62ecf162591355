//! A federation whose parts learn the coupling before they solve.

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::{Graph, Matrix};
use fedweave_io::Input;
use fedweave_node::launch::{Collected, certify_collected};
use fedweave_node::{Hub, MethodSpec, Network, PenaltyKind, hub_name, joined_to_all};

use super::patience;
use crate::error::{Error, Result, refuse, require};
use crate::fit::{FitResult, Solved, described, finish};
use crate::request::up::{LaunchChoice, UpMethod, UpRequest};
use crate::training::TrainingRows;

/// The network with a common mean, of which nothing but the graph is given. Rows are as they came: the parts scale them.
pub(super) fn network(request: &UpRequest, input: &Input, loss: &LossSpec, launch: &LaunchChoice) -> Result<Network> {
    require!(
        *loss == LossSpec::Same(Family::Squared),
        "--coupling learnt: parts of a federation learn it for the squared loss only"
    );
    let UpMethod::PrimalDual(step_ratio, relaxation) = request.method else {
        refuse!("--coupling learnt: a federation solves by --solver primal-dual")
    };
    let node = |e: fedweave_node::Error| Error::Request(e.to_string());
    let hub = hub_name(&input.names).map_err(node)?;
    Ok(Network {
        names: input.names.iter().cloned().chain([hub]).collect(),
        graph: joined_to_all(&input.graph).map_err(node)?,
        data: input.data.with_hub(),
        loss: loss.clone(),
        loss_options: LossOptions { spare_last: request.fit.model.intercept(), ..LossOptions::default() },
        penalty: PenaltyKind::Squared,
        lambda: 1.0,
        method: MethodSpec::PrimalDual { step_ratio, relaxation },
        rounds_max: request.rounds.unwrap_or(request.fit.solve.iterations_max) as u64,
        tolerance: request.rounds.is_none().then_some(request.fit.solve.tolerance),
        patience: patience(launch)?,
        models: None,
        hub: Some(Hub::Learnt),
    })
}

/// The result of what the parts learnt and solved, judged with all rows in sight.
pub(super) fn result(
    request: UpRequest,
    input: Input,
    loss: LossSpec,
    network: &Network,
    mut collected: Collected,
    seconds: f64,
) -> Result<FitResult> {
    let Some(learnt) = collected.coupling.take() else { refuse!("the parts say nothing about the coupling") };
    let training = TrainingRows::scaled_by(input.data.clone(), learnt.scaling.clone());
    let problem = learnt.coupling.problem(&input.graph, &training.scaled)?;
    collected.u = collected.u.map(|u| on_edges_of(problem.graph(), &network.graph, &u));
    let (solution, traffic) = certify_collected(&problem, collected, &network.method, &request.fit.solve);
    let described = described(learnt, &input, &training)?;
    let solved = Solved { solution, traffic: Some(traffic), seconds };
    let result = finish(request.fit, input, loss, problem, training, solved);
    Ok(FitResult { learnt: Some(described), ..result })
}

/// The flows on those edges that take part: where the graph explains nothing, only those to the common mean do.
fn on_edges_of(graph: &Graph, all: &Graph, flows: &Matrix) -> Matrix {
    let place = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        all.ends(i).iter().find(|end| end.neighbour as usize == j).map(|end| end.edge as usize)
    };
    let rows = (0..graph.edges()).filter_map(place).flat_map(|e| flows.row(e)).copied().collect();
    Matrix::from_rows(flows.cols(), rows)
}
