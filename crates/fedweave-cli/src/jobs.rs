//! The jobs: settings -> request -> call -> print -> exit code.

use std::path::Path;

use anyhow::Result;
use fedweave::solve::Status;
use fedweave_io::{RunWriter, load};
use fedweave_run::request::{
    AskRequest, CompareRequest, FitRequest, Job, LearnRequest, Output, PathRequest, RelaxRequest, Settings, TuneRequest,
};
use fedweave_run::{ask, compare, fit, learnt_graph, path, relax, run_dir, tune};
use serde_json::Value;

use crate::files::write;
use crate::progress::{Terminal, interrupted, use_threads};
use crate::{Exit, command, say};

/// Threads, the folder to write, and somebody who watches.
fn begin(output: &Output) -> Result<(Option<RunWriter>, Terminal)> {
    use_threads(output.threads);
    Ok((run_dir::create(output)?, Terminal::new()))
}

/// One JSON object, or words.
pub fn tell(
    output: &Output,
    summary: impl FnOnce() -> fedweave_run::Result<Value>,
    text: impl FnOnce() -> fedweave_run::Result<String>,
) -> Result<()> {
    match output.json {
        true => say(&summary()?.to_string()),
        false => say(&text()?),
    }
}

/// The exit code of a status.
pub fn exit(status: Status) -> Exit {
    match status {
        Status::Converged => Exit::Done,
        Status::Interrupted => Exit::Interrupted,
        Status::Stalled | Status::IterationLimit | Status::TimeLimit | Status::Diverged => Exit::Unfinished,
    }
}

pub fn fit(settings: &Settings) -> Result<Exit> {
    if RelaxRequest::is_meant(settings) {
        return relax(settings);
    }
    if TuneRequest::is_meant(settings) {
        return tune(settings);
    }
    let (mut request, spec) = FitRequest::of_files(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, terminal) = begin(&output)?;
    let result = fit::fit(request, load(&spec)?, &terminal)?;
    terminal.finish();
    if output.verbose {
        let choice = &result.solution.choice;
        eprintln!("solver: {} ({})", choice.method, choice.reason);
    }
    let written = writer.map(|writer| fit::write_run(&result, writer)).transpose()?;
    tell(&output, || fit::summary(&result), || fit::text(&result, written.as_deref()))?;
    Ok(exit(result.solution.status))
}

/// Edges go to the file, or to standard output; what was found is then told on the other side.
pub fn learn_graph(settings: &Settings) -> Result<Exit> {
    let (request, spec) = LearnRequest::of_files(settings)?;
    let output = request.output.clone();
    use_threads(output.threads);
    let found = learnt_graph::learn(request, load(&spec)?)?;
    match &output.out {
        Some(path) => {
            write(path, &found.edges_csv())?;
            let written = format!("\nedges written to {}", path.display());
            tell(&output, || Ok(found.summary()), || Ok(found.text() + &written))?;
        }
        None if output.json => say(&found.summary().to_string())?,
        None => {
            eprintln!("{}", found.text());
            say(found.edges_csv().trim_end())?;
        }
    }
    Ok(Exit::Done)
}

fn tune(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = TuneRequest::of_files(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, terminal) = begin(&output)?;
    let result = tune::tune(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let written = writer.map(|writer| tune::write_run(&result, writer)).transpose()?;
    tell(&output, || tune::summary(&result), || tune::text(&result, written.as_deref()))?;
    Ok(match (interrupted(), result.race.stopped) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Unfinished,
        (false, false) => Exit::Done,
    })
}

fn relax(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = RelaxRequest::of_files(settings, Job::Fit)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, terminal) = begin(&output)?;
    let result = relax::relax(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let written = writer.map(|writer| relax::write_run(&result, writer)).transpose()?;
    tell(&output, || relax::summary(&result), || relax::text(&result, written.as_deref()))?;
    Ok(Exit::Done)
}

pub fn path(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = PathRequest::of_files(settings)?;
    request.fit.naming.command = command();
    let output = request.fit.output.clone();
    let (writer, terminal) = begin(&output)?;
    let result = path::path_of(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let Some(result) = result else {
        eprintln!("stopped before the first value of lambda was solved; nothing is written");
        return Ok(if interrupted() { Exit::Interrupted } else { Exit::Unfinished });
    };
    let written = writer.map(|writer| path::write_run(&result, writer)).transpose()?;
    tell(&output, || path::summary(&result), || Ok(path::text(&result, written.as_deref())))?;
    Ok(exit(result.fit.solution.status))
}

pub fn compare(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = CompareRequest::of_files(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, terminal) = begin(&output)?;
    let result = compare::compare(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let written = writer.map(|writer| compare::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(compare::summary(&result)), || Ok(compare::text(&result) + &written_to(written.as_deref())))?;
    Ok(match (interrupted(), result.converged()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Unfinished,
    })
}

fn written_to(path: Option<&Path>) -> String {
    path.map(|path| format!("\nwritten to {0}, see {0}/report.html", path.display())).unwrap_or_default()
}

pub fn ask(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = AskRequest::of_files(settings)?;
    request.naming_mut().command = command();
    let output = request.output().clone();
    let (writer, terminal) = begin(&output)?;
    let result = ask::ask(request, load(&spec)?, &terminal)?;
    terminal.finish();
    let written = writer.map(|writer| ask::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(ask::summary(&result)), || Ok(ask::text(&result, written.as_deref())))?;
    Ok(Exit::Done)
}
