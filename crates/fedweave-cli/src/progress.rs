//! Progress on a terminal, silence in a pipe; time limits and Ctrl-C, which the mathematics knows nothing of.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use fedweave::solve::{Record, Status, Watch};
use fedweave_run::{Observer, Stage};
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

/// Watches a job on a terminal: a bar with an estimate of the time left, and the reasons to stop early. Silent in a pipe.
pub struct Terminal {
    started: Instant,
    shown: Mutex<Shown>,
}

/// What the terminal shows now.
enum Shown {
    Nothing,
    Stage(StageBar),
    /// Pieces of work alike, under this name.
    Pieces(String, ProgressBar),
}

/// One stage of a job.
struct StageBar {
    bar: ProgressBar,
    started: Instant,
    stage: Stage,
    /// The error that was seen first.
    first: Option<f64>,
}

const STEPS: u64 = 1000;

impl Terminal {
    /// A job begins now.
    pub fn new() -> Self {
        catch_interrupts();
        Terminal { started: Instant::now(), shown: Mutex::new(Shown::Nothing) }
    }

    /// Removes what is shown.
    pub fn finish(&self) {
        self.replace(Shown::Nothing);
    }

    fn replace(&self, shown: Shown) {
        let old = std::mem::replace(&mut *self.lock(), shown);
        match old {
            Shown::Nothing => {}
            Shown::Stage(StageBar { bar, .. }) | Shown::Pieces(_, bar) => bar.finish_and_clear(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.finish();
    }
}

fn bar(length: u64, what: &str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(template).expect("a fixed template").progress_chars("=> "));
    bar.set_prefix(what.to_owned());
    bar
}

impl Observer for Terminal {
    fn begin(&self, stage: Stage) {
        let bar = bar(STEPS, &stage.what, "{prefix} [{bar:30}] {elapsed} · {eta} left · {msg}");
        // Pieces alike share one bar, and one estimate.
        let bar = if stage.piece.is_some() { bar.with_elapsed(self.started.elapsed()) } else { bar };
        self.replace(Shown::Stage(StageBar { bar, started: Instant::now(), stage, first: None }));
    }

    fn see(&self, record: &Record) -> Watch {
        if interrupted() {
            return Watch::Stop(Status::Interrupted);
        }
        match &mut *self.lock() {
            Shown::Stage(stage) => stage.see(record),
            _ => Watch::Continue,
        }
    }

    fn advance(&self, what: &str, done: usize, total: usize) {
        let mut shown = self.lock();
        if !matches!(&*shown, Shown::Pieces(name, _) if name == what) {
            let bar = bar(total as u64, what, "{prefix} [{bar:30}] {pos}/{len} · {elapsed} · {eta} left");
            *shown = Shown::Pieces(what.to_owned(), bar);
        }
        if let Shown::Pieces(_, bar) = &*shown {
            bar.set_position(done as u64);
        }
    }

    fn interrupted(&self) -> bool {
        interrupted()
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

impl StageBar {
    fn see(&mut self, record: &Record) -> Watch {
        let error = Stage::error_of(record);
        let first = *self.first.get_or_insert(error);
        let elapsed = self.started.elapsed().as_secs_f64();
        self.bar.set_position((STEPS as f64 * self.stage.share_done(record, first, elapsed)) as u64);
        let (iteration, objective) = (record.iteration, record.objective);
        self.bar.set_message(format!("iteration {iteration}, objective {objective:.6}, error {error:.1e}"));
        match self.stage.seconds_max.is_some_and(|limit| elapsed >= limit) {
            true => Watch::Stop(Status::TimeLimit),
            false => Watch::Continue,
        }
    }
}

/// Uses this many threads from now on, all cores without a number. This thread is one of them: a solver that it runs would else
/// hand over and wait at every loop. No other thread may then be the only one to call for parallel loops.
pub fn use_threads(threads: Option<usize>) {
    // Fails only if a pool exists already, which then has the number asked for first.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).use_current_thread().build_global();
}
