//! Long work in the background: one job at a time, with progress for every tab, that can be cancelled.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fedweave::solve::{Record, Status, Watch};
use fedweave_io::load;
use fedweave_run::compare::compare;
use fedweave_run::fit::{fit, write_run};
use fedweave_run::request::again::command;
use fedweave_run::request::{CompareRequest, FitRequest, Job, Settings};
use fedweave_run::slide::Slider;
use fedweave_run::{Error, Observer, Result, Stage, run_dir};
use serde_json::{Value as Json, json};

use crate::attack::{self, Attacked};
use crate::progress::{Gauge, Progress};
use crate::session::{Fitted, Models, Session, Studio, for_fit, for_job};

/// What can be started.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// A model at every node.
    Fit,
    /// Local, global, networked, shuffled, rivals.
    Compare,
    /// How much it takes to do harm; with what the page says about that.
    Attack(Settings),
    /// The fit again, into a run directory.
    Export(PathBuf),
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Fit => "fit",
            Task::Compare => "compare",
            Task::Attack(_) => "attack",
            Task::Export(_) => "export",
        }
    }

    /// What it is to do: after a fit, an attack and a run directory are of the lambda that is shown.
    fn settings(&self, session: &Session) -> Settings {
        let shown = || session.fitted.as_ref().map_or_else(|| session.settings.clone(), Fitted::again);
        match self {
            Task::Fit | Task::Compare => session.settings.clone(),
            Task::Attack(asked) => attack::settings(shown(), asked),
            Task::Export(_) => shown(),
        }
    }
}

/// Work that runs, or that ran last.
pub struct Work {
    name: &'static str,
    progress: Progress,
    stop: Arc<AtomicBool>,
    /// How it ended: in words, and whether well.
    ended: Option<(bool, String)>,
}

impl Work {
    /// For the page.
    pub fn state(&self) -> Json {
        let p = &self.progress;
        json!({
            "name": self.name,
            "running": self.ended.is_none(),
            "good": self.ended.as_ref().map(|(good, _)| good),
            "words": self.ended.as_ref().map(|(_, words)| words),
            "what": p.what,
            "share": p.share,
            "iteration": p.record.as_ref().map_or(0, |record| record.iteration),
            "objective": p.record.as_ref().map(|record| record.objective),
            "gap": p.record.as_ref().and_then(|record| record.certified_gap),
            "seconds": p.seconds,
        })
    }

    fn runs(&self) -> bool {
        self.ended.is_none()
    }

    /// Asks it to end, and does not wait for that: what it still finds, nobody gets to see.
    pub fn cancel(&mut self) {
        if self.runs() {
            self.stop.store(true, Ordering::Relaxed);
            self.ended = Some((false, "cancelled; nothing has changed".into()));
        }
    }

    fn is_stopped_by(&self, stop: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(&self.stop, stop)
    }
}

/// Starts a task unless one runs.
pub fn start(studio: &Arc<Studio>, task: Task) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let work = Work { name: task.name(), progress: Progress::default(), stop: stop.clone(), ended: None };
    let settings = studio.change(|session| {
        if session.work.as_ref().is_some_and(Work::runs) {
            return Err(Error::request("something is running already: wait for it, or cancel it"));
        }
        session.work = Some(work);
        Ok(task.settings(session))
    })?;
    let studio = studio.clone();
    std::thread::spawn(move || {
        let watcher = Watcher::new(studio.clone(), stop);
        // A panic in a job must not leave it running for ever in the eyes of the page.
        let job = std::panic::AssertUnwindSafe(|| run(&studio, &task, &settings, &watcher));
        let outcome = std::panic::catch_unwind(job)
            .unwrap_or_else(|_| Err(Error::request("this should not have happened: see the terminal")));
        let ended = match outcome {
            Ok(words) => (true, words),
            Err(_) if watcher.interrupted() => return,
            Err(error) => (false, studio.without_uploads(&error.to_string())),
        };
        studio.change(|session| {
            if let Some(work) = session.work.as_mut().filter(|work| work.runs() && work.is_stopped_by(&watcher.stop)) {
                work.ended = Some(ended);
            }
        });
    });
    Ok(())
}

fn run(studio: &Studio, task: &Task, settings: &Settings, watcher: &Watcher) -> Result<String> {
    match task {
        Task::Fit => run_fit(studio, &for_fit(settings)?, watcher),
        Task::Compare => run_compare(studio, &for_job(settings, Job::Compare)?, watcher),
        Task::Attack(_) => {
            let attacked = Attacked::new(settings, watcher)?;
            watcher.change(|session| session.attacked = Some(attacked))?;
            Ok("done".into())
        }
        Task::Export(out) => {
            let settings = for_fit(settings)?;
            let writer = run_dir::create_at(out, false)?;
            let (mut request, spec) = FitRequest::of_files(&settings)?;
            request.naming.command = command(Job::Fit, &settings);
            let result = fit(request, load(&spec)?, watcher)?;
            watcher.refuse_if_cancelled()?;
            Ok(format!("written to {}", write_run(&result, writer)?.display()))
        }
    }
}

fn run_fit(studio: &Studio, settings: &Settings, watcher: &Watcher) -> Result<String> {
    let (request, spec) = FitRequest::of_files(settings)?;
    let result = fit(request, load(&spec)?, watcher)?;
    watcher.refuse_if_cancelled()?;
    let lambda = result.problem.lambda();
    let fixed_because = Slider::refuses(&result);
    let (models, range) = match fixed_because {
        Some(_) => (Models::Still(result), None),
        None => {
            let slider = Slider::new(result)?;
            let range = slider.range();
            (Models::Sliding(slider), Some(range))
        }
    };
    watcher.change(|session| {
        session.fitted = Some(Fitted {
            settings: settings.clone(),
            models: Arc::new(Mutex::new(models)),
            range,
            fixed_because,
            lambda,
            moved: false,
            comparison: None,
        });
    })?;
    studio.show_fit()?;
    Ok("done".into())
}

fn run_compare(studio: &Studio, settings: &Settings, watcher: &Watcher) -> Result<String> {
    let (request, spec) = CompareRequest::of_files(settings)?;
    let result = compare(request, load(&spec)?, watcher)?;
    watcher.refuse_if_cancelled()?;
    let mut report = result.report();
    let found = report.comparison.take();
    let words = fedweave_run::compare::text(&result);
    let comparison = found.clone();
    let fitted = watcher.change(|session| {
        if let Some(fitted) = &mut session.fitted {
            fitted.comparison = comparison;
        }
        session.fitted.is_some()
    })?;
    match fitted {
        true => studio.show_fit()?,
        false => {
            report.comparison = found;
            let page = fedweave_report::live::body(&report)?;
            studio.change(|session| session.show(page));
        }
    }
    // The page shows the rest; this is what to do next.
    let next = words.lines().rfind(|line| line.starts_with("to fit ")).unwrap_or("done");
    Ok(studio.without_uploads(next))
}

/// Sees how far a job is and tells the tabs.
pub struct Watcher {
    studio: Arc<Studio>,
    gauge: Gauge,
    stop: Arc<AtomicBool>,
}

impl Watcher {
    fn new(studio: Arc<Studio>, stop: Arc<AtomicBool>) -> Self {
        Watcher { studio, gauge: Gauge::new(), stop }
    }

    /// Changes the session, unless the work was cancelled before.
    fn change<T>(&self, change: impl FnOnce(&mut Session) -> T) -> Result<T> {
        self.studio.change(|session| {
            self.refuse_if_cancelled()?;
            Ok(change(session))
        })
    }

    /// What was cancelled has no result.
    pub fn refuse_if_cancelled(&self) -> Result<()> {
        if self.interrupted() { Err(Error::request("cancelled")) } else { Ok(()) }
    }

    fn tell(&self, progress: &Progress) {
        self.studio.change(|session| {
            if let Some(work) = session.work.as_mut().filter(|work| work.is_stopped_by(&self.stop)) {
                work.progress = progress.clone();
            }
        });
    }
}

impl Observer for Watcher {
    fn begin(&self, stage: Stage) {
        self.gauge.begin(stage, |progress| self.tell(progress));
    }

    fn see(&self, record: &Record) -> Watch {
        if self.interrupted() {
            return Watch::Stop(Status::Interrupted);
        }
        self.gauge.see(record, |progress| self.tell(progress));
        Watch::Continue
    }

    fn advance(&self, what: &str, done: usize, total: usize) {
        self.gauge.advance(what, done, total, |progress| self.tell(progress));
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.gauge.seconds()
    }
}
