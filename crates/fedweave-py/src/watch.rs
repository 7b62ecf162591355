//! The solver on its own threads; meanwhile the calling thread looks after signals, progress, and whatever only Python can do.
//!
//! Only the main thread of an interpreter hears Ctrl-C, so it must not be the one that solves. Python code that the solver needs
//! (a user's estimator) runs on the calling thread as well: there Ctrl-C stops it, and settings that Python keeps by thread are
//! those of the caller. Threads live as long as one call: a process forked later finds no dead pool.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fedweave::solve::{Record, Status, Watch};
use fedweave_run::{Observer, Stage};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often the calling thread looks up.
const PAUSE: Duration = Duration::from_millis(50);

/// The line between the solver and whoever waits for it.
pub struct Line {
    stop: AtomicBool,
    seen: Mutex<Seen>,
    started: Instant,
    events: Sender<Event>,
}

/// What the job said last.
#[derive(Clone, Default)]
struct Seen {
    /// Which stage of several, counted from 0.
    stages: usize,
    what: String,
    tolerance: f64,
    deadline: Option<Instant>,
    record: Option<Record>,
    /// Of pieces alike: which, how many are done, and of how many.
    pieces: Option<(String, usize, usize)>,
}

/// What the calling thread is woken up for.
enum Event {
    Ask(Question),
    Done,
}

type Question = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

impl Line {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody pressed Ctrl-C, or Python code failed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Has `act` done by the calling thread. `None` if it failed, or anything did before: then the work should end.
    pub fn ask<T: Send + 'static>(&self, act: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static) -> Option<T> {
        if self.stopped() {
            return None;
        }
        let (answer, wait) = channel();
        let question: Question = Box::new(move |py| {
            let value = act(py)?;
            let _ = answer.send(value); // whoever asked waits for it
            Ok(())
        });
        self.events.send(Event::Ask(question)).ok()?;
        wait.recv().ok()
    }
}

impl Observer for Line {
    fn begin(&self, stage: Stage) {
        let mut seen = self.seen();
        let limit = stage.seconds_max.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let stages = seen.stages + 1;
        *seen = Seen { stages, what: stage.what, tolerance: stage.tolerance, deadline, ..Seen::default() };
    }

    fn see(&self, record: &Record) -> Watch {
        let mut seen = self.seen();
        seen.record = Some(*record);
        if self.stopped() {
            return Watch::Stop(Status::Interrupted);
        }
        match seen.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            true => Watch::Stop(Status::TimeLimit),
            false => Watch::Continue,
        }
    }

    fn advance(&self, what: &str, done: usize, total: usize) {
        self.seen().pieces = Some((what.to_owned(), done, total));
    }

    fn interrupted(&self) -> bool {
        self.stopped()
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

/// What the work returned, and the exception that interrupted it, if one did.
pub struct Done<T> {
    pub value: T,
    pub interrupt: Option<PyErr>,
}

impl<T, E> Done<Result<T, E>> {
    /// The value. A failure after an interrupt is the interrupt.
    pub fn or_raise(self, raise: impl FnOnce(E) -> PyErr) -> PyResult<Done<T>> {
        match (self.value, self.interrupt) {
            (Ok(value), interrupt) => Ok(Done { value, interrupt }),
            (Err(_), Some(interrupt)) => Err(interrupt),
            (Err(error), None) => Err(raise(error)),
        }
    }
}

/// Does the work on `threads` threads (all cores if zero) with the interpreter free.
/// `progress(stage, iteration, objective, error, what, tolerance)` is called now and then, or `progress.advance(what, done, total)`
/// where the work is of several pieces alike.
pub fn work<T: Send>(
    py: Python<'_>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Arc<Line>) -> T + Send,
) -> PyResult<Done<T>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("threads cannot be started: {error}")))?;
    let (events, wait) = channel();
    let done = Farewell(events.clone());
    let (stop, seen) = (AtomicBool::new(false), Mutex::new(Seen::default()));
    let line = Arc::new(Line { stop, seen, started: Instant::now(), events });
    let (line, pool, progress) = (&line, &pool, progress.as_ref());
    let (joined, interrupt) = py.detach(move || {
        std::thread::scope(|scope| {
            let solver = scope.spawn(move || {
                let _done = done; // dropped at the end, also by a panic
                pool.install(|| work(line))
            });
            let interrupt = attend(line, &wait, progress);
            (solver.join(), interrupt)
        })
    });
    let value = joined.map_err(|_| PyRuntimeError::new_err("internal error in the solver; please report it"))?;
    Ok(Done { value, interrupt })
}

/// Says that the work is done.
struct Farewell(Sender<Event>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Done);
    }
}

/// The calling thread until the work is done: answers questions, looks up now and then. Returns the first exception; after it
/// nothing is done but wait.
fn attend(line: &Line, events: &Receiver<Event>, progress: Option<&Py<PyAny>>) -> Option<PyErr> {
    let (mut interrupt, mut looked) = (None, Instant::now());
    loop {
        let mut outcome = match events.recv_timeout(PAUSE) {
            Ok(Event::Done) | Err(RecvTimeoutError::Disconnected) => return interrupt,
            Ok(Event::Ask(question)) if interrupt.is_none() => Python::attach(question),
            // An unanswered question is dropped, which whoever asked notices.
            Ok(Event::Ask(_)) | Err(RecvTimeoutError::Timeout) => Ok(()),
        };
        if interrupt.is_none() && outcome.is_ok() && looked.elapsed() >= PAUSE {
            outcome = Python::attach(|py| look_up(py, line, progress));
            looked = Instant::now();
        }
        if let Err(error) = outcome {
            line.stop.store(true, Ordering::Relaxed);
            interrupt = Some(error);
        }
    }
}

fn look_up(py: Python<'_>, line: &Line, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let Some(call) = progress else { return Ok(()) };
    let Seen { stages, what, tolerance, record, pieces, .. } = line.seen().clone();
    if let Some(pieces) = pieces {
        call.call_method1(py, "advance", pieces)?;
        return Ok(());
    }
    if let Some(record) = record {
        let scale = record.objective.abs().max(1.0);
        let error = record.certified_gap.map_or(record.kkt.residual(), |gap| gap / scale);
        let stage = stages.saturating_sub(1);
        call.call1(py, (stage, record.iteration, record.objective, error, what, tolerance))?;
    }
    Ok(())
}
