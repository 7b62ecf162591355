//! Nodes that asked: as JSON, and in a few lines for people.

use std::path::Path;

use fedweave_report::natural;
use serde_json::{Value, json};

use super::{AskResult, Lesson, Taught};
use crate::classes;
use crate::relax::error_name as models_error_name;
use crate::wording::{counted, error_name, loss_name, number, row_notices, shown, written};

/// So many nodes and teachers are named on the terminal.
const NAMED: usize = 10;
const TEACHERS: usize = 3;

impl AskResult {
    pub(super) fn error_name(&self) -> &'static str {
        match &self.taught {
            Taught::Parameters(loss, _) => error_name(loss),
            Taught::Models(_, task, _) => models_error_name(*task),
        }
    }

    /// The loss, or the class of models.
    pub(super) fn kind(&self) -> (Option<String>, Option<String>) {
        match &self.taught {
            Taught::Parameters(loss, _) => (Some(loss_name(loss)), None),
            Taught::Models(spec, ..) => (None, Some(spec.to_string())),
        }
    }

    pub(super) fn all_notices(&self) -> Vec<String> {
        let worse = self.lessons.iter().filter(|l| l.last > l.first).count();
        let grew = format!(
            "{} ended with a larger loss on own rows than before: give a smaller --eta",
            counted(worse, "node")
        );
        let worse_than_alone = self.held_out.as_ref().and_then(|held| {
            let (asked, alone) = (held.validation.mean()?, held.local.mean()?);
            let words = || {
                format!(
                    "held-out rows are predicted worse than by every node alone ({} against {}): asking does not help here",
                    number(asked),
                    number(alone)
                )
            };
            (asked > 1.05 * alone && alone >= 0.0).then(words)
        });
        row_notices(&self.input)
            .into_iter()
            .chain(worse_than_alone)
            .chain(self.notices.clone())
            .chain((worse > 0).then_some(grew))
            .collect()
    }

    pub(super) fn sent(&self) -> (u64, u64) {
        (self.lessons.iter().map(|l| l.messages).sum(), self.lessons.iter().map(|l| l.bytes).sum())
    }

    pub(super) fn share(&self, rounds: usize) -> f64 {
        rounds as f64 / self.asking.rounds as f64
    }
}

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(ask: &AskResult) -> Value {
    let ((loss, model), (messages, bytes), held) = (ask.kind(), ask.sent(), ask.held_out.as_ref());
    json!({
        "status": "done",
        "solver": "active sampling",
        "loss": loss,
        "model": model,
        "nodes": ask.input.names.len(),
        "askers": ask.lessons.len(),
        "candidates": ask.asking.candidates,
        "rounds": ask.asking.rounds,
        "eta": ask.eta,
        "seed": ask.asking.seed,
        "rows": ask.rows_trained,
        "messages": messages,
        "bytes": bytes,
        "seconds": ask.seconds,
        "train_error": ask.train.mean(),
        "validation_error": held.and_then(|h| h.validation.mean()),
        "local_error": held.and_then(|h| h.local.mean()),
        "global_error": held.and_then(|h| h.global.as_ref()?.mean()),
        "nodes_hurt": held.map(|h| h.hurt().0),
        "nodes_judged": held.map(|h| h.hurt().1),
        "error": ask.error_name(),
        "split": ask.request.held_out().describe(),
        "notices": ask.all_notices(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// A few lines for people.
pub fn text(ask: &AskResult, path: Option<&Path>) -> String {
    let (loss, model) = ask.kind();
    let kind = loss.map(|l| format!("{l} loss")).or(model).unwrap_or_default();
    let (messages, bytes) = ask.sent();
    let mut lines = vec![format!(
        "{}, {}; {} of them asked {} in each of {}",
        counted(ask.input.names.len(), "node"),
        counted(ask.rows_trained, "row"),
        ask.lessons.len(),
        counted(ask.asking.candidates, "other"),
        counted(ask.asking.rounds, "round")
    )];
    let (eta, seconds) = (number(ask.eta), ask.seconds);
    lines.push(format!("{kind}, eta {eta}: {messages} messages, {bytes} bytes, {seconds:.2} s"));
    lines.extend(ask.all_notices().iter().map(|notice| format!("note: {notice}")));
    let mut lessons: Vec<&Lesson> = ask.lessons.iter().collect();
    lessons.sort_by_cached_key(|lesson| natural(&ask.input.names[lesson.node]));
    lines.extend(lessons.into_iter().take(NAMED).map(|lesson| learnt_from(ask, lesson)));
    if ask.lessons.len() > NAMED {
        lines.push(format!("  ... and {} more; teachers.csv names all", ask.lessons.len() - NAMED));
    }
    lines.push(format!("{}: {} on training rows", ask.error_name(), shown(ask.train.mean())));
    if let Some(held) = &ask.held_out {
        let (validation, local) = (shown(held.validation.mean()), shown(held.local.mean()));
        let global = held.global.as_ref().map(|g| format!(", global {}", shown(g.mean()))).unwrap_or_default();
        lines.push(format!("  held-out rows: after asking {validation}, local-only {local}{global}"));
        lines.push(format!("  {}", held.hurt_words()));
        lines.extend(held.classes.iter().flat_map(|found| classes::words(found, "after asking", &ask.input)));
        lines.push(format!("  split: {}", ask.request.held_out().describe()));
    }
    lines.push(written(path, "models, teachers and a report"));
    lines.join("\n")
}

fn learnt_from(ask: &AskResult, lesson: &Lesson) -> String {
    let name = |i: usize| &ask.input.names[i];
    let named = |t: &(usize, usize, f64)| format!("{} ({:.0} %)", name(t.0), 100.0 * ask.share(t.1));
    let mut words: Vec<String> = lesson.teachers.iter().take(TEACHERS).map(named).collect();
    if lesson.teachers.len() > TEACHERS {
        words.push(format!("{} more", lesson.teachers.len() - TEACHERS));
    }
    format!("  {} learnt from {}", name(lesson.node), words.join(", "))
}
