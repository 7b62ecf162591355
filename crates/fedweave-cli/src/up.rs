//! `fedweave up`: a whole federation of processes on this machine, or the files for one on several.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use fedweave::Problem;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::model::relax::{Weighting, seed_of};
use fedweave::solve::{JudgedOn, Settings, Status, safe_step};
use fedweave_io::{Input, RunWriter, load};
use fedweave_node::config::choice;
use fedweave_node::launch::{LaunchOptions, Prepared, Processes, certify_collected, collect, collect_models, prepare};
use fedweave_node::metrics::Snapshot;
use fedweave_node::{DeadPolicy, MethodSpec, Models, Network, Patience, PenaltyKind, PublicSets};

use crate::config::RawConfig;
use crate::fit::{Solved, Training, build, check, exit, refuse_runaway};
use crate::models::{Federated, Found, Pieces};
use crate::plan::Plan;
use crate::progress::{catch_interrupts, interrupted};
use crate::{Exit, reexec, say, story};

pub const EXAMPLES: &str = "\
Examples:
  fedweave up nodes.csv --edges edges.csv --target y --model forest --public rows.csv --lambda 1 --parts 4 --out run
      models of any class: processes exchange predictions on public rows, as `fedweave fit --model` does
  fedweave up nodes.csv --edges edges.csv --target y --lambda 0.1 --parts 8 --out run
      eight processes on this machine, mutual TLS, the same run directory as `fedweave fit`
  fedweave up nodes.csv --edges edges.csv --target y --lambda 0.1 --parts 3 --work three --hosts h1,h2,h3 --prepare
      the files for three hosts: copy a folder to each and run `fedweave node` there";

/// A federation of processes
#[derive(Args)]
pub struct UpArgs {
    #[command(flatten)]
    raw: RawConfig,
    /// Number of processes
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Federation")]
    parts: usize,
    /// Keep the files of the parts in this new folder [default: a temporary one]
    #[arg(long, value_name = "DIR", help_heading = "Federation")]
    work: Option<PathBuf>,
    /// Address of each part, in order; one for all, or as many as parts [default: 127.0.0.1]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', help_heading = "Federation")]
    hosts: Option<Vec<String>>,
    /// First port; part k listens on this one plus k [default: free ports on this machine, 7447 elsewhere]
    #[arg(long, value_name = "PORT", help_heading = "Federation")]
    port: Option<u16>,
    /// Write the files and stop
    #[arg(long, requires = "work", help_heading = "Federation")]
    prepare: bool,
    /// Every process appends the frames it sends, as they are before encryption, to frames.bin in its folder
    #[arg(long, help_heading = "Federation")]
    record_frames: bool,
    /// No certificates; loopback addresses only
    #[arg(long, help_heading = "Federation")]
    loopback_plaintext: bool,
    /// wait, continue or stop when a neighbour is dead [default: wait]
    #[arg(long, value_name = "POLICY", help_heading = "Federation")]
    policy: Option<String>,
}

impl UpArgs {
    fn launch_options(&self, raw: &RawConfig) -> LaunchOptions {
        LaunchOptions {
            parts: self.parts,
            work: self.work.clone(),
            hosts: self.hosts.clone(),
            port: self.port,
            loopback_plaintext: self.loopback_plaintext,
            record_frames: self.record_frames,
            seed: raw.seed.unwrap_or(0),
        }
    }

    fn patience(&self) -> Result<Patience> {
        let policy = choice("--policy", self.policy.as_deref(), &DeadPolicy::NAMES)?;
        Ok(Patience { policy, ..Patience::default() })
    }
}

pub fn run(args: UpArgs) -> Result<Exit> {
    let raw = args.raw.clone().resolve()?;
    let options = args.launch_options(&raw);
    if raw.model.is_some() || raw.models_file().is_some() {
        return run_models(&args, raw, &options);
    }
    let plan = plan(raw)?;
    options.check()?;
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    let input = load(&plan.input)?;
    let loss = plan.loss(&input)?;
    check(&plan, &input, &loss)?;
    let lambda = plan.lambda.expect("checked with the plan");
    let training = Training::new(&plan, input.data.clone());
    refuse_runaway(&plan, &input, &loss, &training.scaled, lambda, &plan.options)?;
    let problem = build(&plan, &input, &loss, training.scaled.clone(), lambda)?;
    let network = network_of(&plan, &input, &training, &problem, loss.clone(), args.patience()?)?;
    let prepared = prepare(&network, &options)?;
    let Some(seconds) = run_processes(&args, &network, &prepared)? else { return Ok(not_run(&args)) };
    let collected = collect(&prepared, &network)?;
    let (solution, traffic) = certify_collected(&problem, collected, &network.method, &plan.settings);
    let (held_out, tuning, traffic) = (None, None, Some(traffic));
    let solved = Solved { plan, input, loss, problem, training, solution, traffic, seconds, held_out, tuning };
    let fit = solved.into_fit()?;
    let written = writer.map(|writer| story::write_run(&fit, writer)).transpose()?;
    match fit.plan.raw.json {
        true => say(&story::summary(&fit).to_string())?,
        false => say(&format!("{}\n{}", words(&prepared), story::words(&fit, written.as_deref())))?,
    }
    // A fixed number of rounds is what was asked for, whatever is reached.
    let asked = fit.plan.raw.rounds.is_some() && fit.solution.status == Status::IterationLimit;
    Ok(if asked { Exit::Unfinished } else { exit(fit.solution.status) })
}

/// `fedweave up --model`: processes that exchange predictions on public rows.
fn run_models(args: &UpArgs, raw: RawConfig, options: &LaunchOptions) -> Result<Exit> {
    options.check()?;
    let federated = Federated::new(raw)?;
    let network = network_of_models(&federated.pieces(), args.patience()?);
    let prepared = prepare(&network, options)?;
    let Some(seconds) = run_processes(args, &network, &prepared)? else { return Ok(not_run(args)) };
    let found = collect_models(&prepared)?;
    let exchange = found.exchange;
    let found = Found {
        models: found.models,
        rounds: exchange.rounds,
        messages: exchange.messages,
        bytes: exchange.bytes,
        seconds,
    };
    federated.finish(found, &words(&prepared))?;
    Ok(Exit::Done)
}

/// Seconds that the processes took; `None` if there were none, or if they were interrupted.
fn run_processes(args: &UpArgs, network: &Network, prepared: &Prepared) -> Result<Option<f64>> {
    if args.prepare {
        say(&words(prepared))?;
        return Ok(None);
    }
    catch_interrupts();
    let started = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    let mut show = |snapshot: &Snapshot| eprint!("\r\x1b[K{}", progress_line(snapshot, network));
    let progress = terminal.then_some(&mut show as &mut dyn FnMut(&Snapshot));
    let ended = Processes::start(prepared, &reexec::command)?.wait(&interrupted, progress);
    if terminal {
        eprint!("\r\x1b[K");
    }
    Ok(ended?.then(|| started.elapsed().as_secs_f64()))
}

/// The exit code where no process came to its end.
fn not_run(args: &UpArgs) -> Exit {
    if args.prepare { Exit::Done } else { Exit::Interrupted }
}

fn progress_line(snapshot: &Snapshot, network: &Network) -> String {
    let Snapshot { name, state, round, neighbours, .. } = snapshot;
    let (up, all, most) = (neighbours.iter().filter(|n| n.up).count(), neighbours.len(), network.rounds_max);
    let of = network.tolerance.map_or(String::new(), |tolerance| format!(" of {tolerance:.1e}"));
    let residual = snapshot.residual.map_or(String::new(), |r| format!(", residual {r:.1e}{of}"));
    let left = most.saturating_sub(*round) as f64 * snapshot.seconds / (*round).max(1) as f64;
    format!(
        "{name}: {state}, round {round} of at most {most}{residual}, {up} of {all} neighbours up, at most {left:.0} s left"
    )
}

/// How the network was cut, in words.
fn words(prepared: &Prepared) -> String {
    let (parts, cut, (least, most)) = (prepared.plans.len(), prepared.edges_cut, prepared.nodes_of_parts());
    let kept = prepared.kept().map_or(String::new(), |work| format!("; files in {}", work.display()));
    format!("{parts} parts of {least} to {most} nodes, {cut} edges between them{kept}")
}

/// The flags of `fit`, as far as a federation can follow them.
fn plan(mut raw: RawConfig) -> Result<Plan> {
    let solver = raw.solver.get_or_insert_with(|| "primal-dual".into());
    let known = ["primal-dual", "fedgd", "fedrelax", "async-fedgd"];
    ensure!(known.contains(&solver.as_str()), "--solver {solver}: a federation knows {}", known.join(", "));
    ensure!(raw.active.is_none(), "--active belongs to `fedweave fit`: processes are as active as they can be");
    ensure!(raw.order.as_deref() != Some("in-turn"), "--order in-turn belongs to `fedweave fit`: parts work together");
    ensure!(raw.validation.is_none(), "--validation belongs to `fedweave fit`: a federation trains with all rows");
    ensure!(raw.resume.is_none(), "--resume belongs to `fedweave fit` and `fedweave node`");
    ensure!(raw.time_limit.is_none(), "--time-limit belongs to `fedweave fit`; --rounds limits a federation");
    ensure!(raw.objective_decrease.is_none(), "--objective-decrease belongs to `fedweave fit`");
    ensure!(raw.loss_column.is_none(), "--loss-column belongs to `fedweave fit`: a federation has one loss");
    if raw.solver.as_deref() == Some("primal-dual") {
        raw.step_ratio.get_or_insert(1.0);
    }
    ensure!(
        raw.solver.as_deref() != Some("async-fedgd") || raw.rounds.is_some(),
        "--solver async-fedgd: give --rounds N; out of step there is no moment at which all parts could agree on a residual, so \
         it cannot stop at a tolerance (fedgd and fedrelax can)"
    );
    let plan = Plan::fit(raw)?;
    if plan.lambda.is_none() {
        bail!("--lambda: a federation needs a number; `fedweave fit` chooses one on held-out rows");
    }
    Ok(plan)
}

/// The network of a fit.
fn network_of(
    plan: &Plan,
    input: &Input,
    training: &Training,
    problem: &Problem,
    loss: LossSpec,
    patience: Patience,
) -> Result<Network> {
    let name = plan.raw.penalty.as_deref().unwrap_or("norm2");
    let Some(penalty) = PenaltyKind::named(name) else {
        bail!("--penalty {name}: a federation knows norm2, norm1, norminf and squared");
    };
    let Settings { tolerance, iterations_max, .. } = plan.settings;
    let node_weight = plan.options.node_weight.resolved(&training.scaled);
    Ok(Network {
        names: input.names.clone(),
        graph: input.graph.clone(),
        data: training.scaled.clone(),
        loss,
        loss_options: LossOptions { node_weight, ..plan.options },
        penalty,
        lambda: problem.lambda(),
        method: method(plan, problem)?,
        rounds_max: plan.raw.rounds.unwrap_or(iterations_max) as u64,
        tolerance: plan.raw.rounds.is_none().then_some(tolerance),
        patience,
        models: None,
    })
}

/// The network of models of any class.
fn network_of_models(pieces: &Pieces<'_>, patience: Patience) -> Network {
    let Pieces { input: Input { names, graph, .. }, options, .. } = pieces;
    let public = match pieces.public {
        [rows] if names.len() != 1 => PublicSets::Common(rows.clone()),
        sets => PublicSets::PerNode(names.iter().cloned().zip(sets.iter().cloned()).collect()),
    };
    let models = Models {
        task: pieces.task,
        specs: pieces.specs.to_vec(),
        seeds: (0..names.len()).map(|i| seed_of(options.seed, i)).collect(),
        public: Arc::new(public),
    };
    Network {
        names: names.clone(),
        graph: graph.clone(),
        data: pieces.data.clone(),
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions::default(),
        penalty: PenaltyKind::Squared,
        lambda: pieces.lambda,
        method: MethodSpec::FedRelaxPredictions {
            both: options.judged_on == JudgedOn::Both,
            plain: options.weighting == Weighting::Plain,
        },
        rounds_max: pieces.rounds as u64,
        tolerance: None,
        patience,
        models: Some(models),
    }
}

fn method(plan: &Plan, problem: &Problem) -> Result<MethodSpec> {
    let no_step = || anyhow!("--step: a loss without a smoothness constant has no step that never diverges; give one");
    let step = || plan.raw.step.or_else(|| safe_step(problem)).ok_or_else(no_step);
    Ok(match plan.raw.solver.as_deref() {
        Some("fedgd") => MethodSpec::FedGd { step: step()? },
        Some("fedrelax") => MethodSpec::FedRelax,
        Some("async-fedgd") => {
            MethodSpec::AsyncFedGd { step: step()?, staleness: plan.raw.delay_max.unwrap_or(5) as u64 }
        }
        _ => MethodSpec::PrimalDual {
            step_ratio: plan.settings.step_ratio.unwrap_or(1.0),
            relaxation: plan.settings.relaxation,
        },
    })
}
