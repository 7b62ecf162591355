//! What a running job has said so far, for every tab that looks at it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fedweave_report::{Report, Step, live, natural};
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::part::Part;
use crate::progress::Progress;

/// More points than this are thinned.
const POINTS_MAX: usize = 600;

/// The board, and how tabs learn that something was written on it.
pub struct Board {
    seen: Mutex<Seen>,
    changed: watch::Sender<u64>,
    tabs: AtomicUsize,
    /// Some tab has looked.
    visited: AtomicBool,
    began: Instant,
}

#[derive(Default)]
struct Seen {
    command: String,
    progress: Progress,
    history: Vec<Step>,
    /// Every so many-th word of progress becomes a point.
    stride: usize,
    words: usize,
    parts: Vec<Part>,
    notes: Vec<String>,
    ended: Option<Ended>,
}

/// How it ended.
struct Ended {
    good: bool,
    words: String,
    /// After so many seconds.
    seconds: f64,
    /// The report, drawn.
    page: Option<String>,
}

impl Board {
    /// An empty board for a command.
    pub fn new(command: &str) -> Self {
        let seen = Seen { command: command.to_owned(), stride: 1, ..Seen::default() };
        Board {
            seen: Mutex::new(seen),
            changed: watch::channel(0).0,
            tabs: AtomicUsize::new(0),
            visited: AtomicBool::new(false),
            began: Instant::now(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen());
        self.changed.send_modify(|revision| *revision += 1);
    }

    /// Wakes whenever something changed.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// How far the job is; a new stage has a curve of its own.
    pub fn tell(&self, progress: &Progress) {
        self.change(|seen| {
            if seen.progress.what != progress.what {
                (seen.history, seen.stride, seen.words) = (Vec::new(), 1, 0);
            }
            seen.progress = progress.clone();
            if let Some(record) = &progress.record {
                seen.point(Step {
                    iteration: record.iteration,
                    objective: record.objective,
                    gap: record.certified_gap,
                    kkt: Some(record.kkt.residual()),
                    bytes: None,
                });
            }
        });
    }

    /// Where a process stands.
    pub fn part(&self, part: Part) {
        self.change(|seen| {
            match seen.parts.iter_mut().find(|known| known.name == part.name) {
                Some(known) => *known = part,
                None => {
                    seen.parts.push(part);
                    seen.parts.sort_by_key(|part| natural(&part.name));
                }
            }
            seen.round();
        });
    }

    /// A process is gone.
    pub fn lose(&self, name: &str, why: &str) {
        self.change(|seen| {
            if let Some(part) = seen.parts.iter_mut().find(|part| part.name == name) {
                part.lost = Some(why.to_owned());
            }
        });
    }

    /// A result on the way.
    pub fn note(&self, line: &str) {
        self.change(|seen| seen.notes.push(line.to_owned()));
    }

    /// The job is over.
    pub fn end(&self, good: bool, words: &str, report: Option<&Report>) {
        // A page that cannot be drawn is told of where the run directory is written.
        let page = report.and_then(|report| live::body(report).ok());
        let seconds = self.began.elapsed().as_secs_f64();
        self.change(|seen| seen.ended = Some(Ended { good, words: words.to_owned(), seconds, page }));
    }

    /// How many tabs are looking.
    pub fn tabs(&self) -> usize {
        self.tabs.load(Ordering::SeqCst)
    }

    /// True once a tab has looked.
    pub fn was_visited(&self) -> bool {
        self.visited.load(Ordering::SeqCst)
    }

    /// A tab is looking, until what it gets is dropped.
    pub fn look(self: &Arc<Self>) -> Look {
        self.tabs.fetch_add(1, Ordering::SeqCst);
        self.visited.store(true, Ordering::SeqCst);
        Look(self.clone())
    }

    /// All that a page needs to know.
    pub fn state(&self) -> Json {
        let seen = self.seen();
        let Progress { what, share, record, .. } = &seen.progress;
        let seconds = seen.ended.as_ref().map_or_else(|| self.began.elapsed().as_secs_f64(), |ended| ended.seconds);
        json!({
            "command": seen.command,
            "what": what,
            "share": share,
            "seconds": seconds,
            "iteration": record.as_ref().map(|record| record.iteration),
            "objective": record.as_ref().map(|record| record.objective),
            "gap": record.as_ref().and_then(|record| record.certified_gap),
            "residual": record.as_ref().map(|record| record.kkt.residual()),
            "points": seen.history.len(),
            "parts": seen.parts,
            "notes": seen.notes,
            "ended": seen.ended.as_ref().map(|ended| json!({
                "good": ended.good, "words": ended.words, "report": ended.page.is_some(),
            })),
        })
    }

    /// What is drawn: the report if there is one, else how the solver is getting there.
    pub fn picture(&self) -> String {
        let report = {
            let seen = self.seen();
            if let Some(page) = seen.ended.as_ref().and_then(|ended| ended.page.clone()) {
                return page;
            }
            Report { history: seen.history.clone(), ..Report::default() }
        };
        live::convergence(&report).unwrap_or_default()
    }
}

impl Seen {
    fn point(&mut self, step: Step) {
        self.words += 1;
        if !self.words.is_multiple_of(self.stride) {
            return;
        }
        self.history.push(step);
        if self.history.len() >= POINTS_MAX {
            let mut k = 0;
            self.history.retain(|_| {
                k += 1;
                k % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The curve of a federation: the largest residual against the round that all parts have done.
    fn round(&mut self) {
        let Some(round) = self.parts.iter().map(|part| part.round).min() else { return };
        let residual = self
            .parts
            .iter()
            .filter_map(|part| part.residual)
            .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))));
        let later = self.history.last().is_none_or(|last| last.iteration < round as usize);
        if let (Some(residual), true) = (residual, later) {
            let bytes = self.parts.iter().map(|part| part.sent).sum();
            self.point(Step {
                iteration: round as usize,
                objective: f64::NAN,
                gap: None,
                kkt: Some(residual),
                bytes: Some(bytes),
            });
        }
    }
}

/// A tab that looks.
pub struct Look(Arc<Board>);

impl Look {
    /// What it looks at.
    pub fn state(&self) -> Json {
        self.0.state()
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.0.tabs.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, round: u64, residual: f64) -> Part {
        Part { name: name.into(), round, residual: Some(residual), sent: 10 * round, ..Part::default() }
    }

    #[test]
    fn long_runs_are_thinned_and_keep_their_ends() {
        let board = Board::new("fit");
        for k in 1..=5000 {
            board.part(part("a", k, 1.0 / k as f64));
        }
        let seen = board.seen();
        assert!((POINTS_MAX / 2 - 1..POINTS_MAX).contains(&seen.history.len()), "{}", seen.history.len());
        let iterations: Vec<usize> = seen.history.iter().map(|step| step.iteration).collect();
        assert!(iterations[0] <= 16 && iterations.is_sorted() && iterations[iterations.len() - 1] > 4900);
    }

    #[test]
    fn a_round_counts_when_all_parts_have_done_it_and_the_worst_residual_is_shown() {
        let board = Board::new("up");
        for name in ["p10", "p9"] {
            board.part(Part { name: name.into(), ..Part::default() });
        }
        for (name, round, residual) in [("p10", 5, 0.1), ("p9", 3, 0.7)] {
            board.part(part(name, round, residual));
        }
        board.lose("p10", "ended by signal 9");
        let state = board.state();
        assert_eq!((state["parts"][0]["name"].as_str(), state["parts"][1]["name"].as_str()), (Some("p9"), Some("p10")));
        assert_eq!(state["parts"][1]["lost"], "ended by signal 9");
        let last = *board.seen().history.last().unwrap();
        assert_eq!((last.iteration, last.kkt, last.bytes), (3, Some(0.7), Some(80)));
    }

    #[test]
    fn tabs_are_counted_while_they_look() {
        let board = Arc::new(Board::new("fit"));
        let (first, second) = (board.look(), board.look());
        assert_eq!(board.tabs(), 2);
        drop((first, second));
        assert_eq!(board.tabs(), 0);
    }
}
