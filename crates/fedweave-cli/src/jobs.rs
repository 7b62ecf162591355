//! The jobs: settings -> request -> call -> print -> exit code.

use std::path::Path;

use anyhow::Result;
use fedweave::solve::Status;
use fedweave_io::{RunWriter, load};
use fedweave_run::request::{
    AskRequest, ClassesRequest, CompareRequest, FitRequest, Job, LearnRequest, Output, PathRequest, RelaxRequest,
    Settings, TuneRequest, VerticalRequest,
};
use fedweave_run::{ask, compare, few_shot, fit, learnt_graph, path, relax, run_dir, tune, vertical};
use serde_json::Value;

use crate::files::write;
use crate::progress::{interrupted, use_threads};
use crate::watch::Watcher;
use crate::{Exit, command, say, told};

/// Threads, the folder to write, and somebody who watches.
fn begin(output: &Output) -> Result<(Option<RunWriter>, Watcher)> {
    use_threads(output.threads);
    Ok((run_dir::create(output)?, Watcher::new(output.watch)?))
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
    if ClassesRequest::is_meant(settings) {
        return few_shot(settings);
    }
    if VerticalRequest::is_meant(settings) {
        return vertical(settings);
    }
    let (mut request, spec) = FitRequest::of_files(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| fit::fit(request, load(&spec)?, observer))?;
    if output.verbose {
        let choice = &result.solution.choice;
        eprintln!("solver: {} ({})", choice.method, choice.reason);
    }
    let written = writer.map(|writer| fit::write_run(&result, writer)).transpose()?;
    tell(&output, || fit::summary(&result), || fit::text(&result, written.as_deref()))?;
    let exit = exit(result.solution.status);
    watcher.show(exit, || fit::report_of(&result));
    Ok(exit)
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
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| tune::tune(request, load(&spec)?, observer))?;
    let written = writer.map(|writer| tune::write_run(&result, writer)).transpose()?;
    tell(&output, || tune::summary(&result), || tune::text(&result, written.as_deref()))?;
    let exit = match (interrupted(), result.race.stopped) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Unfinished,
        (false, false) => Exit::Done,
    };
    watcher.show(exit, || tune::report_of(&result));
    Ok(exit)
}

fn few_shot(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = ClassesRequest::of_files(settings)?;
    request.fit.naming.command = command();
    let output = request.fit.output.clone();
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| few_shot::few_shot(request, &load(&spec)?, observer))?;
    let written = writer.map(|writer| few_shot::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(few_shot::summary(&result)), || Ok(few_shot::text(&result, written.as_deref())))?;
    Ok(exit(result.fit.solution.status))
}

fn vertical(settings: &Settings) -> Result<Exit> {
    let request = VerticalRequest::of_files(settings)?;
    let output = request.output.clone();
    use_threads(output.threads);
    let writer = run_dir::create(&output)?;
    let result = vertical::vertical(request)?;
    let written = writer.map(|writer| vertical::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(vertical::summary(&result)), || Ok(vertical::text(&result, written.as_deref())))?;
    Ok(if result.fit.converged { Exit::Done } else { Exit::Unfinished })
}

fn relax(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = RelaxRequest::of_files(settings, Job::Fit)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| relax::relax(request, load(&spec)?, observer))?;
    let written = writer.map(|writer| relax::write_run(&result, writer)).transpose()?;
    tell(&output, || relax::summary(&result), || relax::text(&result, written.as_deref()))?;
    watcher.show(Exit::Done, || relax::report_of(&result));
    Ok(Exit::Done)
}

pub fn path(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = PathRequest::of_files(settings)?;
    request.fit.naming.command = command();
    let output = request.fit.output.clone();
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| path::path_of(request, load(&spec)?, observer))?;
    let Some(result) = result else {
        eprintln!("stopped before the first value of lambda was solved; nothing is written");
        return Ok(if interrupted() { Exit::Interrupted } else { Exit::Unfinished });
    };
    let written = writer.map(|writer| path::write_run(&result, writer)).transpose()?;
    tell(&output, || path::summary(&result), || Ok(path::text(&result, written.as_deref())))?;
    let exit = exit(result.fit.solution.status);
    watcher.show(exit, || path::path_report(&result));
    Ok(exit)
}

pub fn compare(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = CompareRequest::of_files(settings)?;
    request.naming.command = command();
    let output = request.output.clone();
    let (writer, watcher) = begin(&output)?;
    if let Some(leave) = request.leave.take() {
        let left = watcher.watch(|observer| compare::leave::leave_nodes(request, leave, load(&spec)?, observer))?;
        let written = writer.map(|writer| compare::leave::write_run(&left, writer)).transpose()?;
        let told = written.map(|path| format!("\nwritten to {}", path.display())).unwrap_or_default();
        tell(&output, || Ok(compare::leave::summary(&left)), || Ok(compare::leave::text(&left) + &told))?;
        return Ok(if interrupted() { Exit::Interrupted } else { Exit::Done });
    }
    let result = match watcher.watch(|observer| compare::compare(request, load(&spec)?, observer)) {
        Err(error) if interrupted() => {
            eprintln!("{}", told(&error));
            return Ok(Exit::Interrupted);
        }
        result => result?,
    };
    let written = writer.map(|writer| compare::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(compare::summary(&result)), || Ok(compare::text(&result) + &written_to(written.as_deref())))?;
    let exit = match (interrupted(), result.converged()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Unfinished,
    };
    watcher.show(exit, || Ok(result.report()));
    Ok(exit)
}

fn written_to(path: Option<&Path>) -> String {
    path.map(|path| format!("\nwritten to {0}, see {0}/report.html", path.display())).unwrap_or_default()
}

pub fn ask(settings: &Settings) -> Result<Exit> {
    let (mut request, spec) = AskRequest::of_files(settings)?;
    request.naming_mut().command = command();
    let output = request.output().clone();
    let (writer, watcher) = begin(&output)?;
    let result = watcher.watch(|observer| ask::ask(request, load(&spec)?, observer))?;
    let written = writer.map(|writer| ask::write_run(&result, writer)).transpose()?;
    tell(&output, || Ok(ask::summary(&result)), || Ok(ask::text(&result, written.as_deref())))?;
    watcher.show(Exit::Done, || ask::report_of(&result));
    Ok(Exit::Done)
}
