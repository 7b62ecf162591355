//! The files of every part: rows, public rows, settings.

use std::path::Path;

use anyhow::{Context, Result};
use fedweave::loss::{Family, LossSpec, NodeWeight};
use fedweave::model::relax::PublicRows;
use fedweave::model::{ModelSpec, Task};
use fedweave_io::RunWriter;
use fedweave_node::{MethodSpec, Network, Plan as PartPlan, PublicSets};

use super::UpArgs;
use crate::config::{Lambda, RawConfig};
use crate::node::{
    ON_PREDICTIONS, RawCertificates, RawEdge, RawFederation, RawModelOf, RawNeighbour, RawNode, RawSilence,
};
use crate::plan::Plan;
use crate::predict::csv_line;

/// What the files of parts are made from.
pub struct Desk<'a> {
    pub args: &'a UpArgs,
    /// The flags of `fit` that all parts share.
    pub model: &'a RawConfig,
    pub network: &'a Network,
    pub plans: &'a [PartPlan],
    pub endpoints: &'a [String],
    pub metrics: &'a [String],
}

impl Desk<'_> {
    /// The file of part `k`.
    pub fn raw_node(&self, k: usize) -> RawNode {
        let Desk { args, model, network, plans, endpoints, metrics } = *self;
        let p = &plans[k];
        let certificates = (!args.loopback_plaintext).then(|| RawCertificates {
            authority: "../certs/ca.pem".into(),
            certificate: format!("../certs/{}.pem", p.name).into(),
            key: format!("../certs/{}.key", p.name).into(),
            revoked: Some("../certs/crl.pem".into()),
        });
        // Of two neighbours the earlier one dials.
        let neighbour = |name: &String| {
            let place = plans.iter().position(|q| q.name == *name);
            let endpoint = place.filter(|q| k < *q).map(|q| endpoints[q].clone());
            RawNeighbour { name: name.clone(), endpoint }
        };
        let edge = |e: &fedweave_node::PlanEdge| RawEdge {
            node: e.node.clone(),
            neighbour: e.neighbour.clone(),
            part: e.peer.map(|peer| p.peers[peer.0 as usize].clone()),
            weight: (e.weight != 1.0).then_some(e.weight),
        };
        RawNode {
            name: p.name.clone(),
            listen: endpoints[k].clone(),
            state: "state".into(),
            metrics: Some(metrics[k].clone()),
            certificates,
            federation: federation(network, plans),
            silence: RawSilence { policy: args.policy.clone(), ..RawSilence::default() },
            model: RawConfig { nodes: (!p.data.is_empty()).then(|| ROWS.into()), ..model.clone() },
            nodes: nodes(network, p),
            neighbours: p.peers.iter().map(neighbour).collect(),
            edges: p.edges.iter().map(edge).collect(),
        }
    }
}

fn federation(network: &Network, plans: &[PartPlan]) -> RawFederation {
    let stop = plans[0].stop;
    let raw = RawFederation {
        parts: plans.len() as u32,
        rounds: stop.rounds_max,
        tolerance: stop.tolerance,
        diameter: Some(stop.diameter),
        classes: match (&network.models, &network.loss) {
            (Some(models), _) => Some(models.task.outputs()).filter(|_| models.task != Task::Regression),
            (None, LossSpec::Same(Family::Multinomial { classes })) => Some(*classes),
            _ => None,
        },
        row_unit: match network.loss_options.node_weight {
            NodeWeight::Unit(unit) => Some(unit),
            _ => None,
        },
        method: Some(method_name(&network.method).into()),
        ..RawFederation::default()
    };
    match network.method {
        MethodSpec::PrimalDual { step_ratio, relaxation } => {
            RawFederation { step_ratio: Some(step_ratio), relaxation: Some(relaxation), ..raw }
        }
        MethodSpec::FedGd { step } => RawFederation { step: Some(step), ..raw },
        MethodSpec::FedRelax | MethodSpec::FedRelaxPredictions { .. } => raw,
        MethodSpec::AsyncFedGd { step, staleness } => {
            RawFederation { step: Some(step), staleness: Some(staleness), ..raw }
        }
    }
}

/// The name of a method, as on the command line.
pub fn method_name(method: &MethodSpec) -> &'static str {
    match method {
        MethodSpec::PrimalDual { .. } => "primal-dual",
        MethodSpec::FedGd { .. } => "fedgd",
        MethodSpec::FedRelax => "fedrelax",
        MethodSpec::FedRelaxPredictions { .. } => ON_PREDICTIONS,
        MethodSpec::AsyncFedGd { .. } => "async-fedgd",
    }
}

/// The models of a part's nodes, and their numbers in the whole network, where their random numbers come from.
fn nodes(network: &Network, part: &PartPlan) -> Vec<RawModelOf> {
    let Some(models) = &part.models else { return Vec::new() };
    let number = |name: &String| network.names.binary_search(name).ok().and_then(|i| u32::try_from(i).ok());
    let entry = |(name, spec): (&String, &ModelSpec)| RawModelOf {
        name: name.clone(),
        model: Some(spec.to_string()),
        number: number(name),
    };
    part.nodes.iter().zip(&models.specs).map(entry).collect()
}

/// The flags of `fit` for all parts. Features are those of the solver: encoded, filled and scaled already.
pub fn model(plan: &Plan, network: &Network) -> RawConfig {
    let raw = &plan.raw;
    let features = network.data.dim() - usize::from(plan.intercept());
    let point = matches!(network.loss, LossSpec::Same(Family::Point));
    RawConfig {
        target: (!point).then(|| "target".into()),
        features: Some(feature_names(features)),
        weight: Some("weight".into()),
        loss: raw.loss.clone(),
        huber_delta: raw.huber_delta,
        quantile: raw.quantile,
        ridge: raw.ridge.clone(),
        no_intercept: raw.no_intercept,
        node_weight: raw.node_weight.clone(),
        penalty: raw.penalty.clone(),
        lambda: Some(Lambda::Fixed(network.lambda)),
        ..RawConfig::default()
    }
}

/// The flags of `fit --model` for all parts.
pub fn model_of_any_class(raw: &RawConfig, network: &Network) -> RawConfig {
    RawConfig {
        target: Some("target".into()),
        features: Some(feature_names(network.data.dim())),
        weight: Some("weight".into()),
        public: Some(Path::new("..").join(PUBLIC)),
        judged_on: raw.judged_on.clone(),
        row_weights: raw.row_weights.clone(),
        seed: raw.seed,
        lambda: Some(Lambda::Fixed(network.lambda)),
        ..RawConfig::default()
    }
}

fn feature_names(count: usize) -> Vec<String> {
    (1..=count).map(|k| format!("x{k}")).collect()
}

const ROWS: &str = "rows.csv";
const PUBLIC: &str = "public.csv";

/// The shortest text that reads back as the same number.
fn number(v: &f64) -> String {
    format!("{v:?}")
}

/// Public rows, if there are any: one file for all parts.
pub fn write_public(work: &Path, network: &Network) -> Result<()> {
    let Some(models) = &network.models else { return Ok(()) };
    let features = feature_names(network.data.dim());
    let lines = |rows: &PublicRows, name: Option<&String>| -> String {
        let line = |r: usize| {
            let cells = rows.x().row(r).iter().map(number);
            csv_line(name.cloned().into_iter().chain(cells))
        };
        (0..rows.len()).map(line).collect()
    };
    let text = match &*models.public {
        PublicSets::Common(rows) => csv_line(features.into_iter()) + &lines(rows, None),
        PublicSets::PerNode(sets) => {
            let header = csv_line(std::iter::once("node".into()).chain(features));
            sets.iter().fold(header, |text, (name, rows)| text + &lines(rows, Some(name)))
        }
    };
    let path = work.join(PUBLIC);
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}

/// The folder of a part.
pub fn write_part(folder: &Path, part: &PartPlan, network: &Network, raw: &RawNode) -> Result<()> {
    let writer = RunWriter::create(folder, false)?;
    let point = matches!(network.loss, LossSpec::Same(Family::Point));
    let features = raw.model.features.as_ref().map_or(0, Vec::len);
    let mut header: Vec<String> = vec!["node".into()];
    header.extend(raw.model.features.iter().flatten().cloned());
    header.extend((!point).then(|| "target".into()));
    header.push("weight".into());
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let data = &part.data;
    let rows = part.nodes.iter().enumerate().flat_map(|(i, name)| {
        data.rows(i).zip(data.weights(i)).map(move |(row, weight)| {
            let label = (!point).then(|| number(&data.y()[row]));
            let x = data.x(row)[..features].iter().map(number);
            std::iter::once(name.clone()).chain(x).chain(label).chain([number(weight)]).collect::<Vec<_>>()
        })
    });
    writer.write_csv(ROWS, &header, rows)?;
    writer.write_text("node.toml", &toml::to_string(raw)?)?;
    writer.finish()?;
    Ok(())
}
