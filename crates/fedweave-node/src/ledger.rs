//! What was spent of the privacy of a part's rows, and what it bought.
//!
//! A release is written down, with its noise, *before* it is used: after a crash the same numbers are used again, because fresh
//! noise on the same rows would average out. The file stands apart from checkpoints: older checkpoints, new starts and joining
//! again change nothing about it. A count in the state folder tells if the file was lost or replaced by an older one; who replaces
//! both undoes it unseen.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use fedweave::trust::privacy::accountant::gaussian;
use fedweave::trust::privacy::statistics::NoisyMoments;
use fedweave_io::counted;
use serde::{Deserialize, Serialize};

/// Rounding of what is spent.
const HAIR: f64 = 1e-9;

/// One release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Tells rows and settings apart.
    pub what: String,
    /// What it cost: one over the noise multiplier.
    pub mu: f64,
    /// What was released: the moments of every node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Option<NoisyMoments>>,
    /// Or the labels of public rows, by the votes of every node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Option<Vec<f64>>>,
    /// Or what was bought: so many noisy gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsEntry>,
}

impl Entry {
    /// A release of nothing yet.
    fn new(what: &str, mu: f64) -> Entry {
        Entry { what: what.into(), mu, moments: Vec::new(), labels: Vec::new(), rounds: None }
    }
}

/// Noisy gradients that are paid for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundsEntry {
    /// What their noise follows from: a secret.
    pub key: [u8; 32],
    /// How many.
    pub releases: u64,
    /// Noise in multiples of what one row can do.
    pub multiplier: f64,
    /// Probability that a row takes part.
    pub rate: f64,
}

impl RoundsEntry {
    /// What they cost cannot be added to what others cost.
    fn stands_alone(&self) -> bool {
        self.rate < 1.0
    }
}

/// Why nothing may be released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the words of the messages right above them
pub enum LedgerError {
    /// The budget is used up.
    #[error(
        "{}: the privacy of these rows is spent: {} cost epsilon {spent:.4}, one more would make it {next:.4}, \
         the budget is {budget}; rows or settings have changed since",
        path.display(), counted(*releases, "release")
    )]
    Spent { path: PathBuf, releases: usize, spent: f64, next: f64, budget: f64 },
    /// Sampled rounds, and something else.
    #[error(
        "{}: gradients of samples of rows and other releases cannot be paid from one budget: rows or settings have changed since",
        path.display()
    )]
    Alone { path: PathBuf },
    /// Fewer releases than were counted.
    #[error(
        "{}: holds {}, but {made} were made: the ledger was lost or replaced by an older one; \
         nothing is sent before it is restored",
        path.display(), counted(*found as usize, "release")
    )]
    Lost { path: PathBuf, found: u64, made: u64 },
    /// It cannot be read.
    #[error("{}: no ledger: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    /// The operating system refuses.
    #[error("{}: {error}", path.display())]
    System { path: PathBuf, error: std::io::Error },
    /// The mathematics refuses.
    #[error(transparent)]
    Mathematics(#[from] fedweave::Error),
}

/// Where a ledger is kept.
pub trait Shelf {
    /// The ledger, if there is one.
    fn load(&mut self) -> Result<Option<Vec<u8>>, LedgerError>;
    /// Makes it durable; when this returns, neither a crash nor a loss of power loses it.
    fn save(&mut self, bytes: &[u8]) -> Result<(), LedgerError>;
    /// How many releases were counted in the state folder.
    fn counted(&mut self) -> Result<u64, LedgerError>;
    /// Counts them.
    fn count(&mut self, releases: u64) -> Result<(), LedgerError>;
    /// Its name, for messages.
    fn path(&self) -> PathBuf;
}

/// The releases of a part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// In the order in which they were made.
    pub entries: Vec<Entry>,
}

impl Ledger {
    /// The ledger of a shelf; an empty one if there is none and there never was.
    pub fn open(shelf: &mut dyn Shelf) -> Result<Ledger, LedgerError> {
        let path = shelf.path();
        let ledger: Ledger = match shelf.load()? {
            None => Ledger::default(),
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| LedgerError::Damaged { path: path.clone(), what: error.to_string() })?,
        };
        let (found, made) = (ledger.entries.len() as u64, shelf.counted()?);
        if found < made {
            return Err(LedgerError::Lost { path, found, made });
        }
        // A crash between the two writes.
        if found > made {
            shelf.count(found)?;
        }
        Ok(ledger)
    }

    /// The ledger in a file; an empty one if there is none. It is not checked against any count.
    pub fn read(path: &Path) -> Result<Ledger, LedgerError> {
        let Some(bytes) = read(path)? else { return Ok(Ledger::default()) };
        let damaged = |error: serde_json::Error| LedgerError::Damaged { path: path.into(), what: error.to_string() };
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// True if `what` was released, or bought.
    pub fn has(&self, what: &str) -> bool {
        self.entries.iter().any(|entry| entry.what == what)
    }

    /// What all releases cost together.
    pub fn mu(&self) -> f64 {
        self.entries.iter().map(|entry| entry.mu * entry.mu).sum::<f64>().sqrt()
    }

    /// The release of `what`: the one that was made, or a new one that is paid for first.
    pub fn release(
        &mut self,
        shelf: &mut dyn Shelf,
        what: &str,
        cost: f64,
        budget: (f64, f64),
        make: impl FnOnce() -> fedweave::Result<Vec<Option<NoisyMoments>>>,
    ) -> Result<Vec<Option<NoisyMoments>>, LedgerError> {
        let make = || Ok(Entry { moments: make()?, ..Entry::new(what, cost) });
        Ok(self.entry(shelf, what, cost, budget, make)?.moments.clone())
    }

    /// The labels of public rows of `what`: those that were released, or new ones that are paid for first.
    pub fn votes(
        &mut self,
        shelf: &mut dyn Shelf,
        what: &str,
        cost: f64,
        budget: (f64, f64),
        make: impl FnOnce() -> fedweave::Result<Vec<Option<Vec<f64>>>>,
    ) -> Result<Vec<Option<Vec<f64>>>, LedgerError> {
        let make = || Ok(Entry { labels: make()?, ..Entry::new(what, cost) });
        Ok(self.entry(shelf, what, cost, budget, make)?.labels.clone())
    }

    /// The gradients that were bought for `what`, or new ones that are paid for first.
    pub fn rounds(
        &mut self,
        shelf: &mut dyn Shelf,
        what: &str,
        cost: f64,
        budget: (f64, f64),
        make: impl FnOnce() -> RoundsEntry,
    ) -> Result<RoundsEntry, LedgerError> {
        let path = shelf.path();
        let make = || Ok(Entry { rounds: Some(make()), ..Entry::new(what, cost) });
        let entry = self.entry(shelf, what, cost, budget, make)?;
        let none = LedgerError::Damaged { path, what: "statistics where gradients were expected".into() };
        entry.rounds.clone().ok_or(none)
    }

    fn entry(
        &mut self,
        shelf: &mut dyn Shelf,
        what: &str,
        cost: f64,
        budget: (f64, f64),
        make: impl FnOnce() -> fedweave::Result<Entry>,
    ) -> Result<&Entry, LedgerError> {
        if let Some(at) = self.entries.iter().position(|entry| entry.what == what) {
            return Ok(&self.entries[at]);
        }
        let (spent, next) = (self.mu(), (self.mu().powi(2) + cost * cost).sqrt());
        let at = |mu: f64| if mu > 0.0 { gaussian::epsilon(mu, budget.1) } else { 0.0 };
        if at(next) > budget.0 * (1.0 + HAIR) {
            let (path, releases) = (shelf.path(), self.entries.len());
            return Err(LedgerError::Spent { path, releases, spent: at(spent), next: at(next), budget: budget.0 });
        }
        let entry = make()?;
        let alone = |entry: &Entry| entry.rounds.as_ref().is_some_and(RoundsEntry::stands_alone);
        if !self.entries.is_empty() && self.entries.iter().chain([&entry]).any(alone) {
            return Err(LedgerError::Alone { path: shelf.path() });
        }
        self.entries.push(entry);
        let bytes = serde_json::to_vec(self).expect("plain numbers");
        if let Err(error) = shelf.save(&bytes) {
            self.entries.pop();
            return Err(error);
        }
        shelf.count(self.entries.len() as u64)?;
        Ok(self.entries.last().expect("pushed just now"))
    }
}

/// A ledger in a file, counted in another.
pub struct FileShelf {
    /// The ledger.
    pub ledger: PathBuf,
    /// The count.
    pub count: PathBuf,
}

impl FileShelf {
    /// The ledger of a part and the count in its state folder.
    pub fn new(ledger: &Path, state: &Path) -> Self {
        FileShelf { ledger: ledger.to_path_buf(), count: state.join("releases") }
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> LedgerError {
    let path = path.to_path_buf();
    move |error| LedgerError::System { path, error }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, LedgerError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

/// A file that nobody else may read: what noise follows from is in it.
fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file as a whole.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), LedgerError> {
    let new = path.with_extension("new");
    let mut file = private().truncate(true).write(true).open(&new).map_err(at(&new))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at(&new))?;
    fs::rename(&new, path).map_err(at(path))?;
    sync_folder(path)
}

/// The name of a file is durable once its folder is.
fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

impl Shelf for FileShelf {
    fn load(&mut self) -> Result<Option<Vec<u8>>, LedgerError> {
        read(&self.ledger)
    }

    fn save(&mut self, bytes: &[u8]) -> Result<(), LedgerError> {
        replace(&self.ledger, bytes)
    }

    fn counted(&mut self) -> Result<u64, LedgerError> {
        let Some(bytes) = read(&self.count)? else { return Ok(0) };
        let text = String::from_utf8_lossy(&bytes);
        text.trim().parse().map_err(|_| LedgerError::Damaged { path: self.count.clone(), what: "no number".into() })
    }

    fn count(&mut self, releases: u64) -> Result<(), LedgerError> {
        replace(&self.count, releases.to_string().as_bytes())
    }

    fn path(&self) -> PathBuf {
        self.ledger.clone()
    }
}

mod rounds;

pub use rounds::RoundLog;

#[cfg(test)]
mod tests;
