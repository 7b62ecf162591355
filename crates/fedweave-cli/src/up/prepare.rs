//! A federation on disk: how the network is cut, where parts listen, their certificates.

use std::net::TcpListener;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::graph::cut;
use fedweave_node::certs::{Authority, Validity};
use fedweave_node::{Network, Plan as PartPlan};
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use super::UpArgs;
use super::files::{Desk, write_part, write_public};
use crate::config::RawConfig;

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
    _temporary: Option<TempDir>,
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

/// Cuts the network and writes the files of its parts; `model` are the flags that all parts share.
pub fn prepare(args: &UpArgs, model: &RawConfig, network: &Network) -> Result<Prepared> {
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
    write_public(&work, network)?;
    let desk = Desk { args, model, network, plans: &plans, endpoints: &endpoints, metrics: &metrics };
    let folders: Vec<PathBuf> = plans.iter().map(|p| work.join(&p.name)).collect();
    (0..plans.len()).try_for_each(|k| write_part(&folders[k], &plans[k], network, &desk.raw_node(k)))?;
    Ok(Prepared { folders, plans, metrics, edges_cut: cut.edges, work, _temporary: temporary })
}

fn folder(args: &UpArgs) -> Result<(PathBuf, Option<TempDir>)> {
    if let Some(work) = &args.work {
        ensure!(!work.exists(), "{}: exists already; --work makes a new folder", work.display());
        std::fs::create_dir_all(work).with_context(|| work.display().to_string())?;
        return Ok((work.canonicalize()?, None));
    }
    // Open to nobody else: keys are in it.
    let temporary = tempfile::Builder::new().prefix("fedweave-up-").tempdir().context("a temporary folder")?;
    let work = temporary.path().canonicalize()?;
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
