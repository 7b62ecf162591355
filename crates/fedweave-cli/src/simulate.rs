//! `fedweave simulate`: federations in virtual time, where a seed decides everything that goes wrong.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use fedweave_io::counted;
use fedweave_node::simulator::{Batch, BatchOutcome, Limits, Subject};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::progress::{catch_interrupts, interrupted, use_threads};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave simulate --seeds 10000
      20 parts, 300 rounds, up to 30 % of frames lost, 50 % doubled, 50 crashes a run: every run must end with the
      bits of the solver on one machine

  fedweave simulate --seed 1234 --events
      one run again, with what happened in it

  fedweave simulate --predictions --seeds 500
      the same with trees, forests, perceptrons, ... that exchange predictions

  fedweave simulate --coupling --seeds 200
      the same with a coupling that the parts learn together before their rounds

  fedweave simulate --recovery --seeds 500
      parts come back with states of long ago or none, edges differ between their ends, certificates are revoked: all
      end at the optimum of the network that is left

  fedweave simulate --out-of-step --seeds 500
      nobody waits for the newest models: all must end within the tolerance, as one machine computes it

  fedweave simulate --noise --seeds 2000
      noisy gradients, also with rollbacks: nothing leaves that was not paid for, replays send the same bytes

  fedweave simulate --liars --seeds 2000
      up to a fifth of the nodes lie: honest models must stay within the bound

Exit codes: 0 every seed passed, 1 some failed (each is printed with its seed), 2 bad input or failure, 130 interrupted.";

/// Failures told one by one.
const TOLD: usize = 20;

/// Federations in virtual time, where a seed decides everything that goes wrong
#[derive(Args)]
pub struct SimulateArgs {
    /// Number of seeds, from the first one on
    #[arg(long, default_value_t = 1_000, conflicts_with = "seed")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0, conflicts_with = "seed")]
    first: u64,
    /// Run this seed alone
    #[arg(long)]
    seed: Option<u64>,
    /// Neighbours lie, instead of bits being compared
    #[arg(long)]
    liars: bool,
    /// Models of any class that exchange predictions, instead of the primal-dual method
    #[arg(long, conflicts_with = "liars")]
    predictions: bool,
    /// Parts learn the coupling before the primal-dual method
    #[arg(long, conflicts_with_all = ["liars", "predictions"])]
    coupling: bool,
    /// Parts come back with old states or none, differ from their neighbours, or lose their certificate
    #[arg(long, conflicts_with_all = ["liars", "predictions", "coupling"])]
    recovery: bool,
    /// Gradient descent out of step with a tolerance, instead of the primal-dual method
    #[arg(long, conflicts_with_all = ["liars", "predictions", "coupling", "recovery", "noise"])]
    out_of_step: bool,
    /// Noisy gradients and their ledgers, instead of the primal-dual method
    #[arg(long, conflicts_with_all = ["liars", "predictions", "coupling", "recovery"])]
    noise: bool,
    /// Largest share of frames lost
    #[arg(long, default_value_t = Limits::default().loss)]
    loss: f64,
    /// Largest share of frames doubled
    #[arg(long, default_value_t = Limits::default().duplication)]
    duplication: f64,
    /// Most crashes in a run
    #[arg(long, default_value_t = Limits::default().crashes)]
    crashes: u32,
    /// With --seed: also print what happened, incident by incident and note by note
    #[arg(long, requires = "seed", conflicts_with = "json")]
    events: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Number of threads; all cores if not given
    #[arg(long)]
    threads: Option<usize>,
}

impl SimulateArgs {
    fn subject(&self) -> Subject {
        let asked = [
            (self.recovery, Subject::Recovery),
            (self.liars, Subject::Liars),
            (self.predictions, Subject::Predictions),
            (self.coupling, Subject::Coupling),
            (self.noise, Subject::Noise),
            (self.out_of_step, Subject::OutOfStep),
        ];
        asked.into_iter().find(|(asked, _)| *asked).map_or(Subject::Parameters, |(_, subject)| subject)
    }
}

pub fn run(args: &SimulateArgs) -> Result<Exit> {
    for (flag, share) in [("--loss", args.loss), ("--duplication", args.duplication)] {
        ensure!((0.0..1.0).contains(&share), "{flag} {share}: must be at least 0 and below 1");
    }
    use_threads(args.threads);
    catch_interrupts();
    let (first, count) = args.seed.map_or((args.first, args.seeds), |seed| (seed, 1));
    ensure!(count > 0, "--seeds 0: nothing to run");
    first.checked_add(count).context("--first and --seeds together are too large")?;
    let limits = Limits { loss: args.loss, duplication: args.duplication, crashes: args.crashes, ..Default::default() };
    let subject = args.subject();
    let batch = Batch { first, count, subject, limits };
    if args.events {
        batch.retell()?.lines.iter().try_for_each(|line| say(line))?;
    }
    let bar = progress(count);
    let started = Instant::now();
    let outcome = batch.run(&interrupted, &|| bar.inc(1))?;
    bar.finish_and_clear();
    report(args, &outcome, started.elapsed().as_secs_f64())?;
    Ok(match (outcome.failures.is_empty(), interrupted()) {
        (_, true) => Exit::Interrupted,
        (true, false) => Exit::Done,
        (false, false) => Exit::Unfinished,
    })
}

fn report(args: &SimulateArgs, outcome: &BatchOutcome, seconds: f64) -> Result<()> {
    let BatchOutcome { passed, tally, failures } = outcome;
    if args.json {
        let failed: Vec<_> = failures
            .iter()
            .map(|f| json!({"seed": f.seed, "at_ms": f.at_ms, "part": f.part, "what": f.what}))
            .collect();
        return say(&serde_json::to_string_pretty(&json!({
            "passed": passed, "failed": failed, "events": tally.events, "frames": tally.frames, "lost": tally.lost,
            "doubled": tally.doubled, "crashes": tally.crashes, "checkpoints_damaged": tally.damaged,
            "disks_full": tally.full, "old_states": tally.rollbacks,
            "longest_ms": tally.elapsed_ms, "seconds": seconds,
        }))?);
    }
    for failure in failures.iter().take(TOLD) {
        say(&format!("FAILED {failure}"))?;
    }
    if let Some(first) = failures.first() {
        let liars = match args.subject() {
            Subject::Liars => " --liars",
            Subject::Recovery => " --recovery",
            Subject::Predictions => " --predictions",
            Subject::Coupling => " --coupling",
            Subject::Noise => " --noise",
            Subject::OutOfStep => " --out-of-step",
            Subject::Parameters => "",
        };
        say(&format!(
            "{} failed; again: fedweave simulate --seed {}{liars} --events",
            counted(failures.len(), "seed"),
            first.seed
        ))?;
    }
    let promise = match args.subject() {
        Subject::Liars => "honest models within the bound",
        Subject::Recovery => "the optimum of the network that is left",
        Subject::OutOfStep => "models within their tolerance",
        _ => "the bits of one machine",
    };
    say(&format!("{} ended with {promise}, in {seconds:.1} s", counted(*passed as usize, "seed")))?;
    say(&format!(
        "{} frames: {} lost, {} doubled; {} crashes, {} checkpoints damaged, {} disks full, {} old states; the longest run took \
         {:.1} s of virtual time",
        tally.frames,
        tally.lost,
        tally.doubled,
        tally.crashes,
        tally.damaged,
        tally.full,
        tally.rollbacks,
        tally.elapsed_ms as f64 / 1e3
    ))
}

fn progress(count: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("simulating [{bar:30}] {pos}/{len} seeds · {elapsed} · {eta} left");
    bar.set_style(style.expect("a fixed template").progress_chars("=> "));
    bar
}
