//! How far a job is, told a few times a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fedweave::solve::Record;
use fedweave_run::Stage;

/// Pause between two words of progress.
const PAUSE: Duration = Duration::from_millis(100);

/// What there is to say.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Progress {
    /// What is done now.
    pub what: String,
    /// The share of it that is done.
    pub share: Option<f64>,
    /// Seconds since the job began.
    pub seconds: f64,
    /// What the solver said last in this stage.
    pub record: Option<Record>,
}

/// Measures a job.
pub struct Gauge {
    started: Instant,
    now: Mutex<Now>,
}

struct Now {
    stage: Stage,
    stage_began: Instant,
    /// The error that was seen first.
    first: Option<f64>,
    told: Option<Instant>,
    progress: Progress,
}

impl Gauge {
    /// The job begins now.
    pub fn new() -> Self {
        let now = Now {
            stage: Stage::new("reading", 1.0),
            stage_began: Instant::now(),
            first: None,
            told: None,
            progress: Progress { what: "reading".into(), ..Progress::default() },
        };
        Gauge { started: Instant::now(), now: Mutex::new(now) }
    }

    /// Seconds since the job began.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// A stage begins.
    pub fn begin(&self, stage: Stage, tell: impl FnOnce(&Progress)) {
        self.change(true, tell, |now| {
            now.progress = Progress { what: stage.what.clone(), ..Progress::default() };
            (now.stage, now.stage_began, now.first) = (stage, Instant::now(), None);
        });
    }

    /// The solver looks up.
    pub fn see(&self, record: &Record, tell: impl FnOnce(&Progress)) {
        self.change(false, tell, |now| {
            let error = Stage::error_of(record);
            let first = *now.first.get_or_insert(error);
            now.progress.share = Some(now.stage.share_done(record, first, now.stage_began.elapsed().as_secs_f64()));
            now.progress.record = Some(*record);
        });
    }

    /// Piece `done` of `total` alike is done.
    pub fn advance(&self, what: &str, done: usize, total: usize, tell: impl FnOnce(&Progress)) {
        self.change(true, tell, |now| {
            now.progress.what = format!("{what} {} of {total}", (done + 1).min(total));
            now.progress.share = Some(done as f64 / total.max(1) as f64);
        });
    }

    fn change(&self, always: bool, tell: impl FnOnce(&Progress), change: impl FnOnce(&mut Now)) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // Between two words nothing is worked out: the solver calls here at every look.
        if !always && now.told.is_some_and(|told| told.elapsed() < PAUSE) {
            return;
        }
        now.told = Some(Instant::now());
        change(&mut now);
        now.progress.seconds = self.seconds();
        tell(&now.progress);
    }
}
