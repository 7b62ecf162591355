//! A federation on disk: how the network is cut, where parts listen, their certificates and files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
use crate::private;

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
    /// Says to others that the folder is in use.
    _lock: Option<File>,
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
    let (work, temporary, lock) = folder(options.work.as_deref())?;
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
        _lock: lock,
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

/// The folder of a federation: a new one for its owner alone, kept if it was named.
fn folder(work: Option<&Path>) -> Result<(PathBuf, Option<TempDir>, Option<File>), LaunchError> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |error| LaunchError::File { path, error }
    };
    if let Some(work) = work {
        if work.exists() {
            return Err(LaunchError::WorkExists { path: work.into() });
        }
        private::folder(work).map_err(at(work))?;
        return Ok((work.canonicalize().map_err(at(work))?, None, None));
    }
    remove_abandoned(&std::env::temp_dir());
    // Open to nobody else: keys are in it.
    let temporary = tempfile::Builder::new().prefix(PREFIX).tempdir();
    let temporary = temporary.map_err(at(Path::new("a temporary folder")))?;
    let lock = private::create(&temporary.path().join(LOCK)).map_err(at(temporary.path()))?;
    lock.try_lock().map_err(|_| LaunchError::WorkExists { path: temporary.path().into() })?;
    let work = temporary.path().canonicalize().map_err(at(temporary.path()))?;
    Ok((work, Some(temporary), Some(lock)))
}

const PREFIX: &str = "fedweave-up-";
const LOCK: &str = "in-use";
/// A folder without a lock is as old as this before it counts as abandoned: it may just have been made.
const YOUNG: Duration = Duration::from_secs(60);

/// Folders of processes that were killed: they hold rows and keys.
fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        let abandoned = match File::options().write(true).open(path.join(LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
                age.is_some_and(|age| age > YOUNG)
            }
            // Of somebody else.
            Err(_) => false,
        };
        if abandoned {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_killed_are_removed_and_those_in_use_are_not() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("rows.csv"), "secret").unwrap();
            (path.clone(), private::create(&path.join(LOCK)).unwrap())
        };
        let (killed, _) = make("fedweave-up-1");
        let (used, lock) = make("fedweave-up-2");
        lock.try_lock().unwrap();
        let (other, _) = make("something-else");
        std::fs::create_dir(place.path().join("fedweave-up-3")).unwrap();
        remove_abandoned(place.path());
        assert!(!killed.exists() && used.exists() && other.exists() && place.path().join("fedweave-up-3").exists());
    }
}
