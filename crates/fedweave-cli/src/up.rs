//! `fedweave up`: a whole federation of processes on this machine, or the files for one on several.

mod children;
mod collect;
mod files;
mod predictions;
mod prepare;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use fedweave::Problem;
use fedweave::loss::{LossOptions, LossSpec};
use fedweave::solve::{Settings, Status, safe_step};
use fedweave_io::{Input, RunWriter, load};
use fedweave_node::{MethodSpec, Network, Patience, PenaltyKind};

use crate::config::RawConfig;
use crate::fit::{Solved, Training, build, check, exit, refuse_runaway};
use crate::plan::Plan;
use crate::progress::catch_interrupts;
use crate::{Exit, say, story};
use children::Children;
use files::{method_name, model};
use prepare::prepare;

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

/// More processes are a mistake.
const PARTS_MAX: usize = 1000;

pub fn run(args: UpArgs) -> Result<Exit> {
    let raw = args.raw.clone().resolve()?;
    if raw.model.is_some() || raw.models_file().is_some() {
        return predictions::run(&args, raw);
    }
    let plan = plan(raw)?;
    ensure!((1..=PARTS_MAX).contains(&args.parts), "--parts {}: between 1 and {PARTS_MAX}", args.parts);
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    let input = load(&plan.input)?;
    let loss = plan.loss(&input)?;
    check(&plan, &input, &loss)?;
    let lambda = plan.lambda.expect("checked with the plan");
    let training = Training::new(&plan, input.data.clone());
    refuse_runaway(&plan, &input, &loss, &training.scaled, lambda, &plan.options)?;
    let problem = build(&plan, &input, &loss, training.scaled.clone(), lambda)?;
    let network = network(&plan, &input, &training, &problem, loss.clone())?;
    let prepared = prepare(&args, &model(&plan, &network), &network)?;
    if args.prepare {
        say(&prepared.words())?;
        return Ok(Exit::Done);
    }
    catch_interrupts();
    let started = Instant::now();
    let children = Children::start(&args, &prepared)?;
    if !children.wait(&prepared, plan.settings.tolerance)? {
        return Ok(Exit::Interrupted);
    }
    let seconds = started.elapsed().as_secs_f64();
    let (solution, traffic) =
        collect::collect(&problem, &prepared, &input, &plan.settings, method_name(&network.method))?;
    let (held_out, tuning, traffic) = (None, None, Some(traffic));
    let solved = Solved { plan, input, loss, problem, training, solution, traffic, seconds, held_out, tuning };
    let fit = solved.into_fit()?;
    let written = writer.map(|writer| story::write_run(&fit, writer)).transpose()?;
    match fit.plan.raw.json {
        true => say(&story::summary(&fit).to_string())?,
        false => say(&format!("{}\n{}", prepared.words(), story::words(&fit, written.as_deref())))?,
    }
    // A fixed number of rounds is what was asked for, whatever is reached.
    let asked = fit.plan.raw.rounds.is_some() && fit.solution.status == Status::IterationLimit;
    Ok(if asked { Exit::Unfinished } else { exit(fit.solution.status) })
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

fn network(plan: &Plan, input: &Input, training: &Training, problem: &Problem, loss: LossSpec) -> Result<Network> {
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
        patience: Patience::default(),
        models: None,
    })
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
