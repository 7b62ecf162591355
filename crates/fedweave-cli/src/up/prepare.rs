//! The files of every part: rows, settings, certificates.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::graph::cut;
use fedweave::loss::{Family, LossSpec, NodeWeight};
use fedweave_io::RunWriter;
use fedweave_node::certs::{Authority, Validity};
use fedweave_node::{MethodSpec, Network, Plan as PartPlan};
use rand::{RngExt, SeedableRng};

use super::UpArgs;
use crate::config::{Lambda, RawConfig};
use crate::node::{RawCertificates, RawEdge, RawFederation, RawNeighbour, RawNode, RawSilence};
use crate::plan::Plan;

/// Certificates of a trial are good for so many days.
const DAYS: i64 = 30;
const PORT: u16 = 7447;

/// A federation on disk.
pub struct Prepared {
    /// The folder of each part.
    pub folders: Vec<PathBuf>,
    /// What each part is to do.
    pub plans: Vec<PartPlan>,
    /// Address of the metrics of each part.
    pub metrics: Vec<String>,
    edges_cut: usize,
    work: PathBuf,
    _temporary: Option<Temporary>,
}

impl Prepared {
    /// A few words for people.
    pub fn words(&self) -> String {
        let (parts, cut) = (self.plans.len(), self.edges_cut);
        let nodes: Vec<usize> = self.plans.iter().map(|p| p.nodes.len()).collect();
        let (least, most) = (nodes.iter().min().unwrap_or(&0), nodes.iter().max().unwrap_or(&0));
        let kept = match &self._temporary {
            Some(_) => String::new(),
            None => format!("; files in {}", self.work.display()),
        };
        format!("{parts} parts of {least} to {most} nodes, {cut} edges between them{kept}")
    }
}

/// Removes a folder at the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Cuts the network and writes the files of its parts.
pub fn prepare(args: &UpArgs, plan: &Plan, network: &Network) -> Result<Prepared> {
    let parts = args.parts.min(network.names.len());
    let cut = cut(&network.graph, parts);
    let plans = network.plans(&cut.part, parts)?;
    let hosts = hosts(args, plans.len())?;
    let ports = ports(args, &hosts)?;
    let (work, temporary) = folder(args)?;
    let certs = work.join("certs");
    if !args.loopback_plaintext {
        let mut authority = Authority::init(&certs, "fedweave up")?;
        for (p, host) in plans.iter().zip(&hosts) {
            authority.issue(&p.name, std::slice::from_ref(host), Validity::days(DAYS))?;
        }
    }
    let endpoints: Vec<String> =
        hosts.iter().zip(&ports).map(|(host, (port, _))| format!("{}:{port}", bracketed(host))).collect();
    let metrics: Vec<String> = ports.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let mut folders = Vec::new();
    for (k, p) in plans.iter().enumerate() {
        let folder = work.join(&p.name);
        let raw = raw_node(args, plan, network, &plans, k, &endpoints, &metrics[k]);
        write_part(&folder, p, network, &raw)?;
        folders.push(folder);
    }
    Ok(Prepared { folders, plans, metrics, edges_cut: cut.edges, work, _temporary: temporary })
}

fn folder(args: &UpArgs) -> Result<(PathBuf, Option<Temporary>)> {
    if let Some(work) = &args.work {
        ensure!(!work.exists(), "{}: exists already; --work makes a new folder", work.display());
        std::fs::create_dir_all(work).with_context(|| work.display().to_string())?;
        return Ok((work.canonicalize()?, None));
    }
    let mut random = rand_chacha::ChaCha8Rng::try_from_rng(&mut rand::rngs::SysRng)?;
    let name = format!("fedweave-up-{}-{:08x}", std::process::id(), random.random::<u32>());
    let work = std::env::temp_dir().join(name);
    std::fs::create_dir(&work).with_context(|| work.display().to_string())?;
    let temporary = Temporary(work.clone());
    Ok((work, Some(temporary)))
}

fn hosts(args: &UpArgs, parts: usize) -> Result<Vec<String>> {
    let given = args.hosts.clone().unwrap_or_else(|| vec!["127.0.0.1".into()]);
    match given.len() {
        1 => Ok(vec![given[0].clone(); parts]),
        n if n == parts => Ok(given),
        n => bail!("--hosts: {n} hosts for {parts} parts; give one, or one for each"),
    }
}

/// For each part a port to listen on and one for metrics.
fn ports(args: &UpArgs, hosts: &[String]) -> Result<Vec<(u16, u16)>> {
    let local = hosts.iter().all(|h| h == "127.0.0.1");
    if args.port.is_none() && local {
        return free_ports(2 * hosts.len()).map(|p| p.chunks(2).map(|c| (c[0], c[1])).collect());
    }
    let first = args.port.unwrap_or(PORT);
    let last = first.checked_add(2 * hosts.len() as u16).ok_or_else(|| anyhow!("--port {first}: too high"))?;
    let middle = last - hosts.len() as u16;
    Ok((0..hosts.len() as u16).map(|k| (first + k, middle + k)).collect())
}

/// Ports on which nobody listens now, below those that the system hands out to dialling processes.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let mut random = rand_chacha::ChaCha8Rng::try_from_rng(&mut rand::rngs::SysRng)?;
    let mut held: Vec<TcpListener> = Vec::new();
    for _ in 0..200 * count {
        if held.len() == count {
            break;
        }
        held.extend(TcpListener::bind(("127.0.0.1", random.random_range(10_000..32_000))));
    }
    ensure!(held.len() == count, "no {count} free ports on this machine");
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.into() }
}

fn raw_node(
    args: &UpArgs,
    plan: &Plan,
    network: &Network,
    plans: &[PartPlan],
    k: usize,
    endpoints: &[String],
    metrics: &str,
) -> RawNode {
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
        metrics: Some(metrics.into()),
        certificates,
        federation: federation(network, plans),
        silence: RawSilence { policy: args.policy.clone(), ..RawSilence::default() },
        model: model(plan, network, p),
        neighbours: p.peers.iter().map(neighbour).collect(),
        edges: p.edges.iter().map(edge).collect(),
    }
}

fn federation(network: &Network, plans: &[PartPlan]) -> RawFederation {
    let stop = plans[0].stop;
    let raw = RawFederation {
        parts: plans.len() as u32,
        rounds: stop.rounds_max,
        tolerance: stop.tolerance,
        diameter: Some(stop.diameter),
        classes: match network.loss {
            LossSpec::Same(Family::Multinomial { classes }) => Some(classes),
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
        MethodSpec::FedRelax => raw,
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
        MethodSpec::AsyncFedGd { .. } => "async-fedgd",
    }
}

/// The flags of `fit` for one part. Features are those of the solver: encoded, filled and scaled already.
fn model(plan: &Plan, network: &Network, part: &PartPlan) -> RawConfig {
    let raw = &plan.raw;
    let features = network.data.dim() - usize::from(plan.intercept());
    let point = matches!(network.loss, LossSpec::Same(Family::Point));
    RawConfig {
        nodes: (!part.data.is_empty()).then(|| ROWS.into()),
        target: (!point).then(|| "target".into()),
        features: Some((1..=features).map(|k| format!("x{k}")).collect()),
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

const ROWS: &str = "rows.csv";

fn write_part(folder: &Path, part: &PartPlan, network: &Network, raw: &RawNode) -> Result<()> {
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
            // The shortest text that reads back as the same number.
            let number = |v: &f64| format!("{v:?}");
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
