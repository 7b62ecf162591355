//! `fedweave node`: one part of a federation.

mod data;
mod predictions;
mod raw;
mod result;
mod settings;
mod shared;
mod words;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use fedweave::model::Fitted;
use fedweave_node::event_log::EventLog;
use fedweave_node::metrics::{Shared, Snapshot, serve};
use fedweave_node::run::{End, LocalEvent, Surroundings, Wish, now_ms, run as run_part};
use fedweave_node::transport::{self, Link, Transport, ZenohTransport};
use fedweave_node::{DeadPolicy, FileStore, Note, Part, Reason, Store};

pub use predictions::METHOD as ON_PREDICTIONS;
pub use raw::{RawCertificates, RawEdge, RawFederation, RawModelOf, RawNeighbour, RawNode, RawSilence};
use result::Ended;
pub use settings::NodeSettings;
use words::{cautions, tell};

use crate::ourselves::with_right_runtime;
use crate::progress::{catch_interrupts, interrupted, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave node --config east/node.toml
  fedweave node --config east/node.toml --resume      after a crash or Ctrl-C
  fedweave node --config new/node.toml --join         a new part of a federation that is under way
  fedweave node --config east/node.toml --leave       the running part takes leave of its neighbours

See docs/guide/federation.md for a federation on three hosts.";

/// One part of a federation
#[derive(Args)]
pub struct NodeArgs {
    /// File of the part
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Go on from the checkpoint in the state folder
    #[arg(long)]
    resume: bool,
    /// Take part in a federation that is under way, starting from the models of the neighbours
    #[arg(long, conflicts_with_all = ["resume", "leave"])]
    join: bool,
    /// Read the file, the data and the certificates, say what would be done, and stop
    #[arg(long, conflicts_with = "leave")]
    check: bool,
    /// Ask the running process of this part to leave the federation for good
    #[arg(long, conflicts_with = "resume")]
    leave: bool,
    /// Flush every checkpoint to the disk: survives power loss too
    #[arg(long)]
    fsync: bool,
    /// Run without certificates; every address must be one of this machine
    #[arg(long)]
    loopback_plaintext: bool,
    /// Append every frame that is sent to this file, as it is before encryption: length (4 bytes), frame
    #[arg(long, value_name = "FILE")]
    record_frames: Option<PathBuf>,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
    /// End when standard input ends: for processes started by another one
    #[arg(long, hide = true)]
    with_parent: bool,
}

/// After the end, neighbours get so long to receive the last frames.
const LINGER: Duration = Duration::from_secs(30);
/// The file that asks a running part to leave.
const LEAVE: &str = "leave";

pub fn run(args: &NodeArgs) -> Result<Exit> {
    let settings = settings::read(&args.config, args.loopback_plaintext)?;
    if args.leave {
        return ask_to_leave(&settings.state);
    }
    if args.check {
        return check(&settings);
    }
    with_right_runtime()?;
    catch_interrupts();
    // One part among many on a machine: its rounds are short, and threads would only get in each other's way.
    use_threads(Some(1));
    fs::create_dir_all(&settings.state).with_context(|| settings.state.display().to_string())?;
    let _lock = lock(&settings.state)?;
    let _ = fs::remove_file(settings.state.join(LEAVE));
    let ended = parent_watch(args.with_parent);
    let (end, snapshot, fitted) = start(args, &settings, &ended)?;
    match end {
        End::Done(outcome) => {
            let ended = Ended { settings: &settings, outcome: &outcome, fitted: &fitted, snapshot: &snapshot };
            result::write(&ended)?;
            result::report(args, &ended)?;
            Ok(exit(outcome.reason, settings.plan.patience.policy))
        }
        End::Stopped => {
            eprintln!("stopped after round {}; go on with --resume", snapshot.round);
            Ok(Exit::Interrupted)
        }
    }
}

fn check(settings: &NodeSettings) -> Result<Exit> {
    Part::new(settings.plan.clone())?;
    cautions(settings).iter().for_each(|what| eprintln!("caution: {what}"));
    let plan = &settings.plan;
    let (nodes, rows, edges, peers) = (plan.nodes.len(), plan.data.len(), plan.edges.len(), plan.peers.len());
    say(&format!(
        "{}: {nodes} nodes, {rows} rows, {edges} edges, {peers} neighbours; the file can be used",
        plan.name
    ))?;
    Ok(Exit::Done)
}

/// The part as it starts: from zero, from its checkpoint, or from its neighbours.
fn part(args: &NodeArgs, settings: &NodeSettings, saved: Option<Vec<u8>>) -> Result<Part> {
    let (plan, state) = (settings.plan.clone(), settings.state.display());
    match saved {
        Some(bytes) if args.resume => Ok(Part::restore(plan, &bytes)?),
        Some(_) => bail!("{state} holds a checkpoint: go on with --resume, or remove the folder to start anew"),
        None if args.join => {
            ensure!(!plan.peers.is_empty(), "--join: this part has no neighbours to join");
            Ok(Part::joining(plan, None)?)
        }
        None => {
            if args.resume {
                eprintln!("note: {state} holds no checkpoint; starting from the first round");
            }
            Ok(Part::new(plan)?)
        }
    }
}

fn start(args: &NodeArgs, settings: &NodeSettings, ended: &AtomicBool) -> Result<(End, Snapshot, Vec<Option<Fitted>>)> {
    let mut store = FileStore::new(&settings.state.join("checkpoint"), args.fsync)?;
    let saved = store.load()?;
    let mut part = part(args, settings, saved)?;
    let mut log = EventLog::open(&settings.state.join("events.jsonl"), now_ms())?;
    begin_log(args, settings, &mut log)?;
    let shared: Shared = Arc::new(Mutex::new(Snapshot { name: settings.plan.name.clone(), ..Snapshot::default() }));
    if let Some(address) = settings.metrics {
        serve(address, shared.clone()).with_context(|| format!("metrics = \"{address}\""))?;
    }
    let mut transport = open_transport(settings)?;
    let mut recorder = args.record_frames.as_deref().map(recorder).transpose()?;
    let leave = settings.state.join(LEAVE);
    let mut ticks = 0u32;
    let mut wish = || {
        ticks = ticks.wrapping_add(1);
        match interrupted() || ended.load(Ordering::Relaxed) {
            true => Wish::Stop,
            // Looking at a file costs more than a tick.
            false if ticks.is_multiple_of(25) && leave.exists() => Wish::Leave,
            false => Wish::GoOn,
        }
    };
    let mut tell = |note: &Note| tell(&settings.plan.name, note);
    let around = Surroundings {
        transport: &mut *transport,
        store: &mut store,
        log: &mut log,
        shared: &shared,
        witness: recorder.as_mut().map(|r| r as &mut dyn FnMut(usize, &[u8])),
        tell: &mut tell,
        wish: &mut wish,
        linger: LINGER,
    };
    let (end, snapshot) = run_part(&mut part, &settings.plan.peers, around)?;
    log.write(now_ms(), &LocalEvent::ProcessEnded { round: snapshot.round, seconds: snapshot.seconds })?;
    Ok((end, snapshot, part.fitted()))
}

fn begin_log(args: &NodeArgs, settings: &NodeSettings, log: &mut EventLog) -> Result<()> {
    let plan = &settings.plan;
    let started = LocalEvent::ProcessStarted {
        name: plan.name.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: plan.nodes.len(),
        neighbours: plan.peers.clone(),
        resumed: args.resume,
        plaintext: matches!(settings.link, Link::LoopbackPlaintext { .. }),
    };
    log.write(now_ms(), &started)?;
    for what in cautions(settings) {
        eprintln!("caution: {what}");
        log.write(now_ms(), &LocalEvent::Caution { what })?;
    }
    Ok(())
}

fn open_transport(settings: &NodeSettings) -> Result<Box<dyn Transport>> {
    if settings.neighbours.is_empty() {
        // Nobody to talk to: nothing to open.
        return Ok(Box::new(transport::channel::network(&[Vec::new()]).remove(0)));
    }
    transport::keep_warnings();
    Ok(Box::new(ZenohTransport::open(settings.link.clone(), &settings.listen, &settings.neighbours)?))
}

/// One process a state folder.
fn lock(state: &Path) -> Result<File> {
    let path = state.join("lock");
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    ensure!(file.try_lock().is_ok(), "{}: another process runs this part", state.display());
    Ok(file)
}

fn ask_to_leave(state: &Path) -> Result<Exit> {
    ensure!(state.is_dir(), "{}: this part has not run yet", state.display());
    fs::write(state.join(LEAVE), b"")?;
    say("asked; the part ends after the round in flight")?;
    Ok(Exit::Done)
}

/// A process started by another one must not outlive it: standard input ends with the parent, however that ends.
fn parent_watch(with_parent: bool) -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    if with_parent {
        let flag = ended.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            flag.store(true, Ordering::Relaxed);
        });
    }
    ended
}

fn recorder(path: &Path) -> Result<impl FnMut(usize, &[u8]) + use<>> {
    let mut file = File::options().create(true).append(true).open(path).with_context(|| path.display().to_string())?;
    Ok(move |_: usize, frame: &[u8]| {
        let mut record = (frame.len() as u32).to_le_bytes().to_vec();
        record.extend_from_slice(frame);
        // A record that cannot be written must not stop the part.
        let _ = file.write_all(&record);
    })
}

fn exit(reason: Reason, policy: DeadPolicy) -> Exit {
    match reason {
        // Somebody is dead somewhere, and all stop.
        Reason::PeerFinished if policy == DeadPolicy::Stop => Exit::Unfinished,
        Reason::Converged | Reason::RoundLimit | Reason::Left | Reason::PeerFinished => Exit::Done,
        Reason::PeerLost | Reason::Diverged => Exit::Unfinished,
    }
}
