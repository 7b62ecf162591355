//! The solver on its own threads; meanwhile the calling thread looks after signals and progress.
//!
//! Only the main thread of an interpreter hears Ctrl-C, so it must not be the one that solves. Threads live as long as one
//! call: a process forked later finds no dead pool.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fedweave::solve::{Record, Status, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often the calling thread looks up.
const PAUSE: Duration = Duration::from_millis(50);

/// The line between the solver and whoever waits for it.
pub struct Line {
    stop: AtomicBool,
    seen: Mutex<Option<Seen>>,
    deadline: Option<Instant>,
}

/// What the solver said last.
#[derive(Clone, Copy)]
struct Seen {
    /// Which solve of several.
    piece: usize,
    record: Record,
}

impl Line {
    /// Called by the solver at every check.
    pub fn see(&self, record: &Record) -> Watch {
        self.see_piece(0, record)
    }

    /// The same, in solve number `piece`.
    pub fn see_piece(&self, piece: usize, record: &Record) -> Watch {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Seen { piece, record: *record });
        if self.stop.load(Ordering::Relaxed) {
            return Watch::Stop(Status::Interrupted);
        }
        match self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            true => Watch::Stop(Status::TimeLimit),
            false => Watch::Continue,
        }
    }
}

/// What the work returned, and the exception that interrupted it, if one did.
pub struct Done<T> {
    pub value: T,
    pub interrupt: Option<PyErr>,
}

/// Does the work on `threads` threads (all cores if zero) with the interpreter free. `progress(piece, iteration, objective, error)`
/// is called now and then.
pub fn work<T: Send>(
    py: Python<'_>,
    threads: usize,
    seconds: Option<f64>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Line) -> T + Send,
) -> PyResult<Done<T>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("threads cannot be started: {error}")))?;
    let limit = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let line = Line { stop: AtomicBool::new(false), seen: Mutex::new(None), deadline };
    let (line, pool, progress) = (&line, &pool, progress.as_ref());
    let (joined, interrupt) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            let solver = scope.spawn(move || {
                let _done = done; // dropped at the end, also by a panic
                pool.install(|| work(line))
            });
            let mut interrupt = None;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PAUSE) {
                if interrupt.is_none() {
                    interrupt = Python::attach(|py| look_up(py, line, progress)).err();
                    line.stop.store(interrupt.is_some(), Ordering::Relaxed);
                }
            }
            (solver.join(), interrupt)
        })
    });
    let value = joined.map_err(|_| PyRuntimeError::new_err("internal error in the solver; please report it"))?;
    Ok(Done { value, interrupt })
}

fn look_up(py: Python<'_>, line: &Line, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let seen = *line.seen.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(call), Some(Seen { piece, record })) = (progress, seen) {
        let scale = record.objective.abs().max(1.0);
        let error = record.certified_gap.map_or(record.kkt.residual(), |gap| gap / scale);
        call.call1(py, (piece, record.iteration, record.objective, error))?;
    }
    Ok(())
}
