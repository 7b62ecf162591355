//! `fedweave up`: a whole federation of processes on this machine, or the files for one on several.

use std::io::IsTerminal;
#[cfg(feature = "studio")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use fedweave::solve::Status;
use fedweave_io::load;
use fedweave_node::Network;
use fedweave_node::launch::{LaunchError, LaunchOptions, Prepared, Processes, collect, collect_models, prepare};
use fedweave_node::metrics::Snapshot;
use fedweave_node::private::shut_out_others;
use fedweave_run::request::up::LaunchChoice;
use fedweave_run::request::{Output, RelaxRequest, Settings, UpRequest};
use fedweave_run::up::{FederatedFit, FederatedModels, launch_options, liar_words};
use fedweave_run::wording::counted;
use fedweave_run::{fit, relax, run_dir};

use crate::jobs::{exit, tell};
use crate::progress::interrupted;
use crate::watch::Watcher;
use crate::{Exit, command, reexec, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave up nodes.csv --edges edges.csv --target y --model forest --public rows.csv --lambda 1 --parts 4 --out run
      models of any class: processes exchange predictions on public rows, as `fedweave fit --model` does
  fedweave up nodes.csv --edges edges.csv --target y --lambda 0.1 --parts 8 --out run
      eight processes on this machine, mutual TLS, the same run directory as `fedweave fit`
  fedweave up nodes.csv --edges edges.csv --target y --coupling learnt --parts 4 --out run
      the processes learn together how alike their models are, from sums over their rows, then solve
  fedweave up nodes.csv --edges edges.csv --target y --lambda 0.1 --parts 3 --work three --hosts h1,h2,h3 --prepare
      the files for three hosts: copy a folder to each and run `fedweave node` there";

pub fn run(settings: &Settings) -> Result<Exit> {
    shut_out_others();
    if RelaxRequest::is_meant(settings) {
        return run_models(settings);
    }
    let (mut request, spec) = UpRequest::of_files(settings)?;
    let launch = launch(settings)?;
    request.fit.naming.command = command();
    let (output, counted) = (request.fit.output.clone(), request.rounds.is_some());
    let writer = run_dir::create(&output)?;
    let federated = FederatedFit::new(request, load(&spec)?, &launch)?;
    let options = LaunchOptions { privacy: federated.privacy(), ..launch_options(&launch) };
    let prepared = prepare(&federated.network, &options)?;
    let watcher = watcher(&output, &launch)?;
    let ran = run_processes(&launch, &federated.network, &prepared, &watcher)?;
    let Some(seconds) = ran else { return Ok(not_run(&launch, &watcher)) };
    let collected = collect(&prepared, &federated.network)?;
    let result = federated.finish(collected, seconds)?;
    let written = writer.map(|writer| fit::write_run(&result, writer)).transpose()?;
    let text = || {
        let liar = liar_words(&result).map_or(String::new(), |words| format!("{words}\n"));
        Ok(format!("{}\n{liar}{}", words(&prepared), fit::text(&result, written.as_deref())?))
    };
    tell(&output, || fit::summary(&result), text)?;
    // A fixed number of rounds is what was asked for, whatever is reached.
    let asked = counted && result.solution.status == Status::IterationLimit;
    let exit = if asked { Exit::Unfinished } else { exit(result.solution.status) };
    watcher.show(exit, || fit::report_of(&result));
    Ok(exit)
}

fn launch(settings: &Settings) -> Result<LaunchChoice> {
    let launch = LaunchChoice::of(settings)?;
    ensure!(!launch.prepare || launch.work.is_some(), "--prepare needs --work DIR: where are the files to go?");
    launch_options(&launch).check()?;
    Ok(launch)
}

/// `fedweave up --model`: processes that exchange predictions on public rows.
fn run_models(settings: &Settings) -> Result<Exit> {
    let (mut request, spec, lambda) = UpRequest::models_of_files(settings)?;
    let launch = launch(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let writer = run_dir::create(&output)?;
    let federated = FederatedModels::new(request, load(&spec)?, lambda, &launch)?;
    let options = LaunchOptions { privacy: federated.privacy(), ..launch_options(&launch) };
    let prepared = prepare(&federated.network, &options)?;
    let watcher = watcher(&output, &launch)?;
    let ran = run_processes(&launch, &federated.network, &prepared, &watcher)?;
    let Some(seconds) = ran else { return Ok(not_run(&launch, &watcher)) };
    let result = federated.finish(collect_models(&prepared)?, seconds)?;
    let written = writer.map(|writer| relax::write_run(&result, writer)).transpose()?;
    let text = || Ok(format!("{}\n{}", words(&prepared), relax::text(&result, written.as_deref())?));
    tell(&output, || relax::summary(&result), text)?;
    watcher.show(Exit::Done, || relax::report_of(&result));
    Ok(Exit::Done)
}

/// Who watches the processes.
fn watcher(output: &Output, launch: &LaunchChoice) -> Result<Watcher> {
    ensure!(!(output.watch && launch.prepare), "--watch shows a run: leave it out with --prepare");
    Watcher::new(output.watch)
}

/// Seconds that the processes took; `None` if there were none, or if they were interrupted.
fn run_processes(
    launch: &LaunchChoice,
    network: &Network,
    prepared: &Prepared,
    watcher: &Watcher,
) -> Result<Option<f64>> {
    if launch.prepare {
        say(&words(prepared))?;
        return Ok(None);
    }
    let started = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    let mut show = |snapshot: &Snapshot| eprint!("\r\x1b[K{}", progress_line(snapshot, network));
    let progress = terminal.then_some(&mut show as &mut dyn FnMut(&Snapshot));
    let ended =
        watched(prepared, watcher, || Processes::start(prepared, &reexec::command)?.wait(&interrupted, progress));
    if terminal {
        eprint!("\r\x1b[K");
    }
    let ended = ended.map_err(anyhow::Error::from);
    if let Err(error) = &ended {
        watcher.fail(error);
    }
    Ok(ended?.then(|| started.elapsed().as_secs_f64()))
}

/// The exit code where no process came to its end.
fn not_run(launch: &LaunchChoice, watcher: &Watcher) -> Exit {
    if launch.prepare {
        return Exit::Done;
    }
    watcher.fail(&anyhow::anyhow!("interrupted; nothing is written"));
    Exit::Interrupted
}

/// Runs processes while the page, if there is one, asks every one of them how far it is.
#[cfg(feature = "studio")]
fn watched<T>(prepared: &Prepared, watcher: &Watcher, run: impl FnOnce() -> Launched<T>) -> Launched<T> {
    let Some(page) = watcher.page() else { return run() };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let parts = prepared.plans.iter().zip(&prepared.metrics).zip(&prepared.folders);
        for ((plan, address), folder) in parts {
            let over = &over;
            // A thread for each: one that hangs keeps nobody else from being seen.
            scope.spawn(move || crate::up_page::follow(page, &plan.name, address, folder, over));
        }
        let outcome = run();
        over.store(true, Ordering::Relaxed);
        if let Err(LaunchError::Failed { part, status, .. }) = &outcome {
            page.lose(part, &format!("gone: {status}"));
        }
        outcome
    })
}

#[cfg(not(feature = "studio"))]
fn watched<T>(_: &Prepared, _: &Watcher, run: impl FnOnce() -> Launched<T>) -> Launched<T> {
    run()
}

type Launched<T> = std::result::Result<T, LaunchError>;

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
    let (parts, cut) = (counted(parts, "part"), counted(cut, "edge"));
    format!("{parts} of {least} to {most} nodes, {cut} between them{kept}")
}
