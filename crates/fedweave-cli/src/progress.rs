//! Progress on a terminal, silence in a pipe; time limits and Ctrl-C, which the mathematics knows nothing of.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fedweave::solve::{Record, Status, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLER: OnceLock<()> = OnceLock::new();

/// From now on the first Ctrl-C asks the solver to stop and keep its results, the second one ends the program.
pub fn catch_interrupts() {
    HANDLER.get_or_init(|| {
        let handler = || {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            if std::io::stderr().is_terminal() {
                eprintln!("stopping; press Ctrl-C again to quit at once");
            }
        };
        // Without a handler Ctrl-C ends the program, as anywhere else.
        let _ = ctrlc::set_handler(handler);
    });
}

/// True once Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Watches one solve: a bar with an estimate of the time left, and the reasons to stop early.
pub struct Watcher {
    bar: ProgressBar,
    started: Instant,
    limit: Option<Duration>,
    tolerance: f64,
    iterations_max: usize,
    first: Option<f64>,
    /// Pieces of work done before this one, and all there are.
    piece: (f64, f64),
}

const STEPS: u64 = 1000;

impl Watcher {
    /// A bar labelled `what`; hidden if standard error is not a terminal.
    pub fn new(what: &str, tolerance: f64, iterations_max: usize, limit: Option<f64>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {elapsed} · {eta} left · {msg}");
        bar.set_style(style.expect("a fixed template").progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        let limit = limit.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX));
        Watcher { bar, started: Instant::now(), limit, tolerance, iterations_max, first: None, piece: (0.0, 1.0) }
    }

    /// Piece `k` of `total` alike, the first of which began at `began`: the bar shows them all.
    pub fn piece(self, k: usize, total: usize, began: Instant) -> Self {
        let bar = self.bar.with_elapsed(began.elapsed());
        Watcher { bar, piece: (k as f64, total as f64), ..self }
    }

    /// Called at every check of the solver.
    pub fn see(&mut self, record: &Record) -> Watch {
        let scale = record.objective.abs().max(1.0);
        let error = record.certified_gap.map_or(record.kkt.residual(), |gap| gap / scale);
        let first = *self.first.get_or_insert(error);
        let (before, total) = self.piece;
        self.bar.set_position((STEPS as f64 * (before + self.share_done(record, first, error)) / total) as u64);
        self.bar.set_message(format!(
            "iteration {}, objective {:.6}, error {error:.1e}",
            record.iteration, record.objective
        ));
        if interrupted() {
            return Watch::Stop(Status::Interrupted);
        }
        match self.limit.is_some_and(|limit| self.started.elapsed() >= limit) {
            true => Watch::Stop(Status::TimeLimit),
            false => Watch::Continue,
        }
    }

    /// The error falls about geometrically, so its logarithm tells how far we are; the limits may come first.
    fn share_done(&self, record: &Record, first: f64, error: f64) -> f64 {
        let by_error = (first / error).ln() / (first / self.tolerance).ln().max(1e-9);
        let by_count = record.iteration as f64 / self.iterations_max.max(1) as f64;
        let by_time =
            self.limit.map_or(0.0, |limit| self.started.elapsed().as_secs_f64() / limit.as_secs_f64().max(1e-9));
        by_error.max(by_count).max(by_time).clamp(0.0, 1.0)
    }

    /// Removes the bar; seconds since the start.
    pub fn finish(self) -> f64 {
        self.bar.finish_and_clear();
        self.started.elapsed().as_secs_f64()
    }
}

/// A bar over a known number of long pieces of work.
pub struct Counter {
    bar: ProgressBar,
}

impl Counter {
    /// Piece `done + 1` of `total` begins.
    pub fn new(what: &str, done: usize, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] split {msg} · {elapsed}");
        bar.set_style(style.expect("a fixed template").progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        bar.set_position(done as u64);
        bar.set_message(format!("{}/{total}", done + 1));
        Counter { bar }
    }

    /// A bar over `total` short pieces of work.
    pub fn over(what: &str, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} · {elapsed} · {eta} left");
        bar.set_style(style.expect("a fixed template").progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        Counter { bar }
    }

    /// One piece is done.
    pub fn next(&self) {
        self.bar.inc(1);
    }

    /// Called at every check of a solver.
    pub fn see(&self) -> Watch {
        self.bar.tick();
        if interrupted() { Watch::Stop(Status::Interrupted) } else { Watch::Continue }
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Uses this many threads from now on, all cores without a number. This thread is one of them: a solver that it runs would else
/// hand over and wait at every loop. No other thread may then be the only one to call for parallel loops.
pub fn use_threads(threads: Option<usize>) {
    // Fails only if a pool exists already, which then has the number asked for first.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).use_current_thread().build_global();
}
