//! What `node.toml` means: a [`Plan`] for the state machine, a [`Link`] for the network, and folders.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::{Dataset, Matrix};
use fedweave_io::{InputSpec, TargetKind, load};
use fedweave_node::certs::{Credentials, check_name};
use fedweave_node::transport::{Link, Neighbour};
use fedweave_node::{DeadPolicy, MethodSpec, Patience, PeerId, PenaltyKind, Plan, PlanEdge, StopRule};

use super::raw::{RawEdge, RawFederation, RawNode, RawSilence};
use crate::config::{Lambda, RawConfig, read_toml};
use crate::plan;
use crate::plan::choice;

/// A part that can be started.
pub struct NodeSettings {
    /// For the state machine.
    pub plan: Plan,
    /// For the network.
    pub link: Link,
    /// Where to listen.
    pub listen: String,
    /// Whom to talk to, in the order of the plan's peers.
    pub neighbours: Vec<Neighbour>,
    /// Folder for checkpoints, log and result.
    pub state: PathBuf,
    /// Where to answer questions.
    pub metrics: Option<SocketAddr>,
    /// Names of the features, intercept last if there is one.
    pub features: Vec<String>,
}

/// Reads and understands the file of a part.
pub fn read(path: &Path, loopback_plaintext: bool) -> Result<NodeSettings> {
    let raw: RawNode = read_toml(path, "see docs/guide/federation.md")?;
    let folder = path.parent().unwrap_or(Path::new("."));
    understand(raw, folder, loopback_plaintext).with_context(|| path.display().to_string())
}

fn understand(raw: RawNode, folder: &Path, loopback_plaintext: bool) -> Result<NodeSettings> {
    check_name(&raw.name)?;
    for neighbour in &raw.neighbours {
        check_name(&neighbour.name)?;
        ensure!(neighbour.name != raw.name, "neighbour `{}` is this part itself", raw.name);
    }
    let mut names: Vec<&str> = raw.neighbours.iter().map(|n| n.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("neighbour `{}` is listed twice", pair[0]);
    }
    let link = link(&raw, folder, loopback_plaintext)?;
    let endpoints = raw.neighbours.iter().filter_map(|n| n.endpoint.as_deref());
    endpoints.chain([raw.listen.as_str()]).try_for_each(|e| link.check(e))?;
    let (plan, features) = plan(&raw, folder, &link)?;
    let neighbour = |n: &super::raw::RawNeighbour| Neighbour { name: n.name.clone(), endpoint: n.endpoint.clone() };
    Ok(NodeSettings {
        plan,
        features,
        link,
        neighbours: raw.neighbours.iter().map(neighbour).collect(),
        state: folder.join(&raw.state),
        metrics: raw.metrics.as_deref().map(metrics).transpose()?,
        listen: raw.listen,
    })
}

fn metrics(text: &str) -> Result<SocketAddr> {
    let address: SocketAddr = text.parse().map_err(|_| anyhow!("metrics = \"{text}\": write 127.0.0.1:PORT"))?;
    ensure!(address.ip().is_loopback(), "metrics = \"{text}\": for this machine only; write 127.0.0.1:PORT");
    Ok(address)
}

fn link(raw: &RawNode, folder: &Path, loopback_plaintext: bool) -> Result<Link> {
    match (&raw.certificates, loopback_plaintext) {
        (Some(_), true) => bail!("--loopback-plaintext, but the file has certificates; leave out one of them"),
        (None, true) => Ok(Link::LoopbackPlaintext { name: raw.name.clone() }),
        (None, false) => bail!(
            "no [certificates]: issue some with `fedweave certs`, or run on this machine only with --loopback-plaintext"
        ),
        (Some(c), false) => {
            let revoked = c.revoked.as_ref().map(|path| folder.join(path));
            let at = |path: &PathBuf| folder.join(path);
            Ok(Link::Tls(Credentials::load(
                &raw.name,
                &at(&c.certificate),
                &at(&c.key),
                &at(&c.authority),
                revoked.as_deref(),
            )?))
        }
    }
}

fn plan(raw: &RawNode, folder: &Path, link: &Link) -> Result<(Plan, Vec<String>)> {
    refuse_foreign_keys(&raw.model)?;
    let shared = &raw.federation;
    let mut model = raw.model.clone();
    model.nodes = model.nodes.map(|path| folder.join(path));
    let lambda = match model.lambda {
        Some(Lambda::Fixed(value)) => value,
        _ => bail!("model.lambda: a federation needs a number; `fedweave fit` can choose one on a sample"),
    };
    let penalty = model.penalty.clone().unwrap_or_else(|| "norm2".into());
    let kind = PenaltyKind::named(&penalty).ok_or_else(|| {
        anyhow!("model.penalty = \"{penalty}\": a federation knows norm2, norm1, norminf and squared")
    })?;
    let meant = plan::Plan::fit(RawConfig { nodes: model.nodes.clone().or(Some("-".into())), ..model.clone() })?;
    let loss = loss(meant.family, shared)?;
    let mut spec = meant.input.clone();
    if spec.target_kind == TargetKind::Class {
        // Classes are numbered: no part sees all labels.
        spec.target_kind = TargetKind::Number;
    }
    let inside = |e: &&RawEdge| e.part.as_ref().is_none_or(|part| *part == raw.name);
    let far_ends = raw.edges.iter().filter(inside).map(|e| e.neighbour.as_str());
    let own: BTreeSet<&str> = raw.edges.iter().map(|e| e.node.as_str()).chain(far_ends).collect();
    let (nodes, data, features) = rows(&model, &spec, &own)?;
    let peers: Vec<String> = raw.neighbours.iter().map(|n| n.name.clone()).collect();
    let plan = Plan {
        name: raw.name.clone(),
        federation: fingerprint(&link.identity().federation, shared, &model, lambda, &penalty, &features),
        edges: raw.edges.iter().enumerate().map(|(k, e)| edge(k, e, &raw.name, &peers)).collect::<Result<_>>()?,
        loss,
        loss_options: loss_options(meant.options, shared)?,
        penalty: kind,
        lambda,
        method: method(shared)?,
        stop: stop(shared)?,
        patience: patience(&raw.silence)?,
        nodes,
        data,
        peers,
    };
    Ok((plan, features))
}

/// What needs all rows of the federation, or belongs elsewhere.
fn refuse_foreign_keys(raw: &RawConfig) -> Result<()> {
    let given = [
        ("edges", raw.edges.is_some(), "write [[edge]] entries"),
        ("knn", raw.knn.is_some(), "write [[edge]] entries"),
        ("standardize", raw.standardize, "scale the features before: it needs the rows of all parts"),
        ("one-hot", raw.one_hot.is_some(), "encode before: it needs the rows of all parts"),
        ("missing = \"mean\"", raw.missing.as_deref() == Some("mean"), "fill before: it needs the rows of all parts"),
        ("loss-column", raw.loss_column.is_some(), "all nodes of a federation have the same loss"),
        ("penalty-matrix", raw.penalty_matrix.is_some(), "a federation knows norm2, norm1, norminf and squared"),
        ("lambda-grid", raw.lambda_grid.is_some(), "write lambda"),
        ("validation", raw.validation.is_some(), "a federation trains with all rows"),
        ("solver", raw.solver.is_some(), "write federation.method"),
        ("tolerance", raw.tolerance.is_some(), "write federation.tolerance"),
        ("rounds", raw.rounds.is_some(), "write federation.rounds"),
        ("step-ratio", raw.step_ratio.is_some(), "write federation.step-ratio"),
        ("relaxation", raw.relaxation.is_some(), "write federation.relaxation"),
        ("out", raw.out.is_some(), "write state"),
    ];
    match given.iter().find(|(_, given, _)| *given) {
        Some((key, _, remedy)) => bail!("model.{key}: {remedy}"),
        None => Ok(()),
    }
}

fn loss(family: Family, shared: &RawFederation) -> Result<LossSpec> {
    Ok(LossSpec::Same(match (family, shared.classes) {
        (Family::Multinomial { .. }, Some(classes)) => {
            ensure!((2..=100_000).contains(&classes), "federation.classes = {classes}: at least 2");
            Family::Multinomial { classes }
        }
        (Family::Multinomial { .. }, None) => {
            bail!("federation.classes: how many classes are there? Labels are then 0, 1, ...")
        }
        (_, Some(_)) => bail!("federation.classes belongs to the multinomial loss"),
        (other, None) => other,
    }))
}

fn loss_options(options: LossOptions, shared: &RawFederation) -> Result<LossOptions> {
    let node_weight = match (options.node_weight, shared.row_unit) {
        (NodeWeight::Equal, None) => NodeWeight::Equal,
        (NodeWeight::Equal, Some(_)) => bail!("federation.row-unit belongs to model.node-weight = \"rows\""),
        (_, Some(unit)) if unit > 0.0 && unit.is_finite() => NodeWeight::Unit(unit),
        (_, Some(unit)) => bail!("federation.row-unit = {unit}: must be positive"),
        (_, None) => bail!("federation.row-unit: node-weight \"rows\" needs it: one over the mean number of rows"),
    };
    Ok(LossOptions { node_weight, ..options })
}

/// Nodes in byte order, their rows, names of the features. Nodes that only edges mention have no rows.
fn rows(model: &RawConfig, spec: &InputSpec, own: &BTreeSet<&str>) -> Result<(Vec<String>, Dataset, Vec<String>)> {
    if model.nodes.is_none() {
        let mut features =
            model.features.clone().ok_or_else(|| anyhow!("model.features: needed where model.nodes is left out"))?;
        features.extend(spec.intercept.then(|| "intercept".into()));
        let nodes: Vec<String> = own.iter().map(ToString::to_string).collect();
        let empty = Matrix::from_rows(features.len(), Vec::new());
        return Ok((nodes.clone(), Dataset::new(vec![0; nodes.len() + 1], empty, Vec::new(), Vec::new())?, features));
    }
    let input = load(spec)?;
    let nodes: Vec<String> = own
        .iter()
        .copied()
        .chain(input.names.iter().map(String::as_str))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(String::from)
        .collect();
    let mut offsets = vec![0];
    for name in &nodes {
        let count = input.names.binary_search(name).map_or(0, |i| input.data.rows(i).len());
        offsets.push(offsets[offsets.len() - 1] + count);
    }
    let data = &input.data;
    let x: Vec<f64> = (0..data.len()).flat_map(|row| data.x(row).iter().copied()).collect();
    let weight: Vec<f64> = (0..data.nodes()).flat_map(|i| data.weights(i).iter().copied()).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(data.dim(), x), data.y().to_vec(), weight)?;
    Ok((nodes, data, input.features))
}

fn edge(k: usize, raw: &RawEdge, own: &str, peers: &[String]) -> Result<PlanEdge> {
    let peer = match raw.part.as_deref() {
        None => None,
        Some(part) if part == own => None,
        Some(part) => {
            let place = peers.iter().position(|p| p == part);
            let unknown = || anyhow!("edge {} to `{}`: `{part}` is not a [[neighbour]]", k + 1, raw.neighbour);
            Some(PeerId(place.ok_or_else(unknown)? as u32))
        }
    };
    Ok(PlanEdge { node: raw.node.clone(), neighbour: raw.neighbour.clone(), peer, weight: raw.weight.unwrap_or(1.0) })
}

fn method(shared: &RawFederation) -> Result<MethodSpec> {
    let name = shared.method.as_deref().unwrap_or("primal-dual");
    let given = [
        ("step-ratio", shared.step_ratio.is_some(), &["primal-dual"][..]),
        ("relaxation", shared.relaxation.is_some(), &["primal-dual"]),
        ("step", shared.step.is_some(), &["fedgd", "async-fedgd"]),
        ("staleness", shared.staleness.is_some(), &["async-fedgd"]),
    ];
    if let Some((key, _, of)) = given.iter().find(|(_, given, of)| *given && !of.contains(&name)) {
        bail!("federation.{key} belongs to method {}", of.join(", "));
    }
    let step = || shared.step.ok_or_else(|| anyhow!("federation.step: {name} needs one that all parts agree on"));
    Ok(match name {
        "primal-dual" => MethodSpec::PrimalDual {
            step_ratio: shared.step_ratio.unwrap_or(1.0),
            relaxation: shared.relaxation.unwrap_or(1.8),
        },
        "fedgd" => MethodSpec::FedGd { step: step()? },
        "fedrelax" => MethodSpec::FedRelax,
        "async-fedgd" => MethodSpec::AsyncFedGd { step: step()?, staleness: shared.staleness.unwrap_or(5) },
        other => bail!("federation.method = \"{other}\": unknown; use primal-dual, fedgd, fedrelax or async-fedgd"),
    })
}

fn stop(shared: &RawFederation) -> Result<StopRule> {
    ensure!(shared.parts >= 1, "federation.parts = 0: at least 1");
    ensure!(shared.rounds >= 1, "federation.rounds = 0: at least 1");
    if let Some(tolerance) = shared.tolerance {
        ensure!(tolerance > 0.0 && tolerance.is_finite(), "federation.tolerance = {tolerance}: must be positive");
    }
    let diameter = shared.diameter.unwrap_or(shared.parts - 1);
    Ok(StopRule { rounds_max: shared.rounds, tolerance: shared.tolerance, diameter })
}

fn patience(raw: &RawSilence) -> Result<Patience> {
    let default = Patience::default();
    let policies = [("wait", DeadPolicy::Wait), ("continue", DeadPolicy::Continue), ("stop", DeadPolicy::Stop)];
    let seconds = raw.dead_after_seconds.unwrap_or(default.dead_after_ms as f64 / 1000.0);
    ensure!((0.1..=1e7).contains(&seconds), "silence.dead-after-seconds = {seconds}: between 0.1 and 10000000");
    let retry_ms = raw.retry_ms.unwrap_or(default.retry_ms);
    ensure!((1..=60_000).contains(&retry_ms), "silence.retry-ms = {retry_ms}: between 1 and 60000");
    Ok(Patience {
        policy: choice("silence.policy", raw.policy.as_deref(), &policies)?,
        dead_after_ms: (seconds * 1000.0) as u64,
        retry_ms,
    })
}

/// Parts that disagree on any of this do not understand each other's frames.
fn fingerprint(
    federation: &str,
    shared: &RawFederation,
    model: &RawConfig,
    lambda: f64,
    penalty: &str,
    features: &[String],
) -> u64 {
    let text = serde_json::json!([
        federation,
        shared,
        features,
        [lambda.to_bits()],
        penalty,
        model.loss,
        model.ridge,
        model.huber_delta,
        model.quantile,
        model.node_weight,
    ]);
    let hash = ring::digest::digest(&ring::digest::SHA256, text.to_string().as_bytes());
    u64::from_le_bytes(hash.as_ref()[..8].try_into().expect("a digest has 32 bytes"))
}
