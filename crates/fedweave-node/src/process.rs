//! One part as a process: its state folder, event log, metrics and transport around the loop of `run`, and the
//! result that it leaves. Nothing is printed: the owner of the process is told.

mod cautions;
mod parent;
mod quarantine;
mod result;
mod unseen;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedweave::Matrix;
use unseen::Unseen;

pub use cautions::cautions;
pub use parent::ParentWatch;
pub use quarantine::pardon;
pub use result::{CouplingFile, PartSummary};

use crate::checkpoint::{FileStore, Store};
use crate::config::PartSettings;
use crate::error::Error;
use crate::event_log::{EventLog, LogError};
use crate::ledger::LedgerError;
use crate::metrics::{self, Shared, Snapshot};
use crate::part::{Note, Part};
use crate::plan::Plan;
use crate::private;
use crate::protect::protect;
use crate::run::{self, End, Judged, LocalEvent, Quarantine, RunError, Surroundings, Wish, now_ms};
use crate::transport::{self, Link, TlsTransport, Transport, TransportError};

/// After the end, neighbours get so long to receive the last frames.
const LINGER: Duration = Duration::from_secs(30);
/// The file that asks a running part to leave.
const LEAVE: &str = "leave";
/// The file with the highest number of a revocation list that was seen.
const LIST_NUMBER: &str = "revocation-list-number";
/// Looking at a file costs more than a tick: only every so many ticks.
const TICKS_PER_LOOK: u32 = 25;

/// Where a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begin {
    /// In the first round; a checkpoint must not be there.
    #[default]
    Fresh,
    /// At its checkpoint, or in the first round if there is none.
    Resume,
    /// In a federation that is under way, with the models of its neighbours.
    Join,
}

/// How a part runs as a process.
#[derive(Debug, Clone, Default)]
pub struct ProcessOptions {
    /// Where it begins.
    pub begin: Begin,
    /// Every checkpoint is flushed to the disk: it survives power loss too.
    pub fsync: bool,
    /// Every frame that is sent is appended to this file, as it is before encryption: length (4 bytes), frame.
    pub record_frames: Option<PathBuf>,
    /// Neighbours that predict the rows of the part so many times as badly as the median neighbour are kept out.
    pub quarantine: Option<f64>,
    /// Rows that the part has not trained with, by which its models are judged while it runs.
    pub unseen: Option<PathBuf>,
}

/// What the owner of the process is told while it runs.
#[derive(Debug)]
pub enum News<'a> {
    /// Something to know before the part starts.
    Caution(&'a str),
    /// It was to resume, and there is no checkpoint in this folder.
    NoCheckpoint(&'a Path),
    /// What happens to the part.
    Note(&'a Note),
}

/// How a process came to its end.
#[derive(Debug)]
pub enum Finished {
    /// The part is done, and its result written.
    Done(PartSummary),
    /// It was stopped after this round, and can be resumed.
    Stopped {
        /// Rounds done.
        round: u64,
    },
}

/// Why a part cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the words of the messages right above them
pub enum ProcessError {
    /// One process a state folder.
    #[error("{}: another process runs this part", state.display())]
    Busy { state: PathBuf },
    /// A checkpoint that nobody wants to go on from.
    #[error("{} holds a checkpoint: go on with --resume, or remove the folder to start anew", state.display())]
    Checkpoint { state: PathBuf },
    /// Nobody to join.
    #[error("--join: this part has no neighbours to join")]
    NobodyToJoin,
    /// Nobody to ask to leave.
    #[error("{}: this part has not run yet", state.display())]
    NotRunYet { state: PathBuf },
    /// The operating system refuses.
    #[error("{place}: {error}")]
    System { place: String, error: std::io::Error },
    /// Neighbours cannot be judged, or not be kept out.
    #[error("--quarantine: {why}")]
    Quarantine { why: &'static str },
    /// Rows that cannot judge.
    #[error("--unseen {}: {why}", path.display())]
    Unseen { path: PathBuf, why: String },
    /// Nobody of this name.
    #[error("--pardon {name}: there is no such neighbour")]
    NoNeighbour { name: String },
    /// The limit on open files is too low.
    #[error("{0}")]
    OpenFiles(String),
    /// The privacy of the rows is spent, or its ledger lost.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] Error),
    /// The event log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The network.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The result cannot be written.
    #[error(transparent)]
    Result(#[from] fedweave_io::IoError),
}

/// Files that a part needs open at once: its own, a connection with each neighbour, and some at the door.
fn files_needed(neighbours: usize) -> u64 {
    64 + 3 * neighbours as u64
}

/// For `map_err`: what the operating system said about a file.
fn at(path: &Path) -> impl FnOnce(std::io::Error) -> ProcessError {
    let place = path.display().to_string();
    move |error| ProcessError::System { place, error }
}

/// Runs a part to its end and writes its result; `interrupted` is asked on every tick.
pub fn run_part(
    settings: &PartSettings,
    options: &ProcessOptions,
    interrupted: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<Finished, ProcessError> {
    let state = &settings.state;
    options.quarantine.map_or(Ok(()), |factor| quarantine::check(settings, factor))?;
    let mut unseen = options.unseen.as_deref().map(|path| Unseen::open(path, settings)).transpose()?;
    private::open_files(files_needed(settings.neighbours.len())).map_err(ProcessError::OpenFiles)?;
    private::folder(state).map_err(at(state))?;
    let _lock = lock(state)?;
    let _ = fs::remove_file(state.join(LEAVE));
    let mut store = FileStore::new(&state.join("checkpoint"), options.fsync)?;
    let (plan, mut rounds) = protect(settings)?;
    let mut part = part(plan, &settings.state, options.begin, store.load()?, tell)?;
    let mut log = EventLog::open(&state.join("events.jsonl"), now_ms())?;
    begin_log(settings, options, &mut log, tell)?;
    let certificate_expires = match &settings.link {
        Link::Tls(credentials) => Some(credentials.until.unix_timestamp()),
        Link::LoopbackPlaintext { .. } => None,
    };
    let snapshot = Snapshot { name: settings.plan.name.clone(), certificate_expires, ..Snapshot::default() };
    let shared: Shared = Arc::new(Mutex::new(snapshot));
    if let Some(address) = settings.metrics {
        let refused = |error| ProcessError::System { place: format!("metrics = \"{address}\""), error };
        let token = metrics::token(state).map_err(at(&state.join(metrics::TOKEN)))?;
        metrics::serve(address, shared.clone(), token).map_err(refused)?;
    }
    let mut transport = open_transport(settings)?;
    let mut recorder = options.record_frames.as_deref().map(recorder).transpose()?;
    let mut judge = |models: &Matrix| unseen.as_mut().map(|unseen| unseen.judge(models)).unwrap_or_default();
    let pardons: &mut dyn FnMut() -> Vec<String> = &mut || quarantine::pardons(state);
    let around = Surroundings {
        judge: options.unseen.is_some().then_some(&mut judge as &mut dyn FnMut(&Matrix) -> Judged),
        quarantine: options.quarantine.map(move |factor| Quarantine { factor, pardons }),
        transport: &mut *transport,
        store: &mut store,
        spend: &mut |record| rounds.as_mut().map_or(Ok(()), |rounds| rounds.add(record)),
        log: &mut log,
        shared: &shared,
        witness: recorder.as_mut().map(|r| r as &mut dyn FnMut(usize, &[u8])),
        tell: &mut |note| tell(News::Note(note)),
        wish: &mut wishes(state.join(LEAVE), interrupted),
        linger: LINGER,
    };
    let (end, snapshot) = run::run(&mut part, &settings.plan.peers, around)?;
    log.write(now_ms(), &LocalEvent::ProcessEnded { round: snapshot.round, seconds: snapshot.seconds })?;
    match end {
        End::Done(outcome) => Ok(Finished::Done(result::write(settings, &outcome, &part, &snapshot)?)),
        End::Stopped => Ok(Finished::Stopped { round: snapshot.round }),
    }
}

/// Asks the running process of a part to take leave of its neighbours after the round in flight.
pub fn ask_to_leave(settings: &PartSettings) -> Result<(), ProcessError> {
    let state = &settings.state;
    if !state.is_dir() {
        return Err(ProcessError::NotRunYet { state: state.clone() });
    }
    let path = state.join(LEAVE);
    fs::write(&path, b"").map_err(at(&path))
}

/// The part as it starts: from zero, from its checkpoint, or from its neighbours.
fn part(
    plan: Plan,
    state: &Path,
    begin: Begin,
    saved: Option<Vec<u8>>,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<Part, ProcessError> {
    Ok(match (saved, begin) {
        (Some(bytes), Begin::Resume) => Part::restore(plan, &bytes)?,
        (Some(_), _) => return Err(ProcessError::Checkpoint { state: state.to_path_buf() }),
        (None, Begin::Join) if plan.peers.is_empty() => return Err(ProcessError::NobodyToJoin),
        (None, Begin::Join) => Part::joining(plan, None)?,
        (None, Begin::Fresh) => Part::new(plan)?,
        (None, Begin::Resume) => {
            tell(News::NoCheckpoint(state));
            Part::new(plan)?
        }
    })
}

fn begin_log(
    settings: &PartSettings,
    options: &ProcessOptions,
    log: &mut EventLog,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(), LogError> {
    let plan = &settings.plan;
    let started = LocalEvent::ProcessStarted {
        name: plan.name.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: plan.nodes.len(),
        neighbours: plan.peers.clone(),
        resumed: options.begin == Begin::Resume,
        plaintext: matches!(settings.link, Link::LoopbackPlaintext { .. }),
    };
    log.write(now_ms(), &started)?;
    for what in cautions(settings) {
        tell(News::Caution(&what));
        log.write(now_ms(), &LocalEvent::Caution { what })?;
    }
    Ok(())
}

fn open_transport(settings: &PartSettings) -> Result<Box<dyn Transport>, TransportError> {
    if settings.neighbours.is_empty() {
        // Nobody to talk to: nothing to open.
        return Ok(Box::new(transport::channel::network(&[Vec::new()]).remove(0)));
    }
    let mut link = settings.link.clone();
    if let Link::Tls(credentials) = &mut link {
        credentials.list_number = Some(settings.state.join(LIST_NUMBER));
    }
    Ok(Box::new(TlsTransport::open(link, &settings.listen, &settings.neighbours)?))
}

/// One process a state folder, for as long as the file is open.
fn lock(state: &Path) -> Result<File, ProcessError> {
    let path = state.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(ProcessError::Busy { state: state.to_path_buf() }),
    }
}

/// What the owner wants, asked on every tick.
fn wishes<'a>(leave: PathBuf, interrupted: &'a dyn Fn() -> bool) -> impl FnMut() -> Wish + 'a {
    let mut ticks = 0u32;
    move || {
        ticks = ticks.wrapping_add(1);
        match interrupted() {
            true => Wish::Stop,
            false if ticks.is_multiple_of(TICKS_PER_LOOK) && leave.exists() => Wish::Leave,
            false => Wish::GoOn,
        }
    }
}

fn recorder(path: &Path) -> Result<impl FnMut(usize, &[u8]) + use<>, ProcessError> {
    let mut file = File::options().create(true).append(true).open(path).map_err(at(path))?;
    Ok(move |_: usize, frame: &[u8]| {
        let mut record = (frame.len() as u32).to_le_bytes().to_vec();
        record.extend_from_slice(frame);
        // A record that cannot be written must not stop the part.
        let _ = file.write_all(&record);
    })
}
