//! A federation on disk: how the network is cut, where parts listen, their certificates and files.

use std::path::{Path, PathBuf};

use fedweave::loss::LossSpec;
use fedweave::model::relax::seed_of;
use tempfile::TempDir;

use super::error::LaunchError;
use super::files::{Desk, write_public};
use super::ports::seats;
use crate::certs::{Authority, Validity};
use crate::config::PrivacySection;
use crate::network::Network;
use crate::plan::Plan;

/// More processes are a mistake.
pub const PARTS_MAX: usize = 1000;
/// Certificates of a trial are good for so many days.
const DAYS: i64 = 30;

/// How a network becomes a federation.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// Number of parts.
    pub parts: usize,
    /// Keep the files in this new folder; else they are temporary.
    pub work: Option<PathBuf>,
    /// Address of each part, in order; one for all, or as many as parts; this machine if there is none.
    pub hosts: Option<Vec<String>>,
    /// First port; part `k` listens on this one plus `k`. Free ports if there is none and all hosts are this machine.
    pub port: Option<u16>,
    /// No certificates; loopback addresses only.
    pub loopback_plaintext: bool,
    /// Every process appends the frames it sends, as they are before encryption, to `frames.bin` in its folder.
    pub record_frames: bool,
    /// Noise that protects every row, drawn by every part for its own.
    pub privacy: Option<PrivacySection>,
    /// Models of any class: the seed that the seeds of all nodes follow from.
    pub seed: u64,
}

impl LaunchOptions {
    /// What can be checked before the network is known.
    pub fn check(&self) -> Result<(), LaunchError> {
        match (1..=PARTS_MAX).contains(&self.parts) {
            true => Ok(()),
            false => Err(LaunchError::Parts { parts: self.parts }),
        }
    }
}

/// A federation on disk.
pub struct Prepared {
    /// The folder of each part.
    pub folders: Vec<PathBuf>,
    /// What each part is to do.
    pub plans: Vec<Plan>,
    /// Address of the metrics of each part.
    pub metrics: Vec<String>,
    /// Edges between parts.
    pub edges_cut: usize,
    pub(super) loopback_plaintext: bool,
    pub(super) record_frames: bool,
    work: PathBuf,
    temporary: Option<TempDir>,
}

impl Prepared {
    /// The folder with all files, if it stays.
    pub fn kept(&self) -> Option<&Path> {
        self.temporary.is_none().then_some(&self.work)
    }

    /// The smallest and the largest number of nodes of a part.
    pub fn nodes_of_parts(&self) -> (usize, usize) {
        let nodes = self.plans.iter().map(|plan| plan.nodes.len());
        (nodes.clone().min().unwrap_or(0), nodes.max().unwrap_or(0))
    }
}

/// Cuts the network and writes the files of its parts.
pub fn prepare(network: &Network, options: &LaunchOptions) -> Result<Prepared, LaunchError> {
    options.check()?;
    check_network(network, options.seed)?;
    let cut = network.cut(options.parts);
    let parts = cut.part.iter().max().map_or(1, |last| last + 1);
    let plans = network.plans(&cut.part, parts)?;
    let seats = seats(options, plans.len())?;
    let (work, temporary) = folder(options.work.as_deref())?;
    if !options.loopback_plaintext {
        let mut authority = Authority::init(&work.join("certs"), "fedweave up")?;
        for (plan, seat) in plans.iter().zip(&seats) {
            authority.issue(&plan.name, std::slice::from_ref(&seat.host), Validity::days(DAYS))?;
        }
    }
    write_public(&work, network)?;
    let desk = Desk { network, options, plans: &plans, seats: &seats };
    let folders: Vec<PathBuf> = plans.iter().map(|plan| work.join(&plan.name)).collect();
    (0..plans.len()).try_for_each(|k| desk.write_part(k, &folders[k]))?;
    Ok(Prepared {
        folders,
        metrics: seats.into_iter().map(|seat| seat.metrics).collect(),
        plans,
        edges_cut: cut.edges,
        loopback_plaintext: options.loopback_plaintext,
        record_frames: options.record_frames,
        work,
        temporary,
    })
}

fn check_network(network: &Network, seed: u64) -> Result<(), LaunchError> {
    if network.rounds_max == 0 {
        return Err(LaunchError::NoRounds);
    }
    if !matches!(network.loss, LossSpec::Same(_)) {
        return Err(LaunchError::SeveralLosses);
    }
    // The files say that there is an intercept, and have no column for it.
    let ones = |i: usize| network.data.features(i).chunks_exact(network.data.dim()).all(|x| x.last() == Some(&1.0));
    if network.has_intercept()
        && let Some(i) = (0..network.data.nodes()).find(|&i| !ones(i))
    {
        return Err(LaunchError::NoIntercept { node: network.names[i].clone() });
    }
    // The files say a seed and the number of a node.
    let seeds = network.models.iter().flat_map(|models| models.seeds.iter().enumerate());
    match seeds.zip(&network.names).find(|((i, own), _)| **own != seed_of(seed, *i)) {
        Some((_, node)) => Err(LaunchError::Seed { node: node.clone(), seed }),
        None => Ok(()),
    }
}

fn folder(work: Option<&Path>) -> Result<(PathBuf, Option<TempDir>), LaunchError> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |error| LaunchError::File { path, error }
    };
    if let Some(work) = work {
        if work.exists() {
            return Err(LaunchError::WorkExists { path: work.into() });
        }
        std::fs::create_dir_all(work).map_err(at(work))?;
        return Ok((work.canonicalize().map_err(at(work))?, None));
    }
    // Open to nobody else: keys are in it.
    let temporary = tempfile::Builder::new().prefix("fedweave-up-").tempdir();
    let temporary = temporary.map_err(at(Path::new("a temporary folder")))?;
    let work = temporary.path().canonicalize().map_err(at(temporary.path()))?;
    Ok((work, Some(temporary)))
}
