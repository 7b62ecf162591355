//! `fedweave node`: one part of a federation.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use fedweave_node::config::PartSettings;
use fedweave_node::private::shut_out_others;
use fedweave_node::process::{
    Begin, Finished, News, ParentWatch, PartSummary, ProcessOptions, ask_to_leave, cautions, pardon, run_part,
};
use fedweave_node::{Note, Part, Reason};

use crate::progress::{catch_interrupts, interrupted, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave node --config east/node.toml
  fedweave node --config east/node.toml --resume      after a crash or Ctrl-C
  fedweave node --config new/node.toml --join         a new part of a federation that is under way
  fedweave node --config east/node.toml --leave       the running part takes leave of its neighbours

See docs/guide/federation.md for a federation on three hosts, docs/guide/operations.md for running it.
Exit codes: 0 converged, or all rounds done, with all neighbours; 1 diverged; 2 bad input or failure; 3 ended without some
neighbours, which are named; 4 ended because a neighbour was gone or had ended; 130 stopped, go on with --resume.";

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
    /// Keep out neighbours whose models predict the rows of this part FACTOR times as badly as the median neighbour's, e.g. 5; noted in the event log
    #[arg(long, value_name = "FACTOR", conflicts_with = "leave")]
    quarantine: Option<f64>,
    /// Judge the models by the rows of this file while they are learnt, in /status and /metrics; it may grow meanwhile
    #[arg(long, value_name = "FILE", conflicts_with = "leave")]
    unseen: Option<PathBuf>,
    /// Ask the running process of this part to let a neighbour in again
    #[arg(long, value_name = "PART", conflicts_with_all = ["leave", "resume", "join", "quarantine"])]
    pardon: Option<String>,
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

pub fn run(args: &NodeArgs) -> Result<Exit> {
    shut_out_others();
    let settings = PartSettings::read(&args.config, args.loopback_plaintext)?;
    if args.leave {
        ask_to_leave(&settings)?;
        say("asked; the part ends after the round in flight")?;
        return Ok(Exit::Done);
    }
    if let Some(neighbour) = &args.pardon {
        pardon(&settings, neighbour)?;
        say(&format!("asked; {neighbour} is let in again"))?;
        return Ok(Exit::Done);
    }
    if args.check {
        return check(&settings);
    }
    catch_interrupts();
    // One part among many on a machine: its rounds are short, and threads would only get in each other's way.
    use_threads(Some(1));
    let parent = if args.with_parent { ParentWatch::start() } else { ParentWatch::default() };
    let options = ProcessOptions {
        begin: match (args.resume, args.join) {
            (true, _) => Begin::Resume,
            (_, true) => Begin::Join,
            _ => Begin::Fresh,
        },
        fsync: args.fsync,
        record_frames: args.record_frames.clone(),
        quarantine: args.quarantine,
        unseen: args.unseen.clone(),
    };
    let name = &settings.plan.name;
    let stop = || interrupted() || parent.has_ended();
    match run_part(&settings, &options, &stop, &mut |news| tell(name, &news))? {
        Finished::Done(summary) => {
            report(args, &settings, &summary)?;
            Ok(exit(&summary))
        }
        Finished::Stopped { round } => {
            eprintln!("stopped after round {round}; go on with --resume");
            Ok(Exit::Interrupted)
        }
    }
}

fn check(settings: &PartSettings) -> Result<Exit> {
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

/// What people in front of a terminal want to know at once.
fn tell(name: &str, news: &News<'_>) {
    let note = match news {
        News::Caution(what) => return eprintln!("caution: {what}"),
        News::NoCheckpoint(state) => {
            return eprintln!("note: {} holds no checkpoint; starting from the first round", state.display());
        }
        News::Note(note) => note,
    };
    match note {
        Note::LinkDown { peer } => eprintln!("{name}: neighbour {peer} cannot be reached"),
        Note::LinkUp { peer } => eprintln!("{name}: neighbour {peer} is there"),
        Note::PeerDead { peer, round } => eprintln!("{name}: neighbour {peer} is dead, in round {round}"),
        Note::EdgesDropped { peer, round } => eprintln!("{name}: without {peer} from round {round} on"),
        Note::PeerJoins { peer, round } => eprintln!("{name}: with {peer} from round {round} on"),
        Note::PeerLeft { peer, round } => eprintln!("{name}: neighbour {peer} left after round {round}"),
        Note::PeerEnded { peer, round } => {
            eprintln!("{name}: neighbour {peer} has ended before; its rows of round {round} stand");
        }
        Note::PeerSilent { peer, round } => {
            eprintln!("{name}: nothing is heard of {peer}, whose rows of round {round} are waited for");
        }
        Note::PeerAhead { peer, round, done } => {
            eprintln!("{name}: {peer} is in round {round}, we are in {}: one of the two has an old state", done + 1);
        }
        Note::Disagreement { peer, what } => eprintln!("{name}: {peer} differs: {what}"),
        Note::Alone { round } => eprintln!("{name}: no neighbour is left; alone from round {round} on"),
        Note::PeerMisbehaved { peer, what } => eprintln!("{name}: neighbour {peer} misbehaves: {what}"),
        Note::NotFitted { what } => eprintln!("{name}: a model cannot be fitted: {what}"),
        Note::NotCounted { peer, round } => {
            eprintln!("{name}: {peer} went on without us to round {round}; joining again")
        }
        Note::CouplingLearnt { questions, rho } => {
            eprintln!("{name}: coupling learnt by {questions} questions to all parts; share of the graph {rho:.2}");
        }
        Note::Joined { round } => eprintln!("{name}: takes part from round {round} on"),
        _ => {}
    }
}

/// Says how it ended.
fn report(args: &NodeArgs, settings: &PartSettings, summary: &PartSummary) -> Result<()> {
    if args.json {
        return say(&serde_json::to_string(summary)?);
    }
    let PartSummary { part, rounds, seconds, .. } = summary;
    let median = summary.round_seconds_median.map_or(String::new(), |m| format!(", {:.2} ms a round", m * 1e3));
    let (how, result) = (words(summary.reason), settings.state.join("result"));
    let without = match summary.missing.is_empty() {
        true => String::new(),
        false => format!(", without {}", summary.missing.join(", ")),
    };
    say(&format!(
        "{part}: {how} after {rounds} rounds{without}, {seconds:.2} s{median}\nwritten to {}",
        result.display()
    ))?;
    if !summary.lacking.is_empty() {
        let who = summary.lacking.join(", ");
        eprintln!(
            "{part}: {who} may lack the last rows; if it waits for them, start this part once more with --resume"
        );
    }
    Ok(())
}

fn exit(summary: &PartSummary) -> Exit {
    match summary.reason {
        Reason::PeerFinished | Reason::PeerLost => Exit::PeerEnded,
        Reason::Diverged | Reason::Spent => Exit::Unfinished,
        Reason::Left => Exit::Done,
        Reason::Converged | Reason::RoundLimit if summary.missing.is_empty() => Exit::Done,
        Reason::Converged | Reason::RoundLimit => Exit::Without,
    }
}

/// Why it ended, in words.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Converged => "converged",
        Reason::RoundLimit => "all rounds done",
        Reason::PeerLost => "stopped, because a neighbour is gone and the policy is to stop,",
        Reason::Left => "left",
        Reason::PeerFinished => "ended, because a neighbour had ended,",
        Reason::Spent => "stopped, because the privacy of its rows is spent,",
        Reason::Diverged => "diverged (numbers out of range, or a model that cannot be fitted)",
    }
}
