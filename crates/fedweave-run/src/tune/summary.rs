//! A race as JSON, and in a few lines for people.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use fedweave::learn::race::Entry;
use serde_json::{Value, json};

use super::TuneResult;
use crate::calibration;
use crate::calibration::coverage_words;
use crate::error::Result;
use crate::wording::{digits, notices, written};

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(tuned: &TuneResult) -> Result<Value> {
    let (race, input) = (&tuned.race, &tuned.input);
    let entry = |entry: &Entry| {
        json!({
            "name": entry.member.name, "error": entry.error(), "standard_error": entry.errors.standard_error(),
            "share": entry.member.share, "chosen": entry.chosen,
        })
    };
    Ok(json!({
        "status": if race.stopped { "stopped" } else { "done" },
        "solver": "race",
        "recipe": tuned.recipe(),
        "nodes": input.names.len(),
        "edges": input.graph.edges(),
        "rows": input.data.len(),
        "dim": input.features.len(),
        "loss": tuned.request.model.family.to_string(),
        "error": tuned.cost.name(),
        "validation_error": race.errors.mean(),
        "local_error": tuned.local().and_then(|e| e.errors.mean()),
        "nodes_gain": tuned.gain_and_lose().0,
        "nodes_lose": tuned.gain_and_lose().1,
        "candidates": race.entries.iter().map(entry).collect::<Vec<_>>(),
        "failed": race.failed.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
        "split": tuned.request.folds.describe(),
        "seconds": tuned.seconds,
        "calibration": tuned.calibration.as_ref().map(calibration::summary).transpose()?,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// A few lines for people.
pub fn text(tuned: &TuneResult, path: Option<&Path>) -> Result<String> {
    let (input, race) = (&tuned.input, &tuned.race);
    let (n, e, rows) = (input.names.len(), input.graph.edges(), input.data.len());
    let mut lines = vec![format!("{n} nodes, {e} edges, {rows} rows; {} of rows not trained with:", tuned.cost.name())];
    lines.extend(notices(input).iter().map(|notice| format!("note: {notice}")));
    lines.push(table(tuned).to_string());
    lines.push(tuned.why());
    lines.extend(tuned.calibration.as_ref().map(coverage_words).transpose()?);
    for (name, why) in &race.failed {
        lines.push(format!("{name} could not be tried: {why}"));
    }
    if race.stopped {
        lines.push("stopped before all candidates had run".into());
    }
    lines.push(format!("split: {}", tuned.request.folds.describe()));
    let raced = tuned.request.recipe.is_none();
    lines.extend(raced.then(|| format!("the same without a race: {}", tuned.command())));
    lines.push(written(path, "predictors and a report"));
    Ok(lines.join("\n"))
}

fn table(tuned: &TuneResult) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["candidate", "error", "std. error", "share", "chose"]);
    let race = &tuned.race;
    let together = (race.errors.mean(), race.errors.standard_error());
    if race.winners().count() > 1 {
        table.add_row(["together".into(), digits(together.0), digits(together.1), "100 %".into(), String::new()]);
    }
    for entry in &race.entries {
        let share = match entry.member.share {
            0.0 => String::new(),
            share => format!("{:.0} %", 100.0 * share),
        };
        let error = [Some(entry.error()), entry.errors.standard_error()].map(digits);
        table.add_row([vec![entry.member.name.clone()], error.to_vec(), vec![share, entry.chosen.clone()]].concat());
    }
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

impl TuneResult {
    /// Every node alone, if that took part.
    pub(super) fn local(&self) -> Option<&Entry> {
        self.race.entry("local")
    }

    /// Nodes whose error is smaller, and larger, than that of their local model.
    pub(super) fn gain_and_lose(&self) -> (usize, usize) {
        let Some(local) = self.local() else { return (0, 0) };
        let pairs = self.race.errors.by_node.iter().zip(&local.errors.by_node);
        let all: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
        (all.iter().filter(|d| **d < 0.0).count(), all.iter().filter(|d| **d > 0.0).count())
    }

    /// The winners and their shares.
    pub(crate) fn recipe(&self) -> String {
        let part = |entry: &Entry| format!("{}:{:.4}", entry.member.name, entry.member.share);
        self.race.winners().map(part).collect::<Vec<_>>().join(",")
    }

    /// The command that fits the winners again.
    pub(super) fn command(&self) -> String {
        let words = self.request.naming.command.replace(" --tune", "");
        match words.is_empty() {
            // Of rows in memory: an argument.
            true => format!("recipe='{}'", self.recipe()),
            false if self.request.recipe.is_some() => words,
            false => format!("{words} --recipe '{}'", self.recipe()),
        }
    }

    /// Why the winners won.
    pub(super) fn why(&self) -> String {
        let race = &self.race;
        let names: Vec<&str> = race.winners().map(|e| e.member.name.as_str()).collect();
        let Some(best) = race.entries.first() else { return String::new() };
        let mut why = match names.as_slice() {
            [one] => format!("{one} predicts rows it was not trained with best"),
            _ => {
                let less = 1.0 - race.errors.mean().unwrap_or(f64::NAN) / best.error();
                format!(
                    "{} together have an error {:.1} % below that of {} alone",
                    names.join(" and "),
                    100.0 * less,
                    best.member.name
                )
            }
        };
        if let Some((mean, error)) = self.local().and_then(|local| race.errors.minus(&local.errors)) {
            let (gain, lose) = self.gain_and_lose();
            why += &format!(
                "; {} by {} than every node alone (standard error {}), better at {gain} nodes, worse at {lose}",
                if mean < 0.0 { "smaller" } else { "larger" },
                digits(Some(mean.abs())),
                digits(Some(error))
            );
        }
        why
    }
}
