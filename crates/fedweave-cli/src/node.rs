//! `fedweave node`: one part of a federation.

mod raw;
mod settings;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use fedweave::robustness::liars_bound;
use fedweave_io::RunWriter;
use fedweave_node::event_log::EventLog;
use fedweave_node::ground::Ground;
use fedweave_node::metrics::{Shared, Snapshot, serve};
use fedweave_node::run::{End, LocalEvent, Surroundings, Wish, now_ms, run as run_part};
use fedweave_node::transport::{self, Link, RUNTIME, Transport, ZenohTransport};
use fedweave_node::{FileStore, Note, Outcome, Part, Plan, Reason, Store, exposure};
use serde_json::json;

pub use raw::{RawCertificates, RawEdge, RawFederation, RawNeighbour, RawNode, RawSilence};
pub use settings::NodeSettings;

use crate::progress::{catch_interrupts, interrupted, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave node --config east/node.toml
  fedweave node --config east/node.toml --resume      after a crash or Ctrl-C
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

/// The transport wants an environment variable, which only a new program can have from its start: this one replaces itself.
fn with_right_runtime() -> Result<()> {
    if std::env::var(RUNTIME.0).as_deref() == Ok(RUNTIME.1) {
        return Ok(());
    }
    let mut again = Command::new(std::env::current_exe()?);
    let failed = again.args(std::env::args_os().skip(1)).env(RUNTIME.0, RUNTIME.1).exec();
    Err(failed).context("the program cannot start itself again")
}

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
    let (end, snapshot) = start(args, &settings, &ended)?;
    match end {
        End::Done(outcome) => {
            write_result(&settings, &outcome, &snapshot)?;
            report(args, &settings, &outcome, &snapshot)?;
            Ok(exit(outcome.reason))
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

fn start(args: &NodeArgs, settings: &NodeSettings, ended: &AtomicBool) -> Result<(End, Snapshot)> {
    let mut store = FileStore::new(&settings.state.join("checkpoint"), args.fsync)?;
    let saved = store.load()?;
    let mut part = match (args.resume, saved) {
        (true, Some(bytes)) => Part::restore(settings.plan.clone(), &bytes)?,
        (true, None) => {
            eprintln!("note: {} holds no checkpoint; starting from the first round", settings.state.display());
            Part::new(settings.plan.clone())?
        }
        (false, None) => Part::new(settings.plan.clone())?,
        (false, Some(_)) => bail!(
            "{} holds a checkpoint: go on with --resume, or remove the folder to start anew",
            settings.state.display()
        ),
    };
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
    Ok((end, snapshot))
}

/// What people in front of a terminal want to know at once.
fn tell(name: &str, note: &Note) {
    match note {
        Note::LinkDown { peer } => eprintln!("{name}: neighbour {peer} cannot be reached"),
        Note::LinkUp { peer } => eprintln!("{name}: neighbour {peer} is there"),
        Note::PeerDead { peer, round } => eprintln!("{name}: neighbour {peer} is dead, in round {round}"),
        Note::EdgesDropped { peer, round } => eprintln!("{name}: without {peer} from round {round} on"),
        Note::PeerJoins { peer, round } => eprintln!("{name}: with {peer} from round {round} on"),
        Note::PeerLeft { peer, round } => eprintln!("{name}: neighbour {peer} left after round {round}"),
        Note::PeerMisbehaved { peer, what } => eprintln!("{name}: neighbour {peer} misbehaves: {what}"),
        _ => {}
    }
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

/// What the owner of the part should know before it starts.
fn cautions(settings: &NodeSettings) -> Vec<String> {
    let mut cautions = Vec::new();
    if matches!(settings.link, Link::LoopbackPlaintext { .. }) {
        cautions.push("frames are neither encrypted nor authenticated (--loopback-plaintext)".into());
    }
    if let Link::Tls(credentials) = &settings.link {
        let days = (credentials.until.unix_timestamp() - now_ms() as i64 / 1000) / 86_400;
        if days < 14 {
            cautions.push(format!("the certificate expires in {days} day(s)"));
        }
    }
    let exposed = exposure(&settings.plan);
    cautions.extend(exposed.iter().take(EXPOSED_NAMED).map(ToString::to_string));
    if exposed.len() > EXPOSED_NAMED {
        cautions.push(format!("{} more nodes are exposed; see docs/threat-model.md", exposed.len() - EXPOSED_NAMED));
    }
    cautions.extend(liars(&settings.plan));
    cautions
}

/// So many exposed nodes are named; of the others, their number.
const EXPOSED_NAMED: usize = 3;

/// What the neighbouring parts could do to our models together, if they lied.
fn liars(plan: &Plan) -> Option<String> {
    let (ground, problem) = Ground::build(plan, |_| true).ok()?;
    let mut own = vec![false; problem.nodes()];
    ground.own.iter().for_each(|&i| own[i as usize] = true);
    Some(match liars_bound(&problem, |i| !own[i]) {
        Ok(0.0) => return None,
        Ok(bound) => format!("if all neighbours lied, they could move our models by at most {bound:.3} together"),
        Err(why) => format!("no bound on what lying neighbours could do to our models: {why}"),
    })
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

fn write_result(settings: &NodeSettings, outcome: &Outcome, snapshot: &Snapshot) -> Result<()> {
    let writer = RunWriter::create(&settings.state.join("result"), true)?;
    let plan = &settings.plan;
    let features: Vec<String> = match outcome.models.cols() == settings.features.len() {
        true => settings.features.clone(),
        // Several classes: the features of each of them.
        false => (1..=outcome.models.cols()).map(|k| format!("w{k}")).collect(),
    };
    writer.write_parameters(&features, &plan.nodes, &outcome.models)?;
    // Edges are numbered as in the file of the part.
    let flow = |k: usize| outcome.flows.row(k).iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" ");
    writer.write_csv(
        "flows.csv",
        &["edge", "flow"],
        (0..outcome.flows.rows()).map(|k| [(k + 1).to_string(), flow(k)]),
    )?;
    writer.write_json("summary.json", &summary(outcome, snapshot))?;
    writer.finish()?;
    Ok(())
}

fn summary(outcome: &Outcome, snapshot: &Snapshot) -> serde_json::Value {
    let sum =
        |of: fn(&fedweave_node::metrics::NeighbourSnapshot) -> u64| snapshot.neighbours.iter().map(of).sum::<u64>();
    json!({
        "part": snapshot.name,
        "reason": outcome.reason,
        "rounds": outcome.round,
        "residual": Some(outcome.residual).filter(|r| r.is_finite()),
        "seconds": snapshot.seconds,
        "round_seconds_median": snapshot.round_seconds.map(|(median, _)| median),
        "round_seconds_max": snapshot.round_seconds.map(|(_, max)| max),
        "frames_sent": sum(|n| n.sent.0),
        "bytes_sent": sum(|n| n.sent.1),
        "refused": snapshot.refused,
    })
}

fn report(args: &NodeArgs, settings: &NodeSettings, outcome: &Outcome, snapshot: &Snapshot) -> Result<()> {
    if args.json {
        return say(&summary(outcome, snapshot).to_string());
    }
    let reason = serde_json::to_value(outcome.reason)?;
    let median = snapshot.round_seconds.map_or(String::new(), |(m, _)| format!(", {:.2} ms a round", m * 1e3));
    say(&format!(
        "{}: {} after {} rounds, {:.2} s{median}\nwritten to {}",
        settings.plan.name,
        reason.as_str().unwrap_or_default().replace('_', " "),
        outcome.round,
        snapshot.seconds,
        settings.state.join("result").display()
    ))
}

fn exit(reason: Reason) -> Exit {
    match reason {
        Reason::Converged | Reason::RoundLimit | Reason::Left | Reason::PeerFinished => Exit::Done,
        Reason::PeerLost | Reason::Diverged => Exit::Unfinished,
    }
}
