//! What `node.toml` means: a [`Plan`] for the state machine, a [`Link`] for the network, and folders.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::loss::{Family, LossSpec};
use fedweave_io::TargetKind;
use fedweave_node::certs::{Credentials, check_name};
use fedweave_node::models::with_public;
use fedweave_node::transport::{Link, Neighbour};
use fedweave_node::{PenaltyKind, Plan};

use super::data::{loss, loss_options, refuse_foreign_keys, rows};
use super::predictions;
use super::raw::{RawEdge, RawFederation, RawNode};
use super::shared::{edge, method, patience, stop};
use crate::config::{Lambda, RawConfig, read_toml};
use crate::plan;

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
    /// The column that names nodes.
    pub node_column: String,
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
        node_column: raw.model.node.clone().unwrap_or_else(|| "node".into()),
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
    model.public = model.public.map(|path| folder.join(path));
    let on_predictions = shared.method.as_deref() == Some(predictions::METHOD);
    let flags = model.clone();
    ensure!(on_predictions || raw.nodes.is_empty(), "[[node]] entries belong to method {}", predictions::METHOD);
    if on_predictions {
        model = predictions::without_models(model)?;
    }
    let penalty = model.penalty.clone().unwrap_or_else(|| "norm2".into());
    let kind = PenaltyKind::named(&penalty).ok_or_else(|| {
        anyhow!("model.penalty = \"{penalty}\": a federation knows norm2, norm1, norminf and squared")
    })?;
    let meant = plan::Plan::fit(RawConfig { nodes: model.nodes.clone().or(Some("-".into())), ..model.clone() })?;
    let loss = if on_predictions { LossSpec::Same(Family::Squared) } else { loss(meant.family, shared)? };
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
    let models = if on_predictions { Some(predictions::models(raw, &flags, &nodes, &features)?) } else { None };
    let settings = fingerprint(&link.identity().federation, shared, &flags, lambda, &penalty, &features);
    let plan = Plan {
        name: raw.name.clone(),
        federation: models.as_ref().map_or(settings, |m| with_public(settings, m.public.digest())),
        edges: raw.edges.iter().enumerate().map(|(k, e)| edge(k, e, &raw.name, &peers)).collect::<Result<_>>()?,
        loss,
        loss_options: loss_options(meant.options, shared)?,
        penalty: kind,
        lambda,
        method: method(shared, &flags)?,
        stop: stop(shared)?,
        patience: patience(&raw.silence)?,
        nodes,
        data,
        peers,
        models,
    };
    Ok((plan, features))
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
        model.judged_on,
        model.row_weights,
    ]);
    let hash = ring::digest::digest(&ring::digest::SHA256, text.to_string().as_bytes());
    u64::from_le_bytes(hash.as_ref()[..8].try_into().expect("a digest has 32 bytes"))
}
